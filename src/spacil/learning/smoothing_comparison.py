"""Before and after, beside the honest alternative: the teacher behind a filter.

Everybody plays whole episodes from the same starts, on start states that no run uses: undisturbed,
under observation noise, and with actions that arrive late. A filter has no J: its action depends
on what was before, not on the state alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Actor, MakeActor, Trajectory, all_states, play
from spacil.envs.vector_env import VectorEnv
from spacil.learning.teacher import j_at
from spacil.measuring.played import PlayedEpisodes, played_episodes, share_of_return
from spacil.measuring.robustness import (
    with_action_delay,
    with_low_pass,
    with_moving_average,
    with_noise,
)
from spacil.policies.policy import Policy
from spacil.seeding import stream

NOISE_LEVELS = (0.1, 0.3)
"""Half widths of uniform observation noise, in standard deviations of each feature."""
DELAYS = (1,)
"""Steps by which actions arrive late."""
AVERAGE_STRENGTHS = (0.3, 0.5, 0.7)
LOW_PASS_CUTOFFS = (0.6, 0.4, 0.2)
"""Of Nyquist"""

LEAST_DISTURBED_SHARE = 0.9
"""A filter that keeps less of the return undisturbed is no alternative, and not played further."""

Filter = Callable[[Actor], Actor]


@dataclass(frozen=True)
class Condition:
    """Whole episodes under one disturbance, or none."""

    disturbance: str
    """none, noise or delay"""
    level: float
    average_return: float
    return_std: float
    action_fluctuation: float | None


@dataclass(frozen=True)
class Contender:
    """One row of the table."""

    name: str
    is_filter: bool
    return_share: float | None
    smoothness_j: float | None
    """In the common frame; None for a filter"""
    played: PlayedEpisodes
    disturbed: tuple[Condition, ...]

    def under(self, disturbance: str, level: float) -> Condition | None:
        """How it does under one disturbance; None where it was not played."""
        for found in self.disturbed:
            if (found.disturbance, found.level) == (disturbance, level):
                return found
        return None


@dataclass(frozen=True)
class Comparison:
    """The teacher, the smooth policy, and the filters."""

    task: str
    seed: int
    num_episodes: int
    random_return: float
    frame: str
    """Whose standard deviations J and the noise are measured in"""
    teacher: Contender
    smooth: Contender
    filters: tuple[Contender, ...]

    @property
    def rows(self) -> tuple[Contender, ...]:
        return self.teacher, self.smooth, *self.filters

    def as_good_filters(self, required_share: float) -> list[Contender]:
        """Filters that keep the return, move the actions no more than the smooth policy does, and
        earn as much (within 1 %) under every disturbance."""
        return [row for row in self.filters if self._is_as_good(row, required_share)]

    def _is_as_good(self, row: Contender, required_share: float) -> bool:
        if row.return_share is None or row.return_share < required_share:
            return False
        moves = row.played.action_signal.action_fluctuation
        ours = self.smooth.played.action_signal.action_fluctuation
        span = abs(self.teacher.played.average_return - self.random_return)
        pairs = [
            (found, self.smooth.under(found.disturbance, found.level)) for found in row.disturbed
        ]
        return (
            moves is not None
            and ours is not None
            and moves <= ours
            and all(
                other is None or found.average_return >= other.average_return - 0.01 * span
                for found, other in pairs
            )
        )

    def as_document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Traces:
    """One episode of each, for pictures."""

    teacher: Trajectory
    smooth: Trajectory


def compare(
    teacher: Policy,
    smooth: Policy,
    env: VectorEnv,
    frame: CommonFrame,
    random_return: float,
    seed: int,
    num_episodes: int,
    filters: Mapping[str, Filter] | None = None,
) -> tuple[Comparison, Traces]:
    """The whole table, and one episode of teacher and smooth policy from the same start.

    `filters`: those behind which the teacher plays, by name; by default all of them.
    """
    grounds = _Grounds(env, frame, seed, num_episodes)
    wanted = all_filters() if filters is None else filters
    acts, acts_smoothly = _clipped(teacher, env), _clipped(smooth, env)
    before = grounds.play(lambda: acts)
    after = grounds.play(lambda: acts_smoothly)
    earned = played_episodes(before, env.spec).average_return

    def share(played: PlayedEpisodes) -> float | None:
        return share_of_return(played.average_return, random_return, earned)

    def row(name: str, act: Actor, episodes: list[Trajectory], j: float | None) -> Contender:
        played = played_episodes(episodes, env.spec)
        disturbed = grounds.disturbed(act, _unfiltered, NOISE_LEVELS)
        return Contender(name, False, share(played), j, played, disturbed)

    def filtered(name: str, wrap: Filter) -> Contender:
        played = played_episodes(grounds.play(lambda: wrap(acts)), env.spec)
        kept = share(played)
        is_fit = kept is None or kept >= LEAST_DISTURBED_SHARE
        disturbed = grounds.disturbed(acts, wrap, NOISE_LEVELS[:1]) if is_fit else ()
        return Contender(f"teacher, {name}", True, kept, None, played, disturbed)

    table = Comparison(
        task=env.spec.task,
        seed=seed,
        num_episodes=num_episodes,
        random_return=random_return,
        frame=frame.source,
        teacher=row("teacher", acts, before, mean_j(teacher, before, frame, seed)),
        smooth=row("smooth policy", acts_smoothly, after, mean_j(smooth, after, frame, seed)),
        filters=tuple(filtered(name, wrap) for name, wrap in wanted.items()),
    )
    return table, Traces(before[0], after[0])


def mean_j(source: Policy, episodes: list[Trajectory], frame: CommonFrame, seed: int) -> float:
    """J over the states that it visited itself."""
    return j_at(source, all_states(episodes), frame, seed)


@dataclass(frozen=True)
class _Grounds:
    """Where everybody plays."""

    env: VectorEnv
    frame: CommonFrame
    seed: int
    num_episodes: int

    def play(self, make_actor: MakeActor) -> list[Trajectory]:
        return play(self.env, make_actor, self.num_episodes)

    def disturbed(
        self, act: Actor, wrap: Filter, noise_levels: tuple[float, ...]
    ) -> tuple[Condition, ...]:
        """Noise before the policy, its filter after it, and delay last."""

        def noisy(level: float) -> MakeActor:
            width = level * self.frame.std
            # Drawn anew from one seed: everybody meets the same noise.
            shaken = with_noise(act, width, stream(self.seed, "observation-noise"))
            return lambda: wrap(shaken)

        def late(steps: int) -> MakeActor:
            return lambda: with_action_delay(wrap(act), steps)

        return (
            *(self._under("noise", level, noisy(level)) for level in noise_levels),
            *(self._under("delay", steps, late(steps)) for steps in DELAYS),
        )

    def _under(self, disturbance: str, level: float, make_actor: MakeActor) -> Condition:
        found = played_episodes(self.play(make_actor), self.env.spec)
        moved = found.action_signal.action_fluctuation
        return Condition(disturbance, level, found.average_return, found.return_std, moved)


def all_filters() -> Mapping[str, Filter]:
    averages: dict[str, Filter] = {
        f"moving average {strength:g}": partial(with_moving_average, strength=strength)
        for strength in AVERAGE_STRENGTHS
    }
    return averages | {
        f"low-pass {cutoff:g} of Nyquist": partial(with_low_pass, cutoff=cutoff)
        for cutoff in LOW_PASS_CUTOFFS
    }


def _unfiltered(act: Actor) -> Actor:
    return act


def _clipped(source: Policy, env: VectorEnv) -> Actor:
    """Mean actions within the env's bounds: a filter works on what could be executed."""
    low, high = torch.from_numpy(env.spec.action_low), torch.from_numpy(env.spec.action_high)

    def act(states: Tensor) -> Tensor:
        return source.mean(states.to(source.dtype)).detach().float().clamp(low, high)

    return act
