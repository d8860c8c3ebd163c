"""A policy's mean action for a fixed number of states, in memory taken once."""

import torch
from torch import Tensor

from spacil.nets.normalizer import CLIP
from spacil.nets.policy import GaussianPolicy


class BufferedMean:
    """mu(s), bit for bit `policy.mean(s)`, for a simulation that asks at every step.

    Reads the parameters when called, so the policy may change in between.
    """

    def __init__(self, policy: GaussianPolicy, num_rows: int) -> None:
        self._normalizer = policy.normalizer
        self._layers = [(w.detach().T, b.detach()) for w, b in policy.mean_net.weights_and_biases]
        self._inputs = torch.empty(num_rows, policy.num_states)
        self._outputs = [torch.empty(num_rows, bias.numel()) for _, bias in self._layers]

    def __call__(self, states: Tensor) -> Tensor:
        """States [N, S] raw -> means [N, A], overwritten by the next call."""
        x = torch.sub(states, self._normalizer.shift, out=self._inputs)
        x.mul_(self._normalizer.scale).clamp_(-CLIP, CLIP)
        *hidden, last = zip(self._layers, self._outputs, strict=True)
        for (weight, bias), output in hidden:
            x = torch.addmm(bias, x, weight, out=output).tanh_()
        (weight, bias), output = last
        return torch.addmm(bias, x, weight, out=output)
