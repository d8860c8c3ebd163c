"""Runs side by side: one row per task and setting, over seeds, from fresh episodes.

    comparison = spacil.compare(["runs/sweep"])
    print(comparison.to_markdown())
    comparison.frame.groupby("label").average_return.median()

A comparison says what it rests on. Whatever is missing, damaged or not comparable is named:
`problems` are runs that are not in the numbers, `notes` what a reader of the numbers must know.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spacil.comparison.demonstrator import Demonstrator, demonstrator_of
from spacil.comparison.published import Printed, published_return, published_smoothness
from spacil.comparison.runs import MEASURES, Which, rows_of_runs
from spacil.errors import ConfigError
from spacil.plain_text import shown
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
    better_return: Improvement | None = None
    """P(a run's return is above that of a run of the baseline); None for the baseline itself"""
    smoother: Improvement | None = None
    """P(a run's J, common frame, is below); None where the frames are different ones"""

    @property
    def seeds(self) -> list[int]:
        return list(map(int, self.runs.seed))

    @property
    def is_fresh(self) -> bool:
        return bool(self.runs.is_fresh.all())

    def values(self, name: str) -> list[float] | None:
        """One measure of all its runs; None where some run has no such number."""
        column = self.runs[name]
        return None if column.isna().any() else [float(value) for value in column]

    def is_j_comparable(self, other: "Row") -> bool:
        """Whether no two runs say that their J is in different frames."""
        return int(pd.concat([self.runs.frame_hash, other.runs.frame_hash]).nunique()) < 2

    def beside(self, baseline: "Row | None") -> "Row":
        """The row with its probabilities of improvement over the baseline of its task."""
        if baseline is None or baseline is self:
            return self

        def probability(name: str, *, lower_is_better: bool = False) -> Improvement | None:
            ours, theirs = self.values(name), baseline.values(name)
            if ours is None or theirs is None:
                return None
            return improvement(theirs, ours) if lower_is_better else improvement(ours, theirs)

        smoother = probability("smoothness_j_common", lower_is_better=True)
        is_comparable = self.is_j_comparable(baseline)
        better = probability("average_return")
        return replace(self, better_return=better, smoother=smoother if is_comparable else None)

    @property
    def published_return(self) -> Printed | None:
        return published_return(self.task, self.algorithm)

    @property
    def published_smoothness(self) -> Printed | None:
        return published_smoothness(self.task, self.algorithm)

    def document(self) -> dict[str, Any]:
        first, names = self.runs.iloc[0], ("task", "label", "algorithm", "seeds", "is_fresh")
        frame = {name: _plain(first[f"frame_{name}"]) for name in ("hash", "source")}
        beside = ("better_return", "smoother", "published_return", "published_smoothness")
        found = {name: getattr(self, name) for name in beside}
        return {
            **{name: getattr(self, name) for name in names},
            "num_episodes": _plain(first.num_episodes),
            "common_frame": frame,
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

    def is_baseline(self, row: Row) -> bool:
        return self.baselines.get(row.task) == row.label

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

    def to_csv(self) -> str:
        return self.rendered("csv")

    def to_latex(self) -> str:
        return self.rendered("latex")

    def _repr_markdown_(self) -> str:  # how a notebook shows it
        return self.to_markdown()

    def __str__(self) -> str:
        return self.rendered("table")

    def rendered(self, form: str) -> str:
        from spacil.comparison.tables import FORMS

        return FORMS[form](self)


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
    frame, twice = _grouped(pd.DataFrame(runs)) if runs else (pd.DataFrame(), [])
    names = ["run_dir", "task", "label", "algorithm", "seed"]
    curves = frame[names].merge(pd.DataFrame(points), on="run_dir") if points else pd.DataFrame()
    groups = frame.groupby("group", sort=False) if runs else ()
    rows = [_row(members) for _, members in groups]
    baselines: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.label != baseline):  # a label, else an algorithm
        if baseline in (row.label, row.algorithm):
            baselines.setdefault(row.task, row)
    if not baselines and rows and baseline != BASELINE:
        known = dict.fromkeys(name for row in rows for name in (row.algorithm, row.label))
        raise ConfigError(f"baseline {baseline!r} is no row: expected one of {', '.join(known)}")
    settings = _settings_over_tasks(rows)
    return Comparison(
        frame.drop(columns=["group", "key"], errors="ignore"),
        curves,
        tuple(row.beside(baselines.get(row.task)) for row in rows),
        which,
        {row.task: row.demonstrator for row in rows if row.demonstrator is not None},
        {task: row.label for task, row in baselines.items()},
        tuple(
            Aggregate(
                label,
                tuple(row.task for row in members),
                tuple(row.label for row in members),
                _normalized_return(members),
                _j_ratio(members, baselines),
            )
            for label, members in settings
            if len(members) > 1
        ),
        (*problems, *twice, *_missing_seeds(rows)),
        tuple(shown(note, 2_000) for note in (*_notes(rows), *_notes_over_tasks(settings))),
    )


# --- rows


def _grouped(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Add the columns `group`, by task and setting, and `label`; name runs that are there twice."""
    runs["group"] = runs.groupby(["task", "algorithm", "key"], sort=False).ngroup()
    # Where a seed is there twice, demonstrations may tell the runs apart. Not elsewhere: with noise
    # on its observations every seed learns from its own.
    is_twice = runs.duplicated(["group", "seed"]).groupby(runs["group"]).transform("any")
    own = runs.demonstrations.fillna("unknown").str[:8]
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
    labels = _labels(runs.drop_duplicates("group").to_dict("records"))
    runs.insert(2, "label", runs["group"].map(labels))
    return runs.reset_index(drop=True), twice


def _labels(firsts: Sequence[Mapping[Any, Any]]) -> dict[int, str]:
    """The algorithm of each group, and those choices in which it differs from its rivals.

    Rivals are the groups of the same task whose algorithm can make that choice at all.
    """
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
    return labels


def _row(runs: pd.DataFrame) -> Row:
    first = runs.iloc[0]
    has_known = runs.demonstrator_return.notna().all()
    known = demonstrator_of(first.task) if has_known else None
    row = Row(first.task, first.label, first.algorithm, runs, {}, known)
    values = {name: row.values(name) for name in MEASURES}
    summaries = {name: None if v is None else summarize(v) for name, v in values.items()}
    return replace(row, summaries=summaries)


# --- over tasks

Settings = Sequence[tuple[str, Sequence[Row]]]
"""Label of each setting, and its rows, one per task"""


def _settings_over_tasks(rows: Sequence[Row]) -> Settings:
    """Rows of several tasks are one setting if they differ alike from a preset of their tasks.

    Labels do not matter: they only tell the rows of one task apart. Budgets do where a task has
    several. Files of demonstrations count by their names without the task's.
    """

    def key(row: Row, *left_out: str) -> tuple[str, ...]:
        first = row.runs.iloc[0]
        choices = {k: text for k, text in first.choices.items() if k not in left_out}
        if "demos" in choices:
            choices["demos"] = Path(choices["demos"]).name.replace(row.task, "TASK")
        return (row.algorithm, *(f"{name}={text}" for name, text in sorted(choices.items())))

    has_several = {
        k for (_, k), n in Counter((r.task, key(r, *BUDGETS)) for r in rows).items() if n > 1
    }
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        short = key(row, *BUDGETS)
        groups.setdefault(key(row) if short in has_several else short, []).append(row)
    settings = []
    for words, members in groups.items():
        labels = {row.label for row in members}
        others = {row.label for other in groups.values() if other is not members for row in other}
        is_unique = len(labels) == 1 and not labels & others
        settings.append((labels.pop() if is_unique else shown(" ".join(words)), members))
    return settings


def _normalized_return(members: Sequence[Row]) -> Summary | None:
    known = [share for row in members if (share := row.values("return_share")) is not None]
    return interquartile_mean_over_tasks(known) if len(known) == len(members) else None


def _j_ratio(members: Sequence[Row], baselines: Mapping[str, Row]) -> Summary | None:
    """Without an interval where a setting is its own baseline: its runs are not two samples."""
    ours, theirs = [], []
    for row in members:
        baseline = baselines.get(row.task)
        if baseline is None or not row.is_j_comparable(baseline):
            return None
        values = row.values("smoothness_j_common")
        references = baseline.values("smoothness_j_common")
        if values is None or references is None or min(references) <= 0:
            return None
        ours.append(values)
        theirs.append(references)
    summary = interquartile_mean_over_tasks(ours, theirs)
    is_its_own = any(baselines[row.task] is row for row in members)
    return replace(summary, low=None, high=None) if is_its_own else summary


# --- what a reader must know


def _missing_seeds(rows: Sequence[Row]) -> list[str]:
    """Seeds that other rows of the task have; a sweep plans its own and names what is missing."""
    problems = []
    for task in dict.fromkeys(row.task for row in rows):
        of_task = [row for row in rows if row.task == task]
        if not any(row.runs.is_planned.any() for row in of_task):
            wanted = {seed for row in of_task for seed in row.seeds}
            for row in of_task:
                if missing := sorted(wanted - set(row.seeds)):
                    listed = ", ".join(map(str, missing))
                    problems.append(shown(f"{task}, {row.label}: no run of seed {listed}"))
    return problems


def _notes(rows: Sequence[Row]) -> list[str]:
    """Everything that makes two numbers of one task mean different things."""
    notes = []
    for row in rows:
        name = f"{row.task}, {row.label}"
        if not row.is_fresh:
            notes.append(
                f"{name}: no fresh episodes; these are the evaluations that the best policy was "
                "picked by, which flatter it, and 95 % of the demonstrator's return counts from 0"
            )
        if row.runs.demonstrations.nunique() > 1:
            notes.append(f"{name}: seeds learned from different demonstrations")
    for task in dict.fromkeys(row.task for row in rows):
        of_task = [row for row in rows if row.task == task]
        runs = pd.concat([row.runs for row in of_task])
        if runs.frame_hash.nunique() > 1:
            frames = runs.frame_hash.fillna("unknown").str[:8].groupby(runs.label, sort=False)
            told = "; ".join(f"{label} {', '.join(of.unique())}" for label, of in frames)
            notes.append(
                f"{task}: J (common, effective) is in different frames and cannot be compared "
                f"between them: {told}"
            )
        others = [row.label for row in of_task if row.demonstrator is None]
        if 0 < len(others) < len(of_task):
            notes.append(
                f"{task}: the demonstrator shown recorded the bundled episodes; "
                f"{', '.join(others)} learned from others"
            )
        numbers = sorted(runs.num_episodes[runs.is_fresh].unique())
        if len(numbers) > 1:
            told = ", ".join(f"{number:g}" for number in numbers)
            notes.append(f"{task}: runs have different numbers of fresh episodes: {told}")
    return notes


def _notes_over_tasks(settings: Settings) -> list[str]:
    """Settings with several budgets, and several settings of one label."""
    notes = []
    for label, members in settings:
        budgets = [[row.runs.choices.iloc[0].get(name) for name in BUDGETS] for row in members]
        if any(budget != budgets[0] for budget in budgets):
            told = "; ".join(f"{row.task} {row.runs.iterations.iloc[0]}" for row in members)
            notes.append(f"over tasks, {label} has iterations for each: {told}")
    for label in dict.fromkeys(row.label for _, members in settings for row in members):
        found = [[row.task for row in members if row.label == label] for _, members in settings]
        if len(tasks := [", ".join(some) for some in found if some]) > 1:
            apart = " and ".join(tasks)
            notes.append(f"over tasks, {label} is another setting on {apart}, which are not pooled")
    return notes


def _plain(value: Any) -> Any:
    """A cell of the frame for JSON: None where it is not known, whole numbers as such."""
    if pd.isna(value):
        return None
    return int(value) if not isinstance(value, str) and float(value).is_integer() else value
