"""Runs side by side: one row per task and setting, over seeds, from fresh episodes.

    comparison = spacil.compare(["runs/sweep"])
    print(comparison.to_markdown())
    comparison.frame.groupby("label").average_return.median()

A comparison says what it rests on. Whatever is missing, damaged or not comparable is named:
`problems` are runs that are not in the numbers, `notes` what a reader of the numbers must know.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spacil.comparison.demonstrator import Demonstrator, demonstrator_of
from spacil.comparison.published import Printed, published_return, published_smoothness
from spacil.comparison.runs import MEASURES, rows_of_runs
from spacil.errors import ConfigError
from spacil.plain_text import shown
from spacil.policies.file import Which
from spacil.sweeps.plan import is_read

try:
    import pandas as pd

    from spacil.comparison.statistics import (
        Improvement,
        Summary,
        improvement,
        interquartile_mean_over_tasks,
        summarize,
    )
except ModuleNotFoundError as missing:
    raise ConfigError(
        f"comparing runs needs {missing.name}: pip install 'spacil[report]'"
    ) from None

BASELINE = "gail"
BUDGETS = ("iterations", "steps_per_iteration")
"""Settings that a task may have for itself, where rows of several tasks are one setting"""
_ORIGIN = ("run_dir", "seed", "command", "commit")


@dataclass(frozen=True, eq=False)
class Row:
    """One setting on one task, over seeds."""

    task: str
    label: str
    algorithm: str
    runs: pd.DataFrame
    """Rows of the comparison's frame, by seed"""
    summaries: Mapping[str, Summary | None]
    """Each measure over the seeds; None where some run has no such number"""
    demonstrator: Demonstrator | None
    """Whose episodes all its runs learned from; None where it is not one we know"""
    better_return: Improvement | None
    """P(a run's return is above that of a run of the baseline); None for the baseline itself"""
    smoother: Improvement | None
    """P(a run's J, common frame, is below); None where the frames are different ones"""
    published_return: Printed | None
    published_smoothness: Printed | None

    @property
    def seeds(self) -> list[int]:
        return list(map(int, self.runs.seed))

    @property
    def is_fresh(self) -> bool:
        return bool(self.runs.is_fresh.all())

    def document(self) -> dict[str, Any]:
        first, names = self.runs.iloc[0], ("task", "label", "algorithm", "seeds", "is_fresh")
        beside = ("better_return", "smoother", "published_return", "published_smoothness")
        found = {name: getattr(self, name) for name in beside}
        return {
            **{name: getattr(self, name) for name in names},
            "num_episodes": _plain(first.num_episodes),
            "common_frame": {name: _plain(first[f"frame_{name}"]) for name in ("hash", "source")},
            "summaries": {name: one and asdict(one) for name, one in self.summaries.items()},
            **{name: one and asdict(one) for name, one in found.items()},
            "runs": [
                {
                    **{name: _plain(run[name]) for name in _ORIGIN},
                    "values": {name: _plain(run[name]) for name in MEASURES},
                }
                for run in self.runs.to_dict("records")
            ],
        }


@dataclass(frozen=True)
class Aggregate:
    """A setting over its tasks; keys are stable. Its numbers compare between tasks.

    Intervals are those of the IQM; None where a task, or its baseline, has one run only.
    """

    label: str
    tasks: tuple[str, ...]
    row_labels: tuple[str, ...]
    """Label of its row on each of the tasks"""
    normalized_return: Summary | None
    """(G - random) / (demonstrator - random): 0 is acting at random, 1 is the demonstrator"""
    j_ratio: Summary | None
    """J / mean J of the task's baseline; None where a task has none, or one in another frame"""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `spacil compare` shows."""

    frame: pd.DataFrame
    """One row per run: settings, numbers, and where they are from"""
    curves: pd.DataFrame
    """One row per evaluation during training"""
    rows: tuple[Row, ...]
    which: Which
    demonstrators: Mapping[str, Demonstrator]
    """By task, where known and some row learned from its episodes"""
    baselines: Mapping[str, str]
    """By task, where there is one: the label of the row that probabilities and ratios refer to"""
    aggregates: tuple[Aggregate, ...]
    """Settings over all their tasks, where they are there on several"""
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(row.task for row in self.rows))

    def levels(self, task: str) -> dict[str, float]:
        """Returns to draw across a chart of a task."""
        known = self.demonstrators.get(task)
        return {} if known is None else {"demonstrator": known.average_return}

    @property
    def remarks(self) -> list[str]:
        """What is missing, and what a reader must know; each is one printable line."""
        missing = [f"missing: {problem}" for problem in self.problems]
        return missing + [f"note: {note}" for note in self.notes]

    def document(self) -> dict[str, Any]:
        """Everything, JSON-able; every number with its run, command and commit."""
        return {
            "which": self.which,
            "rows": [row.document() for row in self.rows],
            "aggregates": [asdict(aggregate) for aggregate in self.aggregates],
            "baselines": dict(self.baselines),
            "demonstrators": {task: asdict(found) for task, found in self.demonstrators.items()},
            "problems": list(self.problems),
            "notes": list(self.notes),
        }

    def to_markdown(self) -> str:
        return self.rendered("markdown")

    _repr_markdown_ = to_markdown  # how a notebook shows it

    def to_csv(self) -> str:
        return self.rendered("csv")

    def to_latex(self) -> str:
        return self.rendered("latex")

    def __str__(self) -> str:
        return self.rendered("table")

    def rendered(self, form: str) -> str:
        from spacil.comparison.tables import rendered

        return rendered(self, form)


def compare(
    sources: str | Path | Iterable[str | Path], *, which: Which = "best", baseline: str = BASELINE
) -> Comparison:
    """Compare runs: run folders, folders of runs, and sweeps.

    `which` policy of each run; `baseline` is the algorithm, or the label of the row, that
    probabilities of improvement refer to.
    """
    if which not in ("best", "last"):
        raise ConfigError(f"which is {which!r}, expected best or last")
    listed = [sources] if isinstance(sources, str | Path) else sources
    runs, points, problems = rows_of_runs(map(Path, listed), which)
    if not runs:
        return Comparison(pd.DataFrame(), pd.DataFrame(), (), which, {}, {}, (), (*problems,), ())
    frame, twice = _labelled(pd.DataFrame(runs))
    names = ["run_dir", "task", "label", "algorithm", "seed"]
    curves = frame[names].merge(pd.DataFrame(points), on="run_dir") if points else pd.DataFrame()
    firsts = frame.drop_duplicates(["task", "label"])
    baselines: dict[str, str] = {}
    for column in ("algorithm", "label"):  # a label goes before an algorithm
        asked_for = firsts[firsts[column] == baseline].drop_duplicates("task")
        baselines |= zip(asked_for.task, asked_for.label, strict=True)
    if not baselines and baseline != BASELINE:
        known = pd.unique(firsts[["algorithm", "label"]].to_numpy().ravel())
        raise ConfigError(f"baseline {baseline!r} is no row: expected one of {', '.join(known)}")
    members = dict(iter(frame.groupby(["task", "label"], sort=False)))
    references = {task: members[task, label] for task, label in baselines.items()}
    rows = [_row(own, references.get(task)) for (task, _), own in members.items()]
    missing, notes = _remarks(frame)
    aggregates, notes_over_tasks = _over_tasks(firsts, members, references)
    return Comparison(
        frame,
        curves,
        tuple(rows),
        which,
        {row.task: row.demonstrator for row in rows if row.demonstrator is not None},
        baselines,
        tuple(aggregates),
        (*problems, *twice, *missing),
        tuple(shown(note, 2_000) for note in notes + notes_over_tasks),
    )


def _labelled(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Put the runs of one task and setting under one label; name runs that are there twice."""
    runs["group"] = runs.groupby(["task", "algorithm", "key"], sort=False).ngroup()
    # Where a seed is there twice, demonstrations may tell the runs apart. Not elsewhere: with noise
    # on its observations every seed learns from its own.
    own = runs.demonstrations.fillna("unknown").str[:8]
    is_twice = runs.duplicated(["group", "seed"]).groupby(runs["group"]).transform("any")
    is_twice &= own.groupby(runs["group"]).transform("nunique") > 1
    runs["choices"] = [
        choices | {"demos": data} if apart else choices
        for choices, data, apart in zip(runs.choices, own, is_twice, strict=True)
    ]
    runs["group"] = runs.groupby([runs["group"], own.where(is_twice, "")], sort=False).ngroup()
    first = runs.groupby(["group", "seed"]).run_dir.transform("first")
    is_twice = runs.duplicated(["group", "seed"])
    twice = [
        shown(f"{path}: the same run as {other}; left out")
        for path, other in zip(runs.run_dir[is_twice], first[is_twice], strict=True)
    ]
    runs = runs[~is_twice].sort_values(["group", "seed"])
    runs = pd.concat([of_task for _, of_task in runs.groupby("task", sort=False)])
    # The algorithm, and those choices in which a run differs from its rivals: the settings of the
    # same task whose algorithm can make that choice at all.
    firsts = runs.drop_duplicates("group").to_dict("records")
    labels: dict[int, str] = {}
    named = Counter[tuple[str, str]]()
    for run in firsts:
        rivals = [other for other in firsts if other["task"] == run["task"]]
        words = [
            f"{name}={text}"
            for name, text in run["choices"].items()
            if any(
                is_read(rival["algorithm"], name) and rival["choices"].get(name) != text
                for rival in rivals
            )
        ]
        label = shown(" ".join([run["algorithm"], *words]))
        named[run["task"], label] += 1
        again = named[run["task"], label]  # a sweep may plan what another run has by itself
        labels[run["group"]] = label if again == 1 else f"{label} #{again}"
    runs.insert(2, "label", runs["group"].map(labels))
    return runs.drop(columns=["group", "key"]).reset_index(drop=True), twice


def _row(runs: pd.DataFrame, reference: pd.DataFrame | None) -> Row:
    """Sum up the runs of one row, beside those of the baseline of its task."""
    first = runs.iloc[0]
    has_known = runs.demonstrator_return.notna().all()
    values = {name: _values(runs, name) for name in MEASURES}
    better = smoother = None
    if reference is not None and reference is not runs:
        g, j = values["average_return"], values["smoothness_j_common"]
        their_g, their_j = (
            _values(reference, n) for n in ("average_return", "smoothness_j_common")
        )
        better = improvement(g, their_g) if g and their_g else None
        if j and their_j and _is_one_frame(runs, reference):
            smoother = improvement(their_j, j)  # the lower one wins
    return Row(
        first.task,
        first.label,
        first.algorithm,
        runs,
        {name: summarize(known) if known else None for name, known in values.items()},
        demonstrator_of(first.task) if has_known else None,
        better,
        smoother,
        published_return(first.task, first.algorithm),
        published_smoothness(first.task, first.algorithm),
    )


def _values(runs: pd.DataFrame, name: str) -> list[float]:
    """One measure of all runs; empty where some run has no such number."""
    column = runs[name]
    return [] if column.isna().any() else [float(value) for value in column]


def _is_one_frame(runs: pd.DataFrame, others: pd.DataFrame) -> bool:
    """Whether no two runs say that their J is in different frames."""
    return len({*runs.frame_hash.dropna(), *others.frame_hash.dropna()}) < 2


def _over_tasks(
    firsts: pd.DataFrame,
    members: Mapping[tuple[str, str], pd.DataFrame],
    references: Mapping[str, pd.DataFrame],
) -> tuple[list[Aggregate], list[str]]:
    """Pool the rows of several tasks that are one setting, and say what a reader may not expect.

    They are one if they differ alike from a preset of their tasks. Labels do not matter: they only
    tell the rows of one task apart. Budgets do where a task has several. Files of demonstrations
    count by their names without the task's.
    """

    def words(first: Any, *left_out: str) -> str:
        choices = {k: text for k, text in first.choices.items() if k not in left_out}
        if "demos" in choices:
            choices["demos"] = Path(choices["demos"]).name.replace(first.task, "TASK")
        return " ".join([first.algorithm, *(f"{k}={v}" for k, v in sorted(choices.items()))])

    short = pd.Series([words(first, *BUDGETS) for first in firsts.itertuples()], firsts.index)
    whole = pd.Series([words(first) for first in firsts.itertuples()], firsts.index)
    has_several = short.groupby([firsts.task, short]).transform("size") > 1
    setting = whole.where(has_several.groupby(short).transform("any"), short)
    firsts = firsts.assign(setting=setting)
    names = firsts.groupby("label").setting.nunique()
    aggregates, notes = [], []
    for key, rows in firsts.groupby("setting", sort=False):
        label = rows.label.iloc[0]
        is_unique = rows.label.nunique() == 1 and names[label] == 1
        label = label if is_unique else shown(key)
        if len(rows) > 1:
            runs = {
                task: members[task, own] for task, own in zip(rows.task, rows.label, strict=True)
            }
            share = [_values(own, "return_share") for own in runs.values()]
            normalized = interquartile_mean_over_tasks(share) if all(share) else None
            ratio = _j_ratio(runs, references)
            aggregates.append(Aggregate(label, (*rows.task,), (*rows.label,), normalized, ratio))
        if len({tuple(map(choices.get, BUDGETS)) for choices in rows.choices}) > 1:
            told = "; ".join(map("{} {}".format, rows.task, rows.iterations))
            notes.append(f"over tasks, {label} has iterations for each: {told}")
    for label, rows in firsts.groupby("label", sort=False):
        if names[label] > 1:
            tasks = rows.groupby("setting", sort=False).task.agg(", ".join)
            apart = " and ".join(tasks)
            notes.append(f"over tasks, {label} is another setting on {apart}, which are not pooled")
    return aggregates, notes


def _j_ratio(
    runs: Mapping[str, pd.DataFrame], references: Mapping[str, pd.DataFrame]
) -> Summary | None:
    """Without an interval where a setting is its own baseline: its runs are not two samples."""
    pairs = [(own, references.get(task)) for task, own in runs.items()]
    ours, theirs = [], []
    for own, reference in pairs:
        if reference is None or not _is_one_frame(own, reference):
            return None
        ours.append(_values(own, "smoothness_j_common"))
        theirs.append(_values(reference, "smoothness_j_common"))
        if not ours[-1] or not theirs[-1] or min(theirs[-1]) <= 0:
            return None
    summary = interquartile_mean_over_tasks(ours, theirs)
    is_its_own = any(own is reference for own, reference in pairs)
    return replace(summary, low=None, high=None) if is_its_own else summary


def _remarks(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Name seeds that only other rows have, and what makes numbers of a task mean two things."""
    problems, notes = [], []
    for task, runs in frame.groupby("task", sort=False):
        rows = list(runs.groupby("label", sort=False))
        for label, own in rows:
            name = f"{task}, {label}"
            missing = sorted({*runs.seed} - {*own.seed})
            if missing and not runs.is_planned.any():  # a sweep names what is missing of its own
                listed = ", ".join(map(str, missing))
                problems.append(shown(f"{name}: no run of seed {listed}"))
            if not own.is_fresh.all():
                notes.append(
                    f"{name}: no fresh episodes; these are the evaluations that the best policy "
                    "was picked by, which flatter it, and 95 % of the demonstrator's return counts "
                    "from 0"
                )
            if own.demonstrations.nunique() > 1:
                notes.append(f"{name}: seeds learned from different demonstrations")
        if runs.frame_hash.nunique() > 1:
            frames = runs.frame_hash.fillna("unknown").str[:8].groupby(runs.label, sort=False)
            told = "; ".join(f"{label} {', '.join(of.unique())}" for label, of in frames)
            notes.append(
                f"{task}: J (common, effective) is in different frames and cannot be compared "
                f"between them: {told}"
            )
        others = [label for label, own in rows if own.demonstrator_return.isna().any()]
        if 0 < len(others) < len(rows):
            notes.append(
                f"{task}: the demonstrator shown recorded the bundled episodes; "
                f"{', '.join(others)} learned from others"
            )
        numbers = sorted(runs.num_episodes[runs.is_fresh].unique())
        if len(numbers) > 1:
            told = ", ".join(f"{number:g}" for number in numbers)
            notes.append(f"{task}: runs have different numbers of fresh episodes: {told}")
    return problems, notes


def _plain(value: Any) -> Any:
    """A cell of the frame for JSON: None where it is not known, whole numbers as such."""
    if pd.isna(value):
        return None
    return int(value) if not isinstance(value, str) and float(value).is_integer() else value
