"""What can be wrong with demonstrations: a table of checks: severity, message, predicate.

Errors make demonstrations unusable; warnings are for what may be right but often is not; notes
inform. Statistics alone never refuse: they warn, and two independent signs together are an error.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import plain_json
from spacil.envs.vector_env import EnvSpec, FloatArray, dims_misfits
from spacil.errors import DataError
from spacil.nets.normalizer import STD_FLOOR

Severity = Literal["error", "warning", "note"]

FEW_EPISODES = 3
"""Three demonstrations must train; with fewer the result depends on luck."""
FEW_PAIRS = 100
"""So many state-action pairs a discriminator can learn by heart."""
JERKY = 0.95
"""Relative change from which on actions look drawn anew at every step."""
MANY_STEPS, MANY_EPISODES = 200, 4
"""For a statement about steps, and about one episode among the others."""
STATISTICAL_STEPS = 20
"""For a statement about mean and standard deviation of the states."""
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
    def fraction_out_of_bounds(self) -> float | None:
        """Fraction of the executed action entries; None without an env."""
        if self.out_of_bounds is None:
            return None
        return float(self.out_of_bounds.double().mean()) if self.demos.num_steps else 0.0

    @cached_property
    def mean_action_change(self) -> float | None:
        """Mean |a_t - a_(t-1)| within episodes, over steps and entries of the executed actions.

        None where it is not defined, as in a thinned record: its steps do not follow each other.
        """
        is_within = self.demos.step_in_episode[1:] > 0
        if self.demos.is_thinned or not is_within.any():
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


Found = Iterator[dict[str, Any]]
Predicate = Callable[[Subject], Found]
"""Yields values for the message for each finding, with its episode, step and column."""
CHECKS: dict[str, tuple[Severity, str, Predicate]] = {}
"""Kind of finding -> severity, format string of its message, predicate; in the order of the report.

A predicate that yields a `severity` has the last word on it.
"""


def _check(severity: Severity, message: str) -> Callable[[Predicate], Predicate]:
    """Enter a predicate into the table, under its name."""

    def enter(predicate: Predicate) -> Predicate:
        CHECKS[predicate.__name__] = (severity, message, predicate)
        return predicate

    return enter


@_check("warning", "{number} only; the result will depend on luck, bring {few} or more")
def few_episodes(it: Subject) -> Found:
    if it.demos.num_episodes < FEW_EPISODES:
        yield {"number": count(it.demos.num_episodes, "episode"), "few": FEW_EPISODES}


@_check("error", "{episodes} without a single step; remove them")
def empty_episode(it: Subject) -> Found:
    yield from _named([i for i, episode in enumerate(it.demos.episodes) if len(episode) == 0])


@_check("note", "{episodes} neither terminated nor truncated at the end; treated as cut off")
def unflagged_end(it: Subject) -> Found:
    has_end = [e.is_terminated or e.is_truncated or len(e) == 0 for e in it.demos.episodes]
    yield from _named([index for index, known in enumerate(has_end) if not known])


@_check(
    "warning",
    "{episodes} repeat an earlier episode exactly, so there are {different} different "
    "demonstrations; remove the copies",
)
def duplicate_episode(it: Subject) -> Found:
    seen: dict[bytes, int] = {}
    rows = [(e.observations, e.executed_actions) for e in it.demos.episodes]
    contents = [b"".join(x.numpy().tobytes() for x in tensors) for tensors in rows]
    copies = [i for i, content in enumerate(contents) if seen.setdefault(content, i) != i]
    for named in _named(copies):
        yield {**named, "different": len(seen)}


@_check(
    "warning",
    "{number} only; a discriminator can learn so few by heart, and its reward then says little. "
    "Use more trajectories, or more steps of each",
)
def few_pairs(it: Subject) -> Found:
    if 0 < it.demos.num_steps <= FEW_PAIRS:
        yield {"number": count(it.demos.num_steps, "state-action pair")}


@_check(
    "error",
    "no state dim varies by more than {floor:g} (standard deviations up to {largest:.3g}), and "
    "dims that vary less are masked: a policy would see nothing. Rescale the observations, of "
    "demonstrations and env alike",
)
def no_live_state(it: Subject) -> Found:
    if it.demos.num_steps and bool((it.demos.state_std <= STD_FLOOR).all()):
        yield {"floor": STD_FLOOR, "largest": float(it.demos.state_std.max())}


@_check(
    "warning",
    "state {dims} vary, with a standard deviation of at most {floor:g}, and are masked: neither "
    "policy nor J sees them. If they matter, rescale them, in demonstrations and env alike",
)
def small_scale(it: Subject) -> Found:
    """Dims that vary too little to be read, beyond rounding in float32."""
    if it.demos.num_steps == 0 or any(no_live_state(it)):
        return
    std = it.demos.state_std
    is_small = (std <= STD_FLOOR) & (std > 1e-7 * (1 + it.demos.state_mean.abs()))
    if dims := torch.nonzero(is_small).flatten().tolist():
        shown = ", ".join(f"{dim} ({float(std[dim]):.2g})" for dim in dims[:8])
        more = f", ... ({len(dims)} in all)" if len(dims) > 8 else ""
        noun = "dim" if len(dims) == 1 else "dims"
        yield {"dims": f"{noun} {shown}{more}", "floor": STD_FLOOR, "column": dims[0]}


@_check(
    "error",
    "{number} in {name}, first {value} at episode {episode}, step {step}, column {column}: "
    "{remedy}",
)
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
            remedy = "repair the source, or drop whole episodes with --drop-nonfinite"
            yield {
                "episode": episode,
                "step": step,
                "column": column,
                "name": name,
                "value": float(tables[episode][step, column]),
                "number": count(total, "non-finite value"),
                "severity": "error" if is_read else "warning",
                "remedy": remedy if is_read else "returns are not known",
            }


@_check(
    "warning",
    "episode {episode} has return {value:.2f}, half of all have {median:.2f} or more: a failed "
    "demonstration? Imitation copies it too",
)
def low_return(it: Subject) -> Found:
    returns = it.demos.returns
    if returns is None or it.demos.num_episodes < MANY_EPISODES or not returns.isfinite().all():
        return
    median = returns.median()
    gaps = median - returns
    # Far below in units of the return itself and of the usual spread.
    limit = torch.maximum(0.5 * median.abs(), 10 * gaps.abs().median())
    episode = int(gaps.argmax())
    if gaps[episode] > limit:
        yield {"episode": episode, "value": float(returns[episode]), "median": float(median)}


@_check(
    "warning",
    "episode {episode} has {steps} steps, half of all have {median} or more: an early fall, or a "
    "cut?",
)
def short_episode(it: Subject) -> Found:
    lengths = it.demos.episode_lengths
    shortest, median = int(lengths.min()), int(lengths.median())
    if it.demos.num_episodes >= MANY_EPISODES and 4 * shortest < median:
        yield {"episode": int(lengths.argmin()), "steps": shortest, "median": median}


@_check(
    "warning",
    "episode {episode} is elsewhere than the others, {distance:.2f} standard deviations from their "
    "usual mean state, half of all are within {usual:.2f}: a failed demonstration? Imitation "
    "copies it too",
)
def other_states(it: Subject) -> Found:
    """An episode that spent its time in other states than the others; needs no reward."""
    demos = it.demos
    if demos.num_episodes < MANY_EPISODES or demos.num_steps < MANY_STEPS:
        return
    # [E] how far each mean state is from the median episode's: RMS over dims, in std.
    states = demos.states.double()
    sums = states.new_zeros(demos.num_episodes, demos.num_states)
    means = sums.index_add(0, demos.episode_of_step, states) / demos.episode_lengths.unsqueeze(1)
    std = states.std(dim=0, correction=0)
    varies = std > 1e-2  # a dim that varies less says nothing about where an episode was
    gaps = (means - means.median(dim=0).values)[:, varies] / std[varies]
    distances = gaps.square().mean(dim=1).sqrt()
    episode, usual = int(distances.argmax()), float(distances.median())
    is_far = bool(distances.isfinite().all()) and (
        float(distances[episode]) > max(TIMES_MEDIAN * usual, ELSEWHERE)
    )
    known = {found["episode"] for check in (low_return, short_episode) for found in check(it)}
    if is_far and episode not in known:
        yield {"episode": episode, "distance": float(distances[episode]), "usual": usual}


@_check(
    "warning",
    "actions differ from one step to the next {relative:.2f} times as much as any two steps do: "
    "sampled actions instead of mean ones, or steps out of order?",
)
def jerky_actions(it: Subject) -> Found:
    if it.demos.num_steps >= MANY_STEPS and (it.relative_action_change or 0) > JERKY:
        yield {"relative": it.relative_action_change}


@_check("error", "{misfit}")
def state_dims(it: Subject) -> Found:
    yield from _misfits(it, "state")


@_check("error", "{misfit}")
def action_dims(it: Subject) -> Found:
    yield from _misfits(it, "action")


def _misfits(it: Subject, noun: str) -> Found:
    if it.spec is not None:
        found = (it.demos.num_states, it.demos.num_actions)
        misfits = dims_misfits(found, (it.spec.num_states, it.spec.num_actions), it.spec.task)
        if noun in misfits:
            yield {"misfit": misfits[noun]}


@_check(
    "warning",
    "episode {episode} has {steps} steps, {task} ends after {horizon}: another time limit, or two "
    "episodes joined?",
)
def longer_than_horizon(it: Subject) -> Found:
    lengths, horizon = it.demos.episode_lengths, it.spec.horizon if it.spec else None
    if horizon is not None and int(lengths.max()) > horizon:
        yield {"episode": int(lengths.argmax()), "steps": int(lengths.max()), "horizon": horizon}


@_check("error", "recorded in another env ({differences}): {remedy}")
def env_mismatch(it: Subject) -> Found:
    stored, expected, compared = _identities(it)
    differences = [
        f"{key} {_short(stored[key])} there, {_short(expected[key])} here"
        for key in sorted(compared)
        if stored[key] != expected[key]
    ]
    if differences:
        is_allowed = it.allow_env_mismatch
        yield {
            "differences": "; ".join(differences),
            "severity": "warning" if is_allowed else "error",
            "remedy": "used as asked"
            if is_allowed
            else "wrong --task? If not, --allow-env-mismatch",
        }


@_check("warning", "does not say which env it is from; make sure it is {task}")
def unknown_env(it: Subject) -> Found:
    if it.spec and not any(env_mismatch(it)) and not _identities(it)[2] & {"task", "gymnasium_id"}:
        yield {}


def _identities(it: Subject) -> tuple[dict[str, Any], dict[str, Any], set[str]]:
    """What the record says about its env, what the env says, and the keys both know."""
    if it.spec is None:
        return {}, {}, set()
    stored = {"task": it.demos.metadata.task, **(it.demos.metadata.env_fingerprint or {})}
    expected = {"task": it.spec.task, **plain_json("env_fingerprint", it.spec.fingerprint)}
    compared = {key for key in expected if None not in (stored.get(key), expected[key])}
    # A task's name counts where the id is not known.
    return stored, expected, compared - ({"task"} if "gymnasium_id" in compared else set())


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."


@_check(
    "warning",
    "{fraction:.1%} of the action entries are outside {task}'s bounds, first {value:.4g} at "
    "episode {episode}, step {step}, column {column}: {remedy}",
)
def actions_out_of_bounds(it: Subject) -> Found:
    if it.out_of_bounds is None or not it.fraction_out_of_bounds:
        return
    row, column = torch.nonzero(it.out_of_bounds)[0].tolist()
    is_error = it.fraction_out_of_bounds > MOSTLY
    yield {
        "episode": int(it.demos.episode_of_step[row]),
        "step": int(it.demos.step_in_episode[row]),
        "column": column,
        "fraction": it.fraction_out_of_bounds,
        "value": float(it.demos.executed_actions[row, column]),
        "severity": "error" if is_error else "warning",
        "remedy": "other units, or another task?"
        if is_error
        else "store the clipped actions as executed_actions, the others as actions",
    }


@_check(
    "warning",
    "{fraction:.0%} of the action entries lie on {task}'s bounds, and what the expert asked for "
    "beyond them is not known: a clone learns to stop at the bound. Store the unclipped actions "
    "too, where you have them",
)
def clipped_actions(it: Subject) -> Found:
    executed, raw = it.demos.executed_actions, it.demos.actions
    if it.out_of_bounds is None or it.spec is None or it.demos.num_steps == 0:
        return
    low, high = torch.from_numpy(it.spec.action_low), torch.from_numpy(it.spec.action_high)
    fraction = float(((executed <= low) | (executed >= high)).double().mean())
    if fraction > OFTEN and (raw is None or torch.equal(raw, executed)):
        yield {"fraction": fraction}


@_check(
    "warning",
    "{outside} of {all} episodes do not begin like {task} (column {column} is {value:.4g} in "
    "episode {episode}, resets give {low:.4g} to {high:.4g}): another task, scaled states, cut "
    "starts?",
)
def strange_starts(it: Subject) -> Found:
    """Episodes begin like resets, unless they come from another task, were cut, or were scaled."""
    if it.reset_states is None or it.demos.is_thinned:
        return
    low, high = it.reset_states.min(axis=0), it.reset_states.max(axis=0)
    # The range of a few resets is short of the true one; the constant absorbs rounding.
    slack = (high - low) + 1e-3 * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
    starts = np.stack([e.observations[0].double().numpy() for e in it.demos.episodes])
    excess = np.nan_to_num(np.maximum(low - starts, starts - high) / slack, nan=np.inf)
    outside = np.flatnonzero((excess > 1.0).any(axis=1))
    if 2 * len(outside) > it.demos.num_episodes:
        episode = int(outside[0])
        column = int(excess[episode].argmax())
        yield {
            "episode": episode,
            "step": 0,
            "column": column,
            "outside": len(outside),
            "all": it.demos.num_episodes,
            "value": starts[episode, column],
            "low": low[column],
            "high": high[column],
        }


@_check(
    "warning",
    "every state column has mean 0 and standard deviation 1, so the states look normalised; store "
    "raw ones, the policy carries its own normaliser",
)
def normalised_states(it: Subject) -> Found:
    """Alone a suspicion; together with starts that no reset gives, certain enough to refuse."""
    is_compared = it.reset_states is not None and not it.demos.is_thinned
    states = it.demos.states[it.demos.states.isfinite().all(dim=1)].double()
    if len(states) < STATISTICAL_STEPS or (is_compared and not any(strange_starts(it))):
        return
    mean, std = states.mean(dim=0), states.std(dim=0, correction=0)
    varies = std > 1e-6
    is_standard = (mean.abs() < 0.2) & ((std - 1).abs() < 0.25)
    # One column may be standard by chance; two or more, all of them, hardly.
    if int(varies.sum()) >= 2 and bool(is_standard[varies].all()):
        yield {"severity": "error" if is_compared else "warning"}


@_check(
    "note",
    "holds executed actions only, no raw ones; training then uses executed actions on both sides",
)
def executed_actions_only(it: Subject) -> Found:
    if it.demos.actions is None:
        yield {}


def _named(indices: list[int]) -> Found:
    """ "episode 4" or "episodes 1, 2, 5, ... (12 in all)"; nothing where there are none."""
    if indices:
        shown = ", ".join(map(str, indices[:6]))
        more = f", ... ({len(indices)} in all)" if len(indices) > 6 else ""
        noun = "episode" if len(indices) == 1 else "episodes"
        yield {"episode": indices[0], "episodes": f"{noun} {shown}{more}"}


def find(subject: Subject, kinds: Collection[str] | None = None) -> list[Finding]:
    """Run all checks, or those of some kinds; no finding, no problem."""
    source, task = subject.demos.source, subject.spec.task if subject.spec else "the task"
    return [
        Finding(
            found.get("severity", severity),
            kind,
            f"{source}: {message.format(**{'task': task, **found})}",
            **{name: found.get(name) for name in ("episode", "step", "column")},
        )
        for kind, (severity, message, predicate) in CHECKS.items()
        if kinds is None or kind in kinds
        for found in predicate(subject)
    ]


def require_usable(findings: Iterable[Finding]) -> None:
    """Refuse demonstrations with an error, naming all of them at once."""
    errors = [finding.message for finding in findings if finding.severity == "error"]
    if errors:
        raise DataError("\n".join(errors))


def require_finite(demos: Demonstrations) -> None:
    """Refuse observations or actions with NaN or infinity, in the words of training."""
    require_usable(find(Subject(demos), ("non_finite",)))


def count(number: int, noun: str) -> str:
    """ "1 episode", "3 episodes"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
