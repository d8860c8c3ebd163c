"""J from below and from above: what ascent finds in a ball, and what no pair of states breaks.

From below, the paper's own measurement: ascent inside a small ball around each state. As ratio
(eq:jacobian_metric), the largest |dmu| / |ds| the ascent finds; as divergence (the general form
before it), the largest Jeffreys divergence. Both tend to the Jacobian's norm (eq:j_form_2), which
`metric.local_lipschitz` computes exactly. Ascent can only find less than there is. How much less
depends on the step rule, so a number from here is always reported with its rule, its steps and its
radius.

From above, two bounds on the global Lipschitz constant of a plain MLP whose activation has slopes
in [0, 1] (tanh, ReLU). The layer product multiplies spectral norms. ECLipsE-Fast (Xu and
Sivaranjani, 2024) passes one matrix from layer to layer and is never above the product. Both are
loose, which is why each is told with its looseness; in float64, valid up to its rounding. Other
architectures are refused by the caller.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.policy_gradient import jeffreys_divergence
from spacil.functional.sensitivity import BatchFunction, StepRule, maximize_in_ball


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


def layer_product_bound(weights: Sequence[Tensor]) -> float:
    """prod_i |W_i|_2"""
    norms = [torch.linalg.matrix_norm(weight.double(), ord=2) for weight in weights]
    return float(torch.stack(norms).prod())


def eclipse_fast_bound(weights: Sequence[Tensor]) -> float:
    """X_0 = I;  M = W_i X^-1 W_i^T,  l = 2 / lambda_max(M),  X_i = l I - (l^2 / 4) M;
    L = sqrt(lambda_max(W_L X^-1 W_L^T)).

    X_i is positive definite with smallest eigenvalue 1 / lambda_max(M), so the inverse exists
    and the bound is at most the layer product.
    """
    *hidden, last = (weight.detach().double() for weight in weights)
    inverse = None
    for weight in hidden:
        passed = _sandwich(weight, inverse)
        top = torch.linalg.eigvalsh(passed)[-1]
        if top <= 0:  # a layer of zeros: the function is constant
            return 0.0
        scale = 2 / top
        matrix = scale * torch.eye(len(passed), dtype=torch.float64) - (scale**2 / 4) * passed
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(matrix))
    top = torch.linalg.eigvalsh(_sandwich(last, inverse))[-1]
    return float(top.clamp_min(0).sqrt())


def _sandwich(weight: Tensor, inverse: Tensor | None) -> Tensor:
    """W X^-1 W^T, symmetric to the last bit."""
    product = weight @ weight.T if inverse is None else weight @ inverse @ weight.T
    return (product + product.T) / 2
