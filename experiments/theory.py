"""The corrected theorems on problems small enough to solve: measured slopes beside their bounds.

Statements, proofs and counter-examples are in docs/theory.md. Everything here is one-dimensional,
on grids over [-1, 1], in float64, and takes about two seconds; nothing is learned.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GAMMA = 0.9
ACTION_EFFECT = 0.3
"""How far an action moves the state, as a share of the transition's constant"""
ACTION_COST = 0.2
COST_LIPSCHITZ = 1.0
"""L_c of |s| + 0.2 |a|"""
NUM_SWEEPS = 200
"""Bellman backups; gamma^200 is below 1e-9"""

TRANSITION_LIPSCHITZ = (0.2, 0.5, 0.8, 1.0)
"""L_p of the problems within Theorem 1's condition gamma L_p < 1"""
STEEP_TRANSITION_LIPSCHITZ = 1.5
"""L_p of the problem beyond it: gamma L_p = 1.35"""
GRID_SIZES = (201, 401, 801, 1601)
CONVEXITIES = (0.5, 1.0, 2.0, 4.0)
TEMPERATURES = (0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Slope:
    """A Lipschitz constant measured on a grid, and the bound the theory gives for it."""

    parameter: float
    slope: float
    bound: float | None
    """None where the theory gives none"""


@dataclass(frozen=True)
class OptimalControl:
    """V* and Q* of the control problem on its grid."""

    states: Array
    """[S]"""
    actions: Array
    """[A]"""
    value: Array
    """[S]"""
    action_value: Array
    """[S, A]"""


def measure() -> dict[str, list[Slope]]:
    """Every slope of the page and its figure, by panel."""
    return {
        "value": [value_slope(l_p) for l_p in TRANSITION_LIPSCHITZ],
        "steep_value": [steep_value_slope(size) for size in GRID_SIZES],
        "greedy": [greedy_slope(m) for m in CONVEXITIES],
        "gibbs": [gibbs_slope(tau) for tau in TEMPERATURES],
    }


# --- Theorem 1: the optimal value of s' = clip(L_p (s - 0.3 a)), c = |s| + 0.2 |a|


def value_slope(transition_lipschitz: float) -> Slope:
    """The slope of V* on a fine grid against L_c / (1 - gamma L_p), over gamma L_p."""
    solved = solve(transition_lipschitz, num_states=801, num_actions=201)
    contraction = GAMMA * transition_lipschitz
    bound = COST_LIPSCHITZ / (1 - contraction)
    return Slope(contraction, steepest(solved.value, solved.states), bound)


def steep_value_slope(num_states: int) -> Slope:
    """The same beyond the condition, where V* has no slope to converge to, over the grid size."""
    solved = solve(STEEP_TRANSITION_LIPSCHITZ, num_states, num_actions=101)
    return Slope(num_states, steepest(solved.value, solved.states), None)


def absolute_cost(states: Array, actions: Array) -> Array:
    return np.abs(states) + ACTION_COST * np.abs(actions)


def solve(
    transition_lipschitz: float,
    num_states: int,
    num_actions: int,
    num_sweeps: int = NUM_SWEEPS,
    cost_of: Callable[[Array, Array], Array] = absolute_cost,
) -> OptimalControl:
    """Value iteration from V = 0 with linear interpolation between grid states.

    An interpolated function is as steep as its grid values and no steeper, so that the discrete
    problem obeys the theorem exactly, at every sweep and not only in the limit.
    """
    states, actions = np.linspace(-1, 1, num_states), np.linspace(-1, 1, num_actions)
    cost = cost_of(states[:, None], actions)
    drift = transition_lipschitz * (states[:, None] - ACTION_EFFECT * actions)
    position = (np.clip(drift, -1, 1) + 1) / 2 * (num_states - 1)
    left = np.minimum(position.astype(np.intp), num_states - 2)
    share = position - left
    value: Array = np.zeros(num_states)
    for _ in range(num_sweeps):
        action_value = cost + GAMMA * ((1 - share) * value[left] + share * value[left + 1])
        value = action_value.min(axis=1)
    return OptimalControl(states, actions, value, action_value)


# --- Theorem 2: from Q to an action, on Q(s, a) = s a and its convex relatives


def greedy_slope(convexity: float) -> Slope:
    """The greedy action of Q = s a + (m/2) a^2 against L_sa / m, where L_sa = 1, over m."""
    states = np.linspace(-1, 1, 401)
    greedy = minimizers(lambda a: states + convexity * a)
    return Slope(convexity, steepest(greedy, states), 1 / convexity)


def gibbs_slope(temperature: float) -> Slope:
    """The mean of exp(-Q / tau) for Q = s a against diam(A) L_Q / (2 tau) = 1 / tau, over tau."""
    states = np.linspace(-1, 1, 401)
    mean = gibbs_means(lambda s, a: s * a, states, temperature)
    return Slope(temperature, steepest(mean, states), 1 / temperature)


def minimizers(gradient: Callable[[Array], Array]) -> Array:
    """The minimiser over [-1, 1] of a convex function per state, given its derivative in a.

    By bisection: comparing values on a grid of actions would add steps that are not there.
    """
    low = np.full_like(gradient(np.zeros(1)), -1.0)
    high = -low
    for _ in range(60):
        middle = (low + high) / 2
        is_right_of_minimum = gradient(middle) > 0
        low = np.where(is_right_of_minimum, low, middle)
        high = np.where(is_right_of_minimum, middle, high)
    return (low + high) / 2


def gibbs_means(
    action_value: Callable[[Array, Array], Array], states: Array, temperature: float
) -> Array:
    """E[a] under the density proportional to exp(-Q(s, a) / tau) on [-1, 1], at each state."""
    midpoints = (np.arange(2_000) + 0.5) / 1_000 - 1
    exponent = -action_value(states[:, None], midpoints) / temperature
    weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    means: Array = weights @ midpoints / weights.sum(axis=1)
    return means


def steepest(values: Array, points: Array) -> float:
    """max |difference quotient| between neighbours, along the first axis."""
    gaps = np.diff(points).reshape(-1, *[1] * (values.ndim - 1))
    return float(np.abs(np.diff(values, axis=0) / gaps).max())
