"""Teacher and smooth policy beside the simple alternative: the teacher behind a filter.

All play whole episodes from the same starts, which no run uses: undisturbed, under observation
noise, and with actions that arrive late. A filter has no J: its action depends
on what was before, not on the state alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Actor, MakeActor, Trajectory, all_states, play
from spacil.envs.vector_env import EnvSpec, VectorEnv
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
"""Cutoffs as fractions of Nyquist."""

LEAST_DISTURBED_SHARE = 0.9
"""A filter that keeps less of the return undisturbed is no alternative, and not played further."""

Filter = Callable[[Actor], Actor]

FILTERS: Mapping[str, Filter] = {
    f"moving average {strength:g}": partial(with_moving_average, strength=strength)
    for strength in AVERAGE_STRENGTHS
} | {
    f"low-pass {cutoff:g} of Nyquist": partial(with_low_pass, cutoff=cutoff)
    for cutoff in LOW_PASS_CUTOFFS
}


@dataclass(frozen=True)
class Condition:
    """Whole episodes under one disturbance."""

    disturbance: str
    """noise or delay"""
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
        """Find one disturbance; None where it was not played."""
        return next(
            (c for c in self.disturbed if (c.disturbance, c.level) == (disturbance, level)), None
        )


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
        earn as much (within 1 % of the teacher's) under every disturbance."""
        ours = self.smooth.played.action_signal.action_fluctuation
        tolerance = 0.01 * abs(self.teacher.played.average_return - self.random_return)
        found = []
        for row in self.filters:
            change = row.played.action_signal.action_fluctuation
            keeps = row.return_share is not None and row.return_share >= required_share
            moves_less = change is not None and ours is not None and change <= ours
            pairs = [(c, self.smooth.under(c.disturbance, c.level)) for c in row.disturbed]
            earns = all(
                other is None or condition.average_return >= other.average_return - tolerance
                for condition, other in pairs
            )
            if keeps and moves_less and earns:
                found.append(row)
        return found

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
    spec = env.spec

    def played(make_actor: MakeActor) -> list[Trajectory]:
        return play(env, make_actor, num_episodes)

    def under(disturbance: str, level: float, make_actor: MakeActor) -> Condition:
        found = played_episodes(played(make_actor), spec)
        change = found.action_signal.action_fluctuation
        return Condition(disturbance, level, found.average_return, found.return_std, change)

    def contender(
        name: str, act: Actor, episodes: list[Trajectory], j: float | None, wrap: Filter | None
    ) -> Contender:
        """Noise before the policy, its filter after it, and delay last."""
        apply = wrap or (lambda act: act)
        summary = played_episodes(episodes, spec)
        share = share_of_return(summary.average_return, random_return, earned)
        conditions = []
        if wrap is None or share is None or share >= LEAST_DISTURBED_SHARE:
            for level in NOISE_LEVELS if wrap is None else NOISE_LEVELS[:1]:
                # Drawn anew from one seed: all policies meet the same noise.
                noisy = with_noise(act, level * frame.std, stream(seed, "observation-noise"))
                conditions.append(under("noise", level, partial(apply, noisy)))
            for steps in DELAYS:
                late = partial(lambda n: with_action_delay(apply(act), n), steps)
                conditions.append(under("delay", steps, late))
        return Contender(name, wrap is not None, share, j, summary, tuple(conditions))

    acts, acts_smoothly = _clipped(teacher, spec), _clipped(smooth, spec)
    before, after = played(lambda: acts), played(lambda: acts_smoothly)
    earned = played_episodes(before, spec).average_return
    j, smooth_j = (
        j_at(policy, all_states(episodes), frame, seed)
        for policy, episodes in ((teacher, before), (smooth, after))
    )
    table = Comparison(
        task=spec.task,
        seed=seed,
        num_episodes=num_episodes,
        random_return=random_return,
        frame=frame.source,
        teacher=contender("teacher", acts, before, j, None),
        smooth=contender("smooth policy", acts_smoothly, after, smooth_j, None),
        filters=tuple(
            contender(f"teacher, {name}", acts, played(partial(wrap, acts)), None, wrap)
            for name, wrap in (FILTERS if filters is None else filters).items()
        ),
    )
    return table, Traces(before[0], after[0])


def _clipped(policy: Policy, spec: EnvSpec) -> Actor:
    """Mean actions within the env's bounds: a filter works on what could be executed."""

    def act(states: Tensor) -> Tensor:
        actions = policy.act(states).float()
        return actions.clamp(*spec.bounds_on(actions.device))

    return act
