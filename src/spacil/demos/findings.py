"""What can be wrong with demonstrations: a table of checks, each a predicate and a message.

Errors make demonstrations unusable; warnings are for what may be right but often is not; notes
inform. Statistics alone never refuse: they warn, and two independent signs together are an error.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

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

    @cached_property
    def strange_starts(self) -> dict[str, Any] | None:
        """Episodes that begin outside the range of the task's resets, if more than half do.

        Episodes begin in it, unless they come from another task, were cut, or were scaled.
        """
        if self.reset_states is None or self.demos.is_thinned:
            return None
        low, high = self.reset_states.min(axis=0), self.reset_states.max(axis=0)
        # The range of a few resets is short of the true one; the constant absorbs rounding.
        slack = (high - low) + 1e-3 * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
        starts = np.stack([e.observations[0].double().numpy() for e in self.demos.episodes])
        excess = np.nan_to_num(np.maximum(low - starts, starts - high) / slack, nan=np.inf)
        outside = np.flatnonzero((excess > 1.0).any(axis=1))
        if 2 * len(outside) <= self.demos.num_episodes:
            return None
        episode = int(outside[0])
        column = int(excess[episode].argmax())
        return {
            "episode": episode,
            "step": 0,
            "column": column,
            "outside": len(outside),
            "all": self.demos.num_episodes,
            "task": self.task,
            "value": starts[episode, column],
            "low": low[column],
            "high": high[column],
        }

    @property
    def task(self) -> str:
        return self.spec.task if self.spec else "the task"


Found = dict[str, Any] | None
"""Values for a message, with its episode, step and column; None: nothing found."""


def _few_episodes(it: Subject) -> Found:
    number = it.demos.num_episodes
    return (
        {"number": count(number, "episode"), "few": FEW_EPISODES} if number < FEW_EPISODES else None
    )


def _episodes_where(it: Subject, is_found: Callable[[Any], bool]) -> Found:
    indices = [index for index, episode in enumerate(it.demos.episodes) if is_found(episode)]
    return _named(indices) if indices else None


def _named(indices: list[int]) -> dict[str, Any]:
    """ "episode 4" or "episodes 1, 2, 5, ... (12 in all)"."""
    shown = ", ".join(map(str, indices[:6]))
    more = f", ... ({len(indices)} in all)" if len(indices) > 6 else ""
    noun = "episode" if len(indices) == 1 else "episodes"
    return {"episode": indices[0], "episodes": f"{noun} {shown}{more}"}


def _duplicates(it: Subject) -> Found:
    seen: dict[tuple[bytes, bytes], int] = {}
    copies = []
    for index, episode in enumerate(it.demos.episodes):
        rows = (episode.observations, episode.executed_actions)
        first, second = (bytes(tensor.numpy().tobytes()) for tensor in rows)
        if seen.setdefault((first, second), index) != index:
            copies.append(index)
    return _named(copies) | {"different": len(seen)} if copies else None


def _few_pairs(it: Subject) -> Found:
    number = it.demos.num_steps
    return {"number": count(number, "state-action pair")} if 0 < number <= FEW_PAIRS else None


def _no_live_state(it: Subject) -> Found:
    if it.demos.num_steps == 0 or not bool((it.demos.state_std <= STD_FLOOR).all()):
        return None
    return {"floor": STD_FLOOR, "largest": float(it.demos.state_std.max())}


def _small_scale(it: Subject) -> Found:
    """State dims that vary too little to be read, beyond rounding in float32."""
    if it.demos.num_steps == 0 or _no_live_state(it):
        return None
    std = it.demos.state_std
    is_small = (std <= STD_FLOOR) & (std > 1e-7 * (1 + it.demos.state_mean.abs()))
    dims = torch.nonzero(is_small).flatten().tolist()
    if not dims:
        return None
    shown = ", ".join(f"{dim} ({float(std[dim]):.2g})" for dim in dims[:8])
    more = f", ... ({len(dims)} in all)" if len(dims) > 8 else ""
    noun = "dim" if len(dims) == 1 else "dims"
    return {"dims": f"{noun} {shown}{more}", "floor": STD_FLOOR, "column": dims[0]}


def _non_finite(name: str, it: Subject) -> Found:
    """NaN and infinities; in float32, which networks read: a double may be too large."""
    total, first = 0, None
    for index, episode in enumerate(it.demos.episodes):
        tensor = getattr(episode, name)
        if tensor is None:
            return None
        table = tensor.unsqueeze(1) if name == "rewards" else tensor.float()
        places = torch.nonzero(~table.isfinite())
        if len(places) and first is None:
            step, column = places[0].tolist()
            first = {"episode": index, "step": step, "column": column}
            first["value"] = float(table[step, column])
        total += len(places)
    return None if first is None else {**first, "number": count(total, "non-finite value")}


def _low_return(it: Subject) -> Found:
    returns = it.demos.returns
    if returns is None or it.demos.num_episodes < MANY_EPISODES or not returns.isfinite().all():
        return None
    median = returns.median()
    gaps = median - returns
    # Far below in units of the return itself and of the usual spread.
    limit = torch.maximum(0.5 * median.abs(), 10 * gaps.abs().median())
    episode = int(gaps.argmax())
    if gaps[episode] <= limit:
        return None
    return {"episode": episode, "value": float(returns[episode]), "median": float(median)}


def _short_episode(it: Subject) -> Found:
    lengths = it.demos.episode_lengths
    shortest, median = int(lengths.min()), int(lengths.median())
    if it.demos.num_episodes < MANY_EPISODES or 4 * shortest >= median:
        return None
    return {"episode": int(lengths.argmin()), "steps": shortest, "median": median}


def _other_states(it: Subject) -> Found:
    """An episode that spent its time in other states than the others; needs no reward."""
    demos = it.demos
    if demos.num_episodes < MANY_EPISODES or demos.num_steps < MANY_STEPS:
        return None
    told = [found["episode"] for check in (_low_return, _short_episode) if (found := check(it))]
    # [E] how far each mean state is from the median episode's: RMS over dims, in std.
    states = demos.states.double()
    sums = states.new_zeros(demos.num_episodes, demos.num_states)
    means = sums.index_add(0, demos.episode_of_step, states) / demos.episode_lengths.unsqueeze(1)
    std = states.std(dim=0, correction=0)
    varies = std > 1e-2  # a dim that varies less says nothing about where an episode was
    gaps = (means - means.median(dim=0).values)[:, varies] / std[varies]
    distances = gaps.square().mean(dim=1).sqrt()
    episode, usual = int(distances.argmax()), distances.median()
    is_far = distances[episode] > torch.clamp(TIMES_MEDIAN * usual, min=ELSEWHERE)
    if not (bool(distances.isfinite().all()) and bool(is_far)) or episode in told:
        return None
    return {"episode": episode, "distance": float(distances[episode]), "usual": float(usual)}


def _jerky(it: Subject) -> Found:
    if it.demos.num_steps < MANY_STEPS or (it.relative_action_change or 0) <= JERKY:
        return None
    return {"relative": it.relative_action_change}


def _misfit(noun: str, it: Subject) -> Found:
    if it.spec is None:
        return None
    found = (it.demos.num_states, it.demos.num_actions)
    misfits = dims_misfits(found, (it.spec.num_states, it.spec.num_actions), it.spec.task)
    return {"misfit": misfits[noun]} if noun in misfits else None


def _longer_than_horizon(it: Subject) -> Found:
    longest = int(it.demos.episode_lengths.max())
    if it.spec is None or it.spec.horizon is None or longest <= it.spec.horizon:
        return None
    episode = int(it.demos.episode_lengths.argmax())
    return {"episode": episode, "steps": longest, "task": it.task, "horizon": it.spec.horizon}


def _identity(it: Subject) -> tuple[set[str], list[str]]:
    """What both sides say about the env, and the differences in words."""
    if it.spec is None:
        return set(), []
    stored = {"task": it.demos.metadata.task, **(it.demos.metadata.env_fingerprint or {})}
    expected = {"task": it.spec.task, **plain_json("env_fingerprint", it.spec.fingerprint)}
    # What one side does not know is no difference; a task's name counts where the id is not known.
    compared = {key for key in expected if None not in (stored.get(key), expected[key])}
    if "gymnasium_id" in compared:
        compared.discard("task")
    return compared, [
        f"{key} {_short(stored[key])} there, {_short(expected[key])} here"
        for key in sorted(compared)
        if stored[key] != expected[key]
    ]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."


def _env_mismatch(is_allowed: bool, it: Subject) -> Found:
    _, differences = _identity(it)
    if not differences or it.allow_env_mismatch != is_allowed:
        return None
    return {"differences": "; ".join(differences)}


def _unknown_env(it: Subject) -> Found:
    compared, differences = _identity(it)
    if it.spec is None or differences or compared & {"task", "gymnasium_id"}:
        return None
    return {"task": it.task}


def _out_of_bounds(least: float, most: float, it: Subject) -> Found:
    fraction, outside = it.fraction_out_of_bounds, it.out_of_bounds
    if outside is None or fraction is None or not least < fraction <= most:
        return None
    row, column = torch.nonzero(outside)[0].tolist()
    place = {
        "episode": int(it.demos.episode_of_step[row]),
        "step": int(it.demos.step_in_episode[row]),
        "column": column,
    }
    value = float(it.demos.executed_actions[row, column])
    return {**place, "fraction": fraction, "task": it.task, "value": value}


def _clipped(it: Subject) -> Found:
    """Actions known only as the env's bounds left them, where they often lie on a bound."""
    executed, raw = it.demos.executed_actions, it.demos.actions
    if it.out_of_bounds is None or it.spec is None or it.demos.num_steps == 0:
        return None
    if not (raw is None or torch.equal(raw, executed)):
        return None
    low, high = torch.from_numpy(it.spec.action_low), torch.from_numpy(it.spec.action_high)
    fraction = float(((executed <= low) | (executed >= high)).double().mean())
    return {"fraction": fraction, "task": it.task} if fraction > OFTEN else None


def _normalised(is_certain: bool, it: Subject) -> Found:
    """All columns that vary have mean ~0 and standard deviation ~1.

    Alone a suspicion; together with starts that no reset gives, certain enough to refuse. Starts
    that fit speak against it.
    """
    has_compared = it.reset_states is not None and not it.demos.is_thinned
    if has_compared != (it.strange_starts is not None) or has_compared != is_certain:
        return None
    states = it.demos.states[it.demos.states.isfinite().all(dim=1)].double()
    if len(states) < STATISTICAL_STEPS:
        return None
    mean, std = states.mean(dim=0), states.std(dim=0, correction=0)
    varies = std > 1e-6
    is_standard = (mean.abs() < 0.2) & ((std - 1).abs() < 0.25)
    # One column may be standard by chance; two or more, all of them, hardly.
    return {} if int(varies.sum()) >= 2 and bool(is_standard[varies].all()) else None


class Check(NamedTuple):
    """One kind of finding."""

    severity: Severity
    key: str
    find: Callable[[Subject], Found]
    message: str
    """Format string for the values found."""


_NON_FINITE = (
    "{number} in {name}, first {value} at episode {episode}, step {step}, column {column}: "
)
_LOOK_NORMALISED = (
    "every state column has mean 0 and standard deviation 1, so the states look normalised; store "
    "raw ones, the policy carries its own normaliser"
)
_OUT_OF_BOUNDS = (
    "{fraction:.1%} of the action entries are outside {task}'s bounds, first {value:.4g} at "
    "episode {episode}, step {step}, column {column}: "
)
_ANOTHER_ENV = "recorded in another env ({differences}): "

CHECKS = (
    Check(
        "warning",
        "few_episodes",
        _few_episodes,
        "{number} only; the result will depend on luck, bring {few} or more",
    ),
    Check(
        "error",
        "empty_episode",
        partial(_episodes_where, is_found=lambda episode: len(episode) == 0),
        "{episodes} without a single step; remove them",
    ),
    Check(
        "note",
        "unflagged_end",
        partial(
            _episodes_where,
            is_found=lambda e: len(e) > 0 and not (e.is_terminated or e.is_truncated),
        ),
        "{episodes} neither terminated nor truncated at the end; treated as cut off",
    ),
    Check(
        "warning",
        "duplicate_episode",
        _duplicates,
        "{episodes} repeat an earlier episode exactly, so there are {different} different "
        "demonstrations; remove the copies",
    ),
    Check(
        "warning",
        "few_pairs",
        _few_pairs,
        "{number} only; a discriminator can learn so few by heart, and its reward then says "
        "little. Use more trajectories, or more steps of each",
    ),
    Check(
        "error",
        "no_live_state",
        _no_live_state,
        "no state dim varies by more than {floor:g} (standard deviations up to {largest:.3g}), "
        "and dims that vary less are masked: a policy would see nothing. Rescale the "
        "observations, of demonstrations and env alike",
    ),
    Check(
        "warning",
        "small_scale",
        _small_scale,
        "state {dims} vary, with a standard deviation of at most {floor:g}, and are masked: "
        "neither policy nor J sees them. If they matter, rescale them, in demonstrations and env "
        "alike",
    ),
    *(
        Check(
            "error",
            "non_finite",
            partial(_non_finite, name),
            _NON_FINITE.replace("{name}", name)
            + "repair the source, or drop whole episodes with --drop-nonfinite",
        )
        for name in ("observations", "executed_actions", "actions", "next_observations")
    ),
    Check(
        "warning",
        "non_finite",
        partial(_non_finite, "rewards"),
        _NON_FINITE.replace("{name}", "rewards") + "returns are not known",
    ),
    Check(
        "warning",
        "low_return",
        _low_return,
        "episode {episode} has return {value:.2f}, half of all have {median:.2f} or more: a "
        "failed demonstration? Imitation copies it too",
    ),
    Check(
        "warning",
        "short_episode",
        _short_episode,
        "episode {episode} has {steps} steps, half of all have {median} or more: an early fall, "
        "or a cut?",
    ),
    Check(
        "warning",
        "other_states",
        _other_states,
        "episode {episode} is elsewhere than the others, {distance:.2f} standard deviations from "
        "their usual mean state, half of all are within {usual:.2f}: a failed demonstration? "
        "Imitation copies it too",
    ),
    Check(
        "warning",
        "jerky_actions",
        _jerky,
        "actions differ from one step to the next {relative:.2f} times as much as any two steps "
        "do: sampled actions instead of mean ones, or steps out of order?",
    ),
    Check("error", "state_dims", partial(_misfit, "state"), "{misfit}"),
    Check("error", "action_dims", partial(_misfit, "action"), "{misfit}"),
    Check(
        "warning",
        "longer_than_horizon",
        _longer_than_horizon,
        "episode {episode} has {steps} steps, {task} ends after {horizon}: another time limit, or "
        "two episodes joined?",
    ),
    Check(
        "error",
        "env_mismatch",
        partial(_env_mismatch, False),
        _ANOTHER_ENV + "wrong --task? If not, --allow-env-mismatch",
    ),
    Check("warning", "env_mismatch", partial(_env_mismatch, True), _ANOTHER_ENV + "used as asked"),
    Check(
        "warning",
        "unknown_env",
        _unknown_env,
        "does not say which env it is from; make sure it is {task}",
    ),
    Check(
        "error",
        "actions_out_of_bounds",
        partial(_out_of_bounds, MOSTLY, 1.0),
        _OUT_OF_BOUNDS + "other units, or another task?",
    ),
    Check(
        "warning",
        "actions_out_of_bounds",
        partial(_out_of_bounds, 0.0, MOSTLY),
        _OUT_OF_BOUNDS + "store the clipped actions as executed_actions, the others as actions",
    ),
    Check(
        "warning",
        "clipped_actions",
        _clipped,
        "{fraction:.0%} of the action entries lie on {task}'s bounds, and what the expert asked "
        "for beyond them is not known: a clone learns to stop at the bound. Store the unclipped "
        "actions too, where you have them",
    ),
    Check(
        "warning",
        "strange_starts",
        lambda it: it.strange_starts,
        "{outside} of {all} episodes do not begin like {task} (column {column} is {value:.4g} in "
        "episode {episode}, resets give {low:.4g} to {high:.4g}): another task, scaled states, "
        "cut starts?",
    ),
    Check("error", "normalised_states", partial(_normalised, True), _LOOK_NORMALISED),
    Check("warning", "normalised_states", partial(_normalised, False), _LOOK_NORMALISED),
    Check(
        "note",
        "executed_actions_only",
        lambda it: {} if it.demos.actions is None else None,
        "holds executed actions only, no raw ones; training then uses executed actions on both "
        "sides",
    ),
)
"""Every kind of finding, in the order of the report."""


def find(subject: Subject, keys: Collection[str] | None = None) -> list[Finding]:
    """Run all checks, or those of some keys; no finding, no problem."""
    findings = []
    for check in CHECKS:
        if keys is None or check.key in keys:
            found = check.find(subject)
            if found is not None:
                message = f"{subject.demos.source}: {check.message.format(**found)}"
                place = {name: found.get(name) for name in ("episode", "step", "column")}
                findings.append(Finding(check.severity, check.key, message, **place))
    return findings


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
