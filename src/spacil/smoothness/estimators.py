"""The paper's own measurement of J: ascent inside a small ball around each state.

Three forms of one quantity. As ratio (eq:jacobian_metric), the largest |dmu| / |ds| the ascent
finds; as divergence (the general form before it), the largest Jeffreys divergence; and as the
Jacobian's norm (eq:j_form_2), which is what both tend to as the ball shrinks and what
`metric.local_lipschitz` computes exactly.

Ascent can only find less than there is. How much less depends on the step rule, so a number from
here is always reported with its rule, its steps and its radius.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.ball import StepRule, maximize_in_ball
from spacil.functional.gaussian import jeffreys_divergence
from spacil.functional.spectral import BatchFunction


@dataclass(frozen=True)
class BallMaximum:
    """What ascent found at each state, [B] each."""

    ratio: Tensor
    """|mu(s + offset) - mu(s)| / |offset|, by the actual length of the offset"""
    divergence: Tensor
    """Jeffreys divergence in nats, |dmu / std|^2 / 2"""
    offset_length: Tensor
    """at most the radius; less where the raw step never left the start"""


def ascend_in_ball(
    mean_action: BatchFunction,
    states: Tensor,
    start_offset: Tensor,
    radius: float,
    num_steps: int,
    step_rule: StepRule,
    step_size: float = 0.02,
    std: Tensor | float = 1.0,
) -> BallMaximum:
    """Maximise |dmu / std|^2 over the ball from `start_offset` [B, S], and report what was reached.

    The ascent is on the numerator of the ratio, as in the paper, not on the ratio itself.
    """
    with torch.no_grad():
        centre = mean_action(states)

    def change(moved: Tensor) -> Tensor:
        return ((mean_action(moved) - centre) / std).square().sum(-1)

    offset = maximize_in_ball(change, states, start_offset, radius, num_steps, step_rule, step_size)
    with torch.no_grad():
        moved = mean_action(states + offset)
        length = torch.linalg.vector_norm(offset, dim=-1)
        moved_by = torch.linalg.vector_norm(moved - centre, dim=-1)
        return BallMaximum(
            ratio=moved_by / length.clamp_min(torch.finfo(offset.dtype).tiny),
            divergence=jeffreys_divergence(centre, moved, std),
            offset_length=length,
        )
