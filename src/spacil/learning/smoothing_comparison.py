"""Teacher and smooth policy beside the simple alternative: the teacher behind a filter.

All play whole episodes from the same starts, which no run uses: undisturbed, under observation
noise, and with actions that arrive late. A filter has no J: its action depends
on what was before, not on the state alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from torch import Tensor

from spacil.config.settings import ConditionsConfig
from spacil.demos.common_frame import CommonFrame
from spacil.envs.conditions import under
from spacil.envs.episodes import Actor, Trajectory, all_states, play
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.learning.teacher import j_at
from spacil.measuring.played import PlayedEpisodes, played_episodes, share_of_return
from spacil.measuring.robustness import (
    play_delayed,
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
LEAST_DISTURBED_SHARE = 0.9
"""A filter that keeps less of the return undisturbed is no alternative, and not played further."""

Filter = Callable[[Actor], Actor]

FILTERS: Mapping[str, Filter] = {
    **{
        f"moving average {strength:g}": partial(with_moving_average, strength=strength)
        for strength in (0.3, 0.5, 0.7)
    },
    **{
        f"low-pass {cutoff:g} of Nyquist": partial(with_low_pass, cutoff=cutoff)
        for cutoff in (0.6, 0.4, 0.2)
    },
}


@dataclass(frozen=True)
class Condition:
    """Whole episodes under one disturbance."""

    disturbance: str
    """noise or delay"""
    level: float
    average_return: float
    return_std: float | None
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
    late_teacher: Contender | None = None
    """The teacher under the conditions that the smooth policy is made for, as filters are"""

    @property
    def rows(self) -> tuple[Contender, ...]:
        late = () if self.late_teacher is None else (self.late_teacher,)
        return self.teacher, *late, self.smooth, *self.filters

    def worse(self) -> list[str]:
        """Say under which disturbances the smooth policy earns less than the teacher.

        Less by more than twice the standard error of the difference.
        """
        found, teacher = [], self.late_teacher or self.teacher
        for ours in self.smooth.disturbed:
            theirs = teacher.under(ours.disturbance, ours.level)
            assert theirs is not None
            if ours.return_std is None or theirs.return_std is None:
                continue  # one episode says nothing about others
            error = math.hypot(ours.return_std, theirs.return_std) / math.sqrt(self.num_episodes)
            if ours.average_return < theirs.average_return - 2 * error:
                earned = f"{ours.average_return:.4g} where the teacher earns"
                condition = f"{ours.disturbance} {ours.level:g}"
                found.append(f"under {condition} it earns {earned} {theirs.average_return:.4g}")
        return found

    def as_good_filters(self, required_share: float) -> list[Contender]:
        """Filters that keep the return, move the actions no more than the smooth policy does, and
        earn as much (within 1 % of the teacher's) under every disturbance."""
        ours = self.smooth.played.action_signal.action_fluctuation
        tolerance = 0.01 * abs(self.teacher.played.average_return - self.random_return)
        found = []
        for row in self.filters:
            change = row.played.action_signal.action_fluctuation
            moves_less = change is not None and ours is not None and change <= ours
            beside = [(c, self.smooth.under(c.disturbance, c.level)) for c in row.disturbed]
            earns = all(
                o is None or c.average_return >= o.average_return - tolerance for c, o in beside
            )
            if (row.return_share or 0.0) >= required_share and moves_less and earns:
                found.append(row)
        return found

    def as_document(self) -> dict[str, Any]:
        rows = asdict(self)
        return rows if self.late_teacher else {k: rows[k] for k in rows if k != "late_teacher"}


def compare(
    teacher: Policy,
    smooth: Policy,
    env: VectorEnv,
    frame: CommonFrame,
    random_return: float,
    seed: int,
    num_episodes: int,
    filters: Mapping[str, Filter] = FILTERS,
    conditions: ConditionsConfig | None = None,
) -> tuple[Comparison, dict[str, Trajectory]]:
    """The whole table, and one episode of teacher and smooth policy from the same start.

    `conditions`: where all but the teacher's first row play, if anywhere else than in the env.
    """
    traces: dict[str, Trajectory] = {}
    seeds, none = ResetSeeds(seed, "evaluate"), ConditionsConfig()

    def late(inputs: ConditionsConfig) -> VectorEnv:
        return env if conditions is None else under(env, conditions, seeds, frame.std, inputs)

    def contender(
        name: str,
        policy: Policy,
        env: VectorEnv,
        wrap: Filter | None = None,
        earned: float | None = None,
    ) -> Contender:
        """Noise before the policy, its filter after it, and delay last."""

        spec, padded = env.spec, frame.with_history(env.spec.num_states)

        def act(states: Tensor) -> Tensor:  # a filter works on what could be executed
            actions = policy.act(states).float()
            return actions.clamp(*spec.bounds_on(actions.device))

        filtered = wrap or (lambda act: act)
        episodes = play(env, lambda: filtered(act), num_episodes)
        summary = played_episodes(episodes, spec)
        traces[name] = episodes[0]
        average = summary.average_return
        share = share_of_return(average, random_return, average if earned is None else earned)
        disturbed: list[tuple[str, float, list[Trajectory]]] = []
        if wrap is None or share is None or share >= LEAST_DISTURBED_SHARE:
            for level in NOISE_LEVELS if wrap is None else NOISE_LEVELS[:1]:
                # Drawn anew from one seed: all policies meet the same noise.
                noisy = with_noise(act, level * padded.std, stream(seed, "observation-noise"))
                shaken = play(env, partial(filtered, noisy), num_episodes)
                disturbed.append(("noise", level, shaken))
            for steps in DELAYS:
                delayed = play_delayed(env, lambda: filtered(act), steps, num_episodes)
                disturbed.append(("delay", steps, delayed))
        found = []
        for disturbance, level, trajectories in disturbed:
            under_it = played_episodes(trajectories, spec)
            change = under_it.action_signal.action_fluctuation
            found.append(
                Condition(disturbance, level, under_it.average_return, under_it.return_std, change)
            )
        j = None if wrap else j_at(policy, all_states(episodes), padded, seed)
        return Contender(name, wrap is not None, share, j, summary, tuple(found))

    first = contender("teacher", teacher, env)
    earned = first.played.average_return
    table = Comparison(
        task=env.spec.task,
        seed=seed,
        num_episodes=num_episodes,
        random_return=random_return,
        frame=frame.source,
        teacher=first,
        smooth=contender("smooth policy", smooth, late(conditions or none), earned=earned),
        filters=tuple(
            contender(f"teacher, {name}", teacher, late(none), wrap, earned)
            for name, wrap in filters.items()
        ),
        late_teacher=None
        if conditions is None
        else contender("teacher, same conditions", teacher, late(none), earned=earned),
    )
    return table, traces
