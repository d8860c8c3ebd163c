"""R^pi: how much the mean action can change when the state moves a little (eq:policy_reg).

Each builder finds the worst perturbations at the current parameters, freezes them, and returns
a penalty that can be evaluated again and again as the parameters move: once with a graph for
the gradient, then without one in the line search.

In Lipschitz units all of them estimate E[sigma_max^2] of the mean action's Jacobian, in action
per unit of the state handed in. To use one elsewhere, add `weight * penalty()` to any loss.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from spacil.functional.ball import StepRule, maximize_in_ball
from spacil.functional.spectral import BatchFunction, batch_jacobian, top_singular

Penalty = Callable[[], Tensor]
Scale = Literal["lipschitz", "paper-mean", "paper-sum"]


def exact_policy_penalty(mean_action: BatchFunction, states: Tensor) -> Penalty:
    """E[sigma_max(d mu / d s)^2] with its exact gradient (Danskin).

    The left singular vector u is frozen at the current parameters; |J^T u|^2 then has the
    value and the gradient of sigma_max^2 there, and can only under-state it elsewhere.
    """
    worst = top_singular(batch_jacobian(mean_action, states)).left

    def penalty() -> Tensor:
        wants_graph = torch.is_grad_enabled()
        points = states.detach().requires_grad_()
        with torch.enable_grad():
            response = (mean_action(points) * worst).sum()
            if not response.requires_grad:
                return states.new_zeros(())
            (sensitivity,) = torch.autograd.grad(response, points, create_graph=wants_graph)
        return sensitivity.square().sum(-1).mean()

    return penalty


def pgd_policy_penalty(
    mean_action: BatchFunction,
    states: Tensor,
    start_offset: Tensor,
    radius: float,
    num_steps: int,
    step_rule: StepRule = "power",
    step_size: float = 0.02,
    scale: Scale = "lipschitz",
) -> Penalty:
    """The paper's estimator: ascent on |mu(s + offset) - mu(s)|^2 (algo:reg_maximization).

    lipschitz   E[|dmu|^2 / |offset|^2], always by the actual offset length
    paper-mean  E[|dmu|^2], the form of app:projection_implementation with sigma = 1
    paper-sum   the same, summed over states
    """
    with torch.no_grad():
        centre = mean_action(states)

    def change(moved: Tensor) -> Tensor:
        return (mean_action(moved) - centre).square().sum(-1)

    offset = maximize_in_ball(change, states, start_offset, radius, num_steps, step_rule, step_size)
    squared_length = offset.square().sum(-1).clamp_min(torch.finfo(offset.dtype).tiny)

    def penalty() -> Tensor:
        moved = (mean_action(states + offset) - mean_action(states)).square().sum(-1)
        if scale == "paper-sum":
            return moved.sum()
        return moved.mean() if scale == "paper-mean" else (moved / squared_length).mean()

    return penalty
