"""A policy as plain arrays: all that is needed to compute its actions without torch.

x = clip((s - shift) * scale, -limit, limit)        the normaliser; masked dims have scale 0
x = tanh(W x + b)                                   for each hidden layer
a = clip(W x + b, low, high)                        the action that the env executes
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from spacil.nets.normalizer import CLIP
from spacil.nets.policy import GaussianPolicy

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class PlainNetwork:
    """The numbers of `GaussianPolicy.predict`, float32."""

    shift: Floats
    """[S]"""
    scale: Floats
    """[S]"""
    limit: float
    """normalised states are clipped to this"""
    layers: tuple[tuple[Floats, Floats], ...]
    """(weight [out, in], bias [out]) of each layer, the first on normalised states"""
    action_low: Floats
    """[A]"""
    action_high: Floats
    """[A]"""

    @classmethod
    def of(cls, policy: GaussianPolicy) -> "PlainNetwork":
        """A copy of the numbers."""
        return cls(
            shift=_array(policy.normalizer.shift),
            scale=_array(policy.normalizer.scale),
            limit=CLIP,
            layers=tuple((_array(w), _array(b)) for w, b in policy.mean_net.tanh_layers),
            action_low=_array(policy.action_low),
            action_high=_array(policy.action_high),
        )

    def actions(self, states: Floats, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        """[B, S] -> [B, A], in single or double precision: the difference is that of rounding."""
        x = (states.astype(dtype) - self.shift) * self.scale
        x = np.clip(x, -dtype(self.limit), dtype(self.limit))
        *hidden, (weight, bias) = [(w.astype(dtype), b.astype(dtype)) for w, b in self.layers]
        for w, b in hidden:
            x = np.tanh(x @ w.T + b)
        clipped: NDArray[Any] = np.clip(x @ weight.T + bias, self.action_low, self.action_high)
        return clipped

    @property
    def num_states(self) -> int:
        return len(self.shift)

    @property
    def num_actions(self) -> int:
        return len(self.action_low)


def _array(tensor: Tensor) -> Floats:
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32, order="C")
