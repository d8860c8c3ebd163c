"""R^pi: how much the mean action can change when the state moves a little (eq:policy_reg).

A function of the table in `config/penalty_terms.py` freezes what it needs at the current parameters
(worst directions, offsets, noise) and returns a penalty that can be called again and again as the
parameters move: once with a graph for the gradient, then without one in the line search.

    exact, pgd        E[sigma_max^2] of the mean action's Jacobian J
    linear            E[sigma_max], the metric J itself: the square weighs steep states more
    frobenius, lcp    E[|J|_F^2], between sigma_max^2 and min(A, S) * sigma_max^2
    cats, caps        E|mu(s') - mu(s)|^2, along the trajectory: not in Lipschitz units
    l2c2              the same between s and a random point next to it, over their distance

in action per unit of the state handed in. To use one elsewhere, add `weight * penalty()` to any
loss. A divergence between policies of another spread than 1 is the penalty of `mean_action / std`.
"""

import functools
import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from spacil.functional.sensitivity import (
    BatchFunction,
    StepRule,
    batch_jacobian,
    inner,
    maximize_in_ball,
    top_left_vector,
)
from spacil.nets.policy import GaussianPolicy

Penalty = Callable[[], Tensor]
Scale = Literal["lipschitz", "paper-mean", "paper-sum"]


def exact_policy_penalty(mean_action: BatchFunction, states: Tensor) -> Penalty:
    """E[sigma_max(d mu / d s)^2] with its exact gradient (Danskin).

    The left singular vector u is frozen at the current parameters; |J^T u|^2 then has the
    value and the gradient of sigma_max^2 there, and can only under-state it elsewhere.
    """
    worst = top_left_vector(batch_jacobian(mean_action, states)).unsqueeze(0)
    return functools.partial(mean_squared_slopes, mean_action, states, worst)


def linear_policy_penalty(mean_action: BatchFunction, states: Tensor) -> Penalty:
    """E[sigma_max] = E|J^T u|, with u frozen as in `exact_policy_penalty`."""
    worst = top_left_vector(batch_jacobian(mean_action, states)).unsqueeze(0)

    def penalty() -> Tensor:
        squared = squared_slopes(mean_action, states, worst)[0]
        # The root's slope is infinite at zero; below this, a slope counts as none.
        slopes = squared.clamp_min(torch.finfo(squared.dtype).tiny).sqrt()
        return expectation(slopes)

    return penalty


def frobenius_policy_penalty(mean_action: BatchFunction, states: Tensor) -> Penalty:
    """E[|d mu / d s|_F^2], exactly: one vector-Jacobian product per action."""
    with torch.no_grad():
        num_actions = mean_action(states[:1]).shape[-1]
    axes = torch.eye(num_actions, dtype=states.dtype, device=states.device)
    axes = axes.unsqueeze(1).expand(-1, len(states), -1)
    return functools.partial(mean_squared_slopes, mean_action, states, axes)


def lcp_policy_penalty(mean_action: BatchFunction, states: Tensor, actions: Tensor) -> Penalty:
    """E |grad_s log pi(a | s)|^2 at actions sampled with spread 1, of LCP (Chen et al. 2024).

    Over a ~ pi it is |J|_F^2: Hutchinson's estimate with the action noise as probe.
    """

    def column(points: Tensor) -> Tensor:
        """log pi(a | s) but for a constant"""
        return -0.5 * (actions - mean_action(points)).square().sum(-1, keepdim=True)

    ones = states.new_ones(1, len(states), 1)
    return functools.partial(mean_squared_slopes, column, states, ones)


def pgd_policy_penalty(
    mean_action: BatchFunction,
    states: Tensor,
    start_offset: Tensor,
    radius: float,
    steps: int,
    rule: StepRule = "power",
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

    offset = maximize_in_ball(change, states, start_offset, radius, steps, rule, step_size)
    squared_length = offset.square().sum(-1).clamp_min(torch.finfo(offset.dtype).tiny)
    divisor = squared_length if scale == "lipschitz" else torch.ones_like(squared_length)

    def penalty() -> Tensor:
        moved = mean_action(states + offset) - mean_action(states)
        return expectation(moved.square().sum(-1) / divisor)

    return times(len(states) if scale == "paper-sum" else 1, penalty)


def cats_penalty(mean_action: BatchFunction, states: Tensor, next_states: Tensor) -> Penalty:
    """E |mu(s_t) - mu(s_t+1)|^2, the penalty of CATS (Ahn et al.)."""

    def penalty() -> Tensor:
        change = mean_action(next_states) - mean_action(states)
        return expectation(change.square().sum(-1))

    return penalty


def caps_penalty(
    mean_action: BatchFunction,
    states: Tensor,
    next_states: Tensor,
    noise: Tensor,
    temporal: float = 0.1,
    spatial: float = 0.5,
) -> Penalty:
    """The two terms of CAPS (Mysore et al. 2021), as squared norms.

    temporal * E |mu(s_t) - mu(s_t+1)|^2 + spatial * E |mu(s) - mu(s + noise)|^2

    `noise` [B, S] is drawn once by the caller (CAPS: Gaussian, std 0.2), so that the line search
    compares like with like.
    """
    along = cats_penalty(mean_action, states, next_states)
    around = cats_penalty(mean_action, states, states + noise)
    return lambda: temporal * along() + spatial * around()


def l2c2_penalty(
    mean_action: BatchFunction,
    states: Tensor,
    next_states: Tensor,
    noise: Tensor,
    twin: Literal["path", "noisy"] = "path",
    spread: float = 0.2,
) -> Penalty:
    """E [mean_k dmu_k^2 / mean_j ds_j^2] between a state and its twin, by the actual distance.

    path    s + u (s_t+1 - s_t), each u_j ~ U(-1, 1): L2C2 (Kobayashi 2022)
    noisy   s + `spread` * noise, as sensors would tell it (ProtoMotions)

    `noise` [B, S] is standard normal; u is what it is the quantile of.
    """
    step = (
        (next_states - states) * torch.erf(noise / math.sqrt(2))
        if twin == "path"
        else spread * noise
    )
    squared_length = step.square().mean(-1).clamp_min(torch.finfo(step.dtype).tiny)

    def penalty() -> Tensor:
        change = mean_action(states + step) - mean_action(states)
        return expectation(change.square().mean(-1) / squared_length)

    return penalty


def times(factor: float, penalty: Penalty) -> Penalty:
    """A penalty in other units."""
    return penalty if factor == 1 else lambda: factor * penalty()


def expectation(values: Tensor) -> Tensor:
    """The mean of values [B]. No states, nothing to smooth: 0."""
    return values.mean() if len(values) else values.new_zeros(())


def mean_squared_slopes(function: BatchFunction, states: Tensor, directions: Tensor) -> Tensor:
    """E sum_k |J^T v_k|^2 for frozen directions v [K, B, A]."""
    return expectation(squared_slopes(function, states, directions).sum(0))


def squared_slopes(function: BatchFunction, states: Tensor, directions: Tensor) -> Tensor:
    """|J^T v|^2 [K, B] for directions v [K, B, A], from one forward pass.

    With a graph when gradients are on, so that it can be differentiated in the parameters.
    """
    wants_graph = torch.is_grad_enabled()
    points = states.detach().requires_grad_()
    with torch.enable_grad():
        outputs = function(points)
        if not outputs.requires_grad:  # a constant function has no graph to walk
            return states.new_zeros(directions.shape[:2])
        pulled_back = [
            torch.autograd.grad(
                inner([outputs], [direction]),
                points,
                create_graph=wants_graph,
                retain_graph=True,
                materialize_grads=True,  # outputs that ignore the state have slope zero
            )[0]
            for direction in directions
        ]
    return torch.stack(pulled_back).square().sum(-1)


def missed_actions(
    policy: GaussianPolicy, states: Tensor, actions: Tensor, dim_weights: Tensor | None = None
) -> Tensor:
    """E |r|^2, r = mu(s) - a, for actions within bounds (`policy_terms.Anchor`).

    `dim_weights` [A]: what a dim of |r|^2 counts, by default 1.

    Where an action is at a bound, a mean beyond the bound misses nothing.
    """
    low, high = policy.action_low, policy.action_high
    mean = policy.mean_of_normalized(states)
    is_beyond = ((actions >= high) & (mean > high)) | ((actions <= low) & (mean < low))
    missed = torch.where(is_beyond, 0.0, mean - actions).square()
    return (missed if dim_weights is None else dim_weights * missed).sum(-1).mean()


def rows_with_successor(is_cut: Tensor) -> Tensor:
    """Flat rows i of a batch [T, N] whose successor, row i + N, is of the same episode."""
    return torch.nonzero(~is_cut[:-1].flatten()).flatten()
