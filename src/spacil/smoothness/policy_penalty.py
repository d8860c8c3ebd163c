"""R^pi: how much the mean action can change when the state moves a little (eq:policy_reg).

Each builder freezes what it needs at the current parameters (worst directions, offsets, sampled
actions) and returns a record that can be called again and again as the parameters move: once with
a graph for the gradient, then without one in the line search.

    exact, pgd        E[sigma_max^2] of the mean action's Jacobian J
    frobenius, lcp    E[|J|_F^2], between sigma_max^2 and min(A, S) * sigma_max^2

in action per unit of the state handed in. To use one elsewhere, add `weight * penalty()` to any
loss. `weights` [B] turn the mean over states into a weighted one; a divergence between policies
of another spread than 1 is the penalty of `mean_action / std`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from spacil.functional.ball import StepRule, maximize_in_ball
from spacil.functional.inner_product import inner
from spacil.functional.spectral import BatchFunction, batch_jacobian, top_left_vector

Penalty = Callable[[], Tensor]
LogProb = Callable[[Tensor, Tensor], Tensor]
"""states [B, S], actions [B, A] -> log pi(a | s) [B]"""
Scale = Literal["lipschitz", "paper-mean", "paper-sum"]


@dataclass(frozen=True)
class SquaredSlopes:
    """E sum_k |J^T v_k|^2 for frozen directions v."""

    function: BatchFunction
    states: Tensor
    """[B, S]"""
    directions: Tensor
    """[K, B, A]"""
    weights: Tensor | None

    def __call__(self) -> Tensor:
        slopes = squared_slopes(self.function, self.states, self.directions)
        return expectation(slopes.sum(0), self.weights)


@dataclass(frozen=True)
class LogProbSlopes:
    """E |grad_s log pi(a | s)|^2 at frozen actions."""

    log_prob: LogProb
    states: Tensor
    """[B, S]"""
    actions: Tensor
    """[B, A]"""
    weights: Tensor | None

    def __call__(self) -> Tensor:
        def column(points: Tensor) -> Tensor:
            return self.log_prob(points, self.actions).unsqueeze(-1)

        ones = self.states.new_ones(1, len(self.states), 1)
        return expectation(squared_slopes(column, self.states, ones)[0], self.weights)


@dataclass(frozen=True)
class ChangeAtOffset:
    """factor * E[|mu(s + offset) - mu(s)|^2 / divisor] for frozen offsets."""

    mean_action: BatchFunction
    states: Tensor
    """[B, S]"""
    offset: Tensor
    """[B, S]"""
    divisor: Tensor
    """[B]"""
    factor: int
    weights: Tensor | None

    def __call__(self) -> Tensor:
        moved = self.mean_action(self.states + self.offset) - self.mean_action(self.states)
        return self.factor * expectation(moved.square().sum(-1) / self.divisor, self.weights)


@dataclass(frozen=True)
class Scaled:
    """factor * penalty"""

    factor: float
    penalty: Penalty

    def __call__(self) -> Tensor:
        return self.factor * self.penalty()


def exact_policy_penalty(
    mean_action: BatchFunction, states: Tensor, weights: Tensor | None = None
) -> SquaredSlopes:
    """E[sigma_max(d mu / d s)^2] with its exact gradient (Danskin).

    The left singular vector u is frozen at the current parameters; |J^T u|^2 then has the
    value and the gradient of sigma_max^2 there, and can only under-state it elsewhere.
    """
    worst = top_left_vector(batch_jacobian(mean_action, states)).unsqueeze(0)
    return SquaredSlopes(mean_action, states, worst, weights)


def frobenius_policy_penalty(
    mean_action: BatchFunction, states: Tensor, weights: Tensor | None = None
) -> SquaredSlopes:
    """E[|d mu / d s|_F^2], exactly: one vector-Jacobian product per action."""
    with torch.no_grad():
        num_actions = mean_action(states[:1]).shape[-1]
    axes = torch.eye(num_actions, dtype=states.dtype, device=states.device)
    axes = axes.unsqueeze(1).expand(-1, len(states), -1)
    return SquaredSlopes(mean_action, states, axes, weights)


def lcp_policy_penalty(
    log_prob: LogProb, states: Tensor, actions: Tensor, weights: Tensor | None = None
) -> LogProbSlopes:
    """E |grad_s log pi(a | s)|^2 at sampled actions, the penalty of LCP (Chen et al. 2024).

    Over a ~ pi it is |Sigma^(-1/2) J|_F^2: Hutchinson's estimate with the action noise as probe.
    The actions are given, so a spread that log_prob reads feels the likelihood's own gradient.
    """
    return LogProbSlopes(log_prob, states, actions, weights)


def pgd_policy_penalty(
    mean_action: BatchFunction,
    states: Tensor,
    start_offset: Tensor,
    radius: float,
    num_steps: int,
    step_rule: StepRule = "power",
    step_size: float = 0.02,
    scale: Scale = "lipschitz",
    weights: Tensor | None = None,
) -> ChangeAtOffset:
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
    divisor = squared_length if scale == "lipschitz" else torch.ones_like(squared_length)
    factor = len(states) if scale == "paper-sum" else 1
    return ChangeAtOffset(mean_action, states, offset, divisor, factor, weights)


def times(factor: float, penalty: Penalty) -> Penalty:
    """A penalty in other units."""
    return penalty if factor == 1 else Scaled(factor, penalty)


def expectation(values: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of values [B], each counted `weights` times. No states, nothing to smooth: 0."""
    if not len(values):
        return values.new_zeros(())
    return values.mean() if weights is None else (values * weights).mean()


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
