"""E[sigma_max]: the metric J itself as a penalty, where `exact` takes its square.

The square weighs steep states more; this one pulls every state down alike, however steep it is.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from spacil.functional.spectral import BatchFunction, batch_jacobian, top_left_vector
from spacil.smoothness.policy_penalty import expectation, squared_slopes


@dataclass(frozen=True)
class LargestSlopes:
    """E|J^T u| along frozen unit vectors u."""

    mean_action: BatchFunction
    states: Tensor
    """[B, S]"""
    worst: Tensor
    """[B, A]"""
    weights: Tensor | None

    def __call__(self) -> Tensor:
        squared = squared_slopes(self.mean_action, self.states, self.worst.unsqueeze(0))[0]
        # The root's slope is infinite at zero; below this, a slope counts as none.
        slopes = squared.clamp_min(torch.finfo(squared.dtype).tiny).sqrt()
        return expectation(slopes, self.weights)


def linear(subject: Any, rows: Any, arguments: Any) -> LargestSlopes:
    """The top left singular vector is frozen at the current policy, as in `exact` (Danskin)."""
    worst = top_left_vector(batch_jacobian(subject.mean_in_stds, rows.states))
    return LargestSlopes(subject.mean_in_stds, rows.states, worst, rows.weights)
