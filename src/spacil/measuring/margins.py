"""How late and how noisy may it become before a tenth of the return is gone?

The return counts above that of random actions. Delays within a step are played by interpolating two
commands. Levels double until too much is lost, then the gap is halved; the margin is where a
straight line between the levels played crosses, its interval where the same lines through twice the
standard error above and below do.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from spacil.envs.conditions import disturbed
from spacil.envs.episodes import Actor, play_for_totals
from spacil.envs.vector_env import VectorEnv
from spacil.measuring.evaluate import evaluation_env
from spacil.measuring.frames import choose_frame
from spacil.measuring.played import random_return
from spacil.policies.policy import Policy

KEPT = 0.9
"""Share of the undisturbed return at the margin."""
DELAYS, NOISES = (0.25, 8.0), (0.05, 1.6)
"""First and largest level: steps, and standard deviations of the observations."""
NUM_HALVINGS = 3


@dataclass(frozen=True)
class Margin:
    """The level at which a tenth of the return is lost; None: beyond the largest one played."""

    level: float | None
    low: float | None
    """Ends of its interval, two standard errors of the return each way"""
    high: float | None
    most: float
    """Largest level that was to be played"""

    @property
    def levels(self) -> tuple[float, float, float]:
        """Level and ends, the largest level for what is beyond it."""
        return tuple(self.most if x is None else x for x in (self.level, self.low, self.high))  # type: ignore[return-value]  # three


@dataclass(frozen=True)
class Margins:
    """Both margins of one policy; keys are stable."""

    delay_steps: Margin
    """Steps by which commands may come later than the policy was made for"""
    step_seconds: float | None
    """Seconds per step, where the env says"""
    noise: Margin
    """Gaussian noise in standard deviations of the observations, all that there is"""


Share = tuple[float, float]
"""Of the undisturbed return, and its standard error"""


def measure_margins(
    env: VectorEnv, act: Actor, unit: Tensor, num_episodes: int, seed: int
) -> Margins | None:
    """Play until a tenth is lost; None where random actions earn as much.

    `unit` [S] is what noise counts in.
    """

    def earned(env: VectorEnv) -> Share:
        returns = play_for_totals(env, act, 0, num_episodes).returns
        return float(returns.mean()), float(returns.std() / np.sqrt(num_episodes))

    lowest, (clean, clean_error) = random_return(env, seed), earned(env)
    if (span := clean - lowest) <= 0:
        return None

    def share(env: VectorEnv) -> Share:
        average, error = earned(env)
        return (average - lowest) / span, float(np.hypot(error, clean_error)) / span

    return Margins(
        margin(lambda steps: share(disturbed(env, later=steps)), *DELAYS),
        env.spec.dt,
        margin(lambda noise: share(disturbed(env, noise=noise, unit=unit)), *NOISES),
    )


def margins_of(policy: Policy, task: str, num_episodes: int, seed: int = 0) -> Margins | None:
    """Measure them for a policy where it was made for, on start states that no run uses."""
    frame = choose_frame(None, policy.common_frame, task)
    with evaluation_env(task, num_episodes, seed, None, policy.conditions, frame=frame) as env:
        policy.require_env(env.spec)
        if frame is None:  # noise in the spread of what it visits
            visited = play_for_totals(env, policy.act, 0, num_episodes).states
            unit = visited.double().std(0, correction=0)
        else:
            unit = frame.std
        return measure_margins(env, policy.act, unit, num_episodes, seed)


def margin(share_at: Callable[[float], Share], first: float, most: float) -> Margin:
    """Where the share of the return falls below `KEPT` for the first time."""
    known, level = {0.0: (1.0, 0.0)}, first
    while level <= most:
        known[level] = average, error = share_at(level)
        if average + 2 * error < KEPT:
            break
        level *= 2
    for _ in range(NUM_HALVINGS):
        lost = min((level for level in known if known[level][0] < KEPT), default=None)
        if lost is None:
            break
        middle = (lost + max(level for level in known if level < lost)) / 2
        known[middle] = share_at(middle)
    levels = sorted(known)
    below, at, above = (
        _crossing(levels, [known[level][0] + side * 2 * known[level][1] for level in levels])
        for side in (-1, 0, 1)
    )
    return Margin(at, below, above, most)


def _crossing(levels: list[float], shares: list[float]) -> float | None:
    for (left, before), (right, after) in itertools.pairwise(zip(levels, shares, strict=True)):
        if after < KEPT:
            return left + (right - left) * max(0.0, before - KEPT) / (before - after)
    return None
