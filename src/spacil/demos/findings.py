"""What can be wrong with demonstrations: one function a check, listed in `CHECKS`.

Errors make demonstrations unusable; warnings are for what may be right but often is not.
Statistics alone never refuse: they warn, and two independent signs together are an error.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import plain_json
from spacil.envs.vector_env import EnvSpec, FloatArray, dims_misfits
from spacil.errors import DataError
from spacil.nets.policy import moving_std
from spacil.plain_text import count, shown

Severity = Literal["error", "warning"]

FEW_EPISODES = 3
"""Three demonstrations must train; with fewer the result depends on luck."""
FEW_PAIRS = 100
"""So many state-action pairs a discriminator can learn by heart."""
JERKY = 0.95
"""Relative change from which on actions look drawn anew at every step."""
MANY_STEPS, MANY_EPISODES, STATISTICAL_STEPS = 200, 4, 20
"""For a statement about steps, about one episode among the others, and about the states' spread."""
MOSTLY, OFTEN = 0.5, 0.1
"""Fraction of entries out of bounds that is an error; on a bound, that is worth a warning."""
BOUND_TOLERANCE = 1e-6
"""Relative: a bound stored in another precision is still that bound."""
ELSEWHERE, TIMES_MEDIAN = 0.3, 3.0
"""Distance from the usual mean state, in standard deviations, from which on an episode may be one
that failed: good ones are 0.01 to 0.2 away, random HalfCheetahs 0.6. And so many times as far as
half of all episodes: goals that vary set all of them apart."""


@dataclass(frozen=True)
class Finding:
    """One thing about the demonstrations that a user should know."""

    severity: Severity
    check: str
    """Stable key, one per kind of finding."""
    message: str
    """What, where, and what to do."""
    episode: int | None = None
    step: int | None = None
    column: int | None = None


@dataclass(frozen=True, eq=False)
class Subject:
    """Demonstrations, what they are for, and the numbers that several checks read."""

    demos: Demonstrations
    spec: EnvSpec | None = None
    reset_states: FloatArray | None = None
    """[K, S] starts of the task; None without an env of these sizes."""
    allow_env_mismatch: bool = False

    @cached_property
    def out_of_bounds(self) -> Tensor | None:
        """[M, A] bool, executed actions that the env cannot have executed; None without an env."""
        if self.spec is None or self.spec.num_actions != self.demos.num_actions:
            return None
        low, high = (torch.from_numpy(x) for x in (self.spec.action_low, self.spec.action_high))
        # Each bound has its own slack: one of them may be infinite.
        low_slack, high_slack = (BOUND_TOLERANCE * x.abs().clamp(min=1.0) for x in (low, high))
        actions = self.demos.executed_actions
        return (actions < low - low_slack) | (actions > high + high_slack)

    @cached_property
    def mean_action_change(self) -> float | None:
        """Mean |a_t - a_(t-1)| within episodes, over steps and entries of the executed actions.

        None where it is not defined, as in a thinned record: its steps do not follow each other.
        """
        is_within = self.demos.step_in_episode[1:] > 0
        if self.demos.is_thinned or not self.demos.num_actions or not is_within.any():
            return None
        changes = self.demos.executed_actions.double().diff(dim=0).abs()
        return float(changes[is_within].mean())

    @cached_property
    def relative_action_change(self) -> float | None:
        """Mean change per step over the mean difference of any two steps.

        0 for constant actions, near 0 for smooth ones, 1 for actions drawn anew at every step.
        """
        if self.mean_action_change is None:
            return None
        rows = self.demos.executed_actions.double()
        num_rows = len(rows)
        # Mean |x_i - x_j| over all pairs and columns, by sorting.
        weights = 2 * torch.arange(num_rows, dtype=rows.dtype) - num_rows + 1
        sums = 2 * (weights.unsqueeze(1) * rows.sort(dim=0).values).sum(dim=0)
        spread = float((sums / (num_rows * (num_rows - 1))).mean())
        return self.mean_action_change / spread if spread > 0 else None


Found = Iterator[Finding]


def whole_episodes(it: Subject) -> Found:
    """Few episodes, empty ones, copies."""
    episodes = it.demos.episodes
    if len(episodes) < FEW_EPISODES:
        advice = f"the result will depend on luck, bring {FEW_EPISODES} or more"
        message = f"{count(len(episodes), 'episode')} only; {advice}"
        yield Finding("warning", "few_episodes", message)
    if empty := [i for i, e in enumerate(episodes) if len(e) == 0]:
        message = f"episodes {empty} without a single step; remove them"
        yield Finding("error", "empty_episode", message, empty[0])
    seen = dict[bytes, int]()
    tables = [(e.observations.numpy(), e.executed_actions.numpy()) for e in episodes]
    contents = [b"".join(table.tobytes() for table in pair) for pair in tables]
    if copies := [i for i, content in enumerate(contents) if seen.setdefault(content, i) != i]:
        message = f"episodes {copies} repeat an earlier one exactly; remove the copies"
        yield Finding("warning", "duplicate_episode", message, copies[0])


def few_pairs(it: Subject) -> Found:
    if 0 < it.demos.num_steps <= FEW_PAIRS:
        advice = "a discriminator can learn so few by heart. Use more trajectories or steps"
        message = f"{count(it.demos.num_steps, 'state-action pair')} only; {advice}"
        yield Finding("warning", "few_pairs", message)


def live_states(it: Subject) -> Found:
    """States that say nothing, because none of their dims moves by more than rounding."""
    states = it.demos.states[it.demos.states.isfinite().all(dim=1)]
    if len(states) and not bool(moving_std(states).any()):
        message = "no state dim varies, so no policy can follow from them: were they recorded?"
        yield Finding("error", "no_live_state", message)


def non_finite(it: Subject) -> Found:
    """NaN and infinities; in float32, which networks read: a double may be too large."""
    for name in ("observations", "executed_actions", "actions", "next_observations", "rewards"):
        tensors = [getattr(episode, name) for episode in it.demos.episodes]
        if tensors[0] is None:
            continue
        is_read = name != "rewards"
        tables = [x.float() if is_read else x.unsqueeze(1) for x in tensors]
        places = [torch.nonzero(~table.isfinite()) for table in tables]
        if total := sum(map(len, places)):
            episode = next(index for index, found in enumerate(places) if len(found))
            step, column = places[episode][0].tolist()
            place = f"episode {episode}, step {step}, column {column}"
            first = f"first {float(tables[episode][step, column])} at {place}"
            remedy = "repair the source, or drop whole episodes with --drop-nonfinite"
            message = f"{count(total, 'non-finite value')} in {name}, {first}"
            message += f": {remedy}" if is_read else ": returns are not known"
            severity: Severity = "error" if is_read else "warning"
            yield Finding(severity, "non_finite", message, episode, step, column)


def odd_episode(it: Subject) -> Found:
    """An episode of a lower return than the others, a shorter one, or one elsewhere."""
    demos, returns, lengths = it.demos, it.demos.returns, it.demos.episode_lengths
    if demos.num_episodes < MANY_EPISODES:
        return
    failed = "a failed demonstration? Imitation copies it too"
    if returns is not None and bool(returns.isfinite().all()):
        median = returns.median()
        gaps = median - returns
        # Far below in units of the return itself and of the usual spread.
        limit = torch.maximum(0.5 * median.abs(), 10 * gaps.abs().median())
        episode = int(gaps.argmax())
        if gaps[episode] > limit:
            low = f"return {float(returns[episode]):.2f}, half of all {float(median):.2f} or more"
            yield Finding(
                "warning", "low_return", f"episode {episode} has {low}: {failed}", episode
            )
    episode, steps, usual_steps = int(lengths.argmin()), int(lengths.min()), int(lengths.median())
    if 4 * steps < usual_steps:
        short = f"{steps} steps, half of all {usual_steps} or more: an early fall, or a cut?"
        yield Finding("warning", "short_episode", f"episode {episode} has {short}", episode)
    if demos.num_steps < MANY_STEPS:
        return
    # [E] how far each mean state is from the median episode's: RMS over dims, in std.
    states = demos.states.double()
    sums = states.new_zeros(demos.num_episodes, demos.num_states)
    means = sums.index_add(0, demos.episode_of_step, states) / lengths.unsqueeze(1)
    std = moving_std(states)
    distances = ((means - means.median(dim=0).values) / std)[:, std > 0]
    distances = distances.square().mean(dim=1).sqrt()
    episode, usual = int(distances.argmax()), float(distances.median())
    far = float(distances[episode])
    if far > max(TIMES_MEDIAN * usual, ELSEWHERE) and bool(distances.isfinite().all()):
        message = (
            f"episode {episode} is elsewhere, {far:.2f} standard deviations from the usual mean "
            f"state, half of all are within {usual:.2f}: {failed}"
        )
        yield Finding("warning", "other_states", message, episode)


def jerky_actions(it: Subject) -> Found:
    relative = it.relative_action_change or 0.0
    if it.demos.num_steps >= MANY_STEPS and relative > JERKY:
        message = (
            f"actions differ from one step to the next {relative:.2f} times as much as any two "
            "steps do: sampled actions instead of mean ones, or steps out of order?"
        )
        yield Finding("warning", "jerky_actions", message)


def actions_that_say_nothing(it: Subject) -> Found:
    """States alone, and actions that stand in for ones not known."""
    executed = it.demos.executed_actions
    if not it.demos.num_actions and not it.demos.has_successors:
        message = (
            "read as single states, without actions and successors: own play in the env finds "
            "which may follow each other, and spacil and gail compare states alone; where rows do "
            "follow each other, leave out --single-states, and much less is needed"
        )
        yield Finding("warning", "single_states", message)
    elif not it.demos.num_actions:
        what = "pairs of a state and its successor"
        missing = "the actions that they need"
        if it.demos.columns:
            what = f"pairs of columns {it.demos.columns} of two states in a row, which are compared"
            missing = "the actions, and the other columns, that they need"
        message = (
            f"read without actions, as {what}: spacil, gail and bc learn from them, and find by "
            f"own play in the env {missing}"
        )
        yield Finding("warning", "no_actions", message)
    elif len(executed) >= STATISTICAL_STEPS and bool((executed == executed[0]).all()):
        values = "0" if not executed.any() else "the same"
        message = (
            f"all {len(executed)} actions are {values}, so they say nothing: were they not "
            "recorded? --ignore-actions learns from the states alone"
        )
        yield Finding("error", "constant_actions", message)


def sizes(it: Subject) -> Found:
    if it.spec is None:
        return
    theirs = it.spec
    misfits = dims_misfits(it.demos.dims, (theirs.num_states, theirs.num_actions), theirs.task)
    for noun, misfit in misfits.items():
        yield Finding("error", f"{noun}_dims", misfit)
    longest = int(it.demos.episode_lengths.argmax())
    num_steps, horizon = len(it.demos.episodes[longest]), theirs.horizon
    if horizon is not None and num_steps > horizon:
        why = "another time limit, or two episodes joined?"
        limit = f"{theirs.task} ends after {horizon}"
        message = f"episode {longest} has {num_steps} steps, {limit}: {why}"
        yield Finding("warning", "longer_than_horizon", message, longest)


def other_env(it: Subject) -> Found:
    """What the record says about its env differs from what the env says, or it says nothing."""
    if it.spec is None:
        return
    stored = {"task": it.demos.metadata.task, **(it.demos.metadata.env_fingerprint or {})}
    expected = {"task": it.spec.task, **plain_json("env_fingerprint", it.spec.fingerprint)}
    compared = {key for key in expected if None not in (stored.get(key), expected[key])}
    if "gymnasium_id" in compared:  # a task's name counts where the id is not known
        compared.discard("task")
    differences = [
        f"{key} {shown(repr(stored[key]), 40)} there, {shown(repr(expected[key]), 40)} here"
        for key in sorted(compared)
        if stored[key] != expected[key]
    ]
    if differences:
        is_allowed = it.allow_env_mismatch
        remedy = "used as asked" if is_allowed else "wrong --task? If not, --allow-env-mismatch"
        message = f"recorded in another env ({'; '.join(differences)}): {remedy}"
        yield Finding("warning" if is_allowed else "error", "env_mismatch", message)
    elif not compared & {"task", "gymnasium_id"}:
        message = f"does not say which env it is from; make sure it is {it.spec.task}"
        yield Finding("warning", "unknown_env", message)


def actions_at_bounds(it: Subject) -> Found:
    """Actions beyond the env's bounds, and those that were clipped to them."""
    executed, raw = it.demos.executed_actions, it.demos.actions
    if it.out_of_bounds is None or it.spec is None or it.demos.num_steps == 0:
        return
    if it.out_of_bounds.any():
        fraction = float(it.out_of_bounds.double().mean())
        row, column = torch.nonzero(it.out_of_bounds)[0].tolist()
        episode, step = int(it.demos.episode_of_step[row]), int(it.demos.step_in_episode[row])
        severity: Severity = "error" if fraction > MOSTLY else "warning"
        message = (
            f"{fraction:.1%} of the action entries are outside {it.spec.task}'s bounds, first "
            f"{float(executed[row, column]):.4g} at episode {episode}, step {step}, column "
            f"{column}: other units, another task, or unclipped ones, which belong in actions?"
        )
        yield Finding(severity, "actions_out_of_bounds", message, episode, step, column)
    low, high = torch.from_numpy(it.spec.action_low), torch.from_numpy(it.spec.action_high)
    fraction = float(((executed <= low) | (executed >= high)).double().mean())
    if fraction > OFTEN and (raw is None or torch.equal(raw, executed)):
        message = (
            f"{fraction:.0%} of the action entries lie on {it.spec.task}'s bounds, so a clone "
            "learns to stop there. Store the unclipped actions too, where you have them"
        )
        yield Finding("warning", "clipped_actions", message)


def strange_starts(it: Subject) -> Found:
    """Episodes begin like resets, unless they come from another task, were cut, or were scaled."""
    if it.reset_states is None or it.demos.is_thinned:
        return
    low, high = it.reset_states.min(axis=0), it.reset_states.max(axis=0)
    # The range of a few resets is short of the true one; a part of the largest absorbs rounding.
    slack = (high - low) + 1e-3 * np.abs(it.reset_states).max()
    starts = np.stack([e.observations[0].double().numpy() for e in it.demos.episodes])
    excess = np.nan_to_num(np.maximum(low - starts, starts - high) / slack, nan=np.inf)
    excess[:, ~it.demos.is_known.numpy()] = 0.0
    outside = np.flatnonzero((excess > 1.0).any(axis=1))
    if 2 * len(outside) > it.demos.num_episodes:
        episode = int(outside[0])
        column = int(excess[episode].argmax())
        message = (
            f"{len(outside)} of {it.demos.num_episodes} episodes do not begin like resets (column "
            f"{column} is {starts[episode, column]:.4g} in episode {episode}, resets give "
            f"{low[column]:.4g} to {high[column]:.4g}): another task, scaled states, cut starts?"
        )
        yield Finding("warning", "strange_starts", message, episode, 0, column)


def normalised_states(it: Subject) -> Found:
    """Alone a suspicion; together with starts that no reset gives, certain enough to refuse."""
    is_compared = it.reset_states is not None and not it.demos.is_thinned
    states = it.demos.states[it.demos.states.isfinite().all(dim=1)].double()
    if len(states) < STATISTICAL_STEPS or (is_compared and not any(strange_starts(it))):
        return
    mean, std = states.mean(dim=0), states.std(dim=0, correction=0)
    varies = moving_std(states) > 0
    is_standard = (mean.abs() < 0.2) & ((std - 1).abs() < 0.25)
    # One column may be standard by chance; two or more, all of them, hardly.
    if int(varies.sum()) >= 2 and bool(is_standard[varies].all()):
        message = (
            "every state column has mean 0 and standard deviation 1, so the states look "
            "normalised; store raw ones, the policy carries its own normaliser"
        )
        yield Finding("error" if is_compared else "warning", "normalised_states", message)


CHECKS: tuple[Callable[[Subject], Found], ...] = (
    *(whole_episodes, few_pairs, live_states, non_finite, odd_episode, jerky_actions),
    *(
        actions_that_say_nothing,
        sizes,
        other_env,
        actions_at_bounds,
        strange_starts,
        normalised_states,
    ),
)
"""All checks, in the order of the report"""


def find(subject: Subject, checks: Iterable[Callable[[Subject], Found]] = CHECKS) -> list[Finding]:
    """Run all checks, or some of them; no finding, no problem."""
    found = [finding for check in checks for finding in check(subject)]
    return [replace(it, message=f"{subject.demos.source}: {it.message}") for it in found]


def require_usable(findings: Iterable[Finding]) -> None:
    """Refuse demonstrations with an error, naming all of them at once."""
    errors = [finding.message for finding in findings if finding.severity == "error"]
    if errors:
        raise DataError("\n".join(errors))


def require_finite(demos: Demonstrations) -> None:
    """Refuse observations or actions with NaN or infinity, in the words of training."""
    require_usable(find(Subject(demos), [non_finite]))
