"""Runs side by side: one row per task and setting, over seeds, from fresh episodes.

    comparison = spacil.compare(["runs/sweep"])
    print(comparison.to_markdown())
    comparison.frame.groupby("label").average_return.median()

A comparison says what it rests on. Whatever is missing, damaged or not comparable is named:
`problems` are runs that are not in the numbers, `notes` what a reader of the numbers must know.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.comparison.demonstrator import Demonstrator, demonstrator_of
from spacil.comparison.published import Printed, published_return, published_smoothness
from spacil.comparison.runs import CURVE, MARGINS, MEASURES, rows_of_runs
from spacil.config.checks import whole_number
from spacil.errors import ConfigError, SpacilError
from spacil.measuring.margins import margins_of
from spacil.plain_text import shown
from spacil.policies.file import Which
from spacil.policies.open import open_policy
from spacil.runs.facts import task_to_play
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
_G, _J = "average_return", "smoothness_j_common"


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

    @property
    def earns_nothing(self) -> bool:
        return not self.runs[["average_return", "return_std"]].abs().to_numpy().any()

    def document(self) -> dict[str, Any]:
        records, first = self.runs.to_dict("records"), self.runs.iloc[0]
        names = ("task", "label", "algorithm", "seeds", "is_fresh")
        beside = ("better_return", "smoother", "published_return", "published_smoothness")
        found = {name: getattr(self, name) for name in beside}
        return {
            **{name: getattr(self, name) for name in names},
            "num_episodes": first.num_episodes,
            "common_frame": {"hash": first.frame_hash, "source": first.frame_source},
            "summaries": {name: one and asdict(one) for name, one in self.summaries.items()},
            **{name: one and asdict(one) for name, one in found.items()},
            "runs": [
                {name: run[name] for name in ("run_dir", "seed", "command", "commit")}
                | {"values": {name: run[name] for name in MEASURES}}
                for run in records
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
        document = {
            "which": self.which,
            "rows": [row.document() for row in self.rows],
            "aggregates": [asdict(aggregate) for aggregate in self.aggregates],
            "baselines": dict(self.baselines),
            "demonstrators": {task: asdict(found) for task, found in self.demonstrators.items()},
            "problems": list(self.problems),
            "notes": list(self.notes),
        }
        known: dict[str, Any] = storage.without_non_finite(document)
        return known

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
    sources: str | Path | Iterable[str | Path],
    *,
    which: Which = "best",
    baseline: str = BASELINE,
    margins: int = 0,
) -> Comparison:
    """Compare runs: run folders, folders of runs, and sweeps.

    `which` policy of each run; `baseline` is the algorithm, or the label of the row, that
    probabilities of improvement refer to. `margins`: episodes by which to measure how much later
    commands may come, and how much noise each policy bears; 0: that is not measured.
    """
    if which not in ("best", "last"):
        raise ConfigError(f"which is {which!r}, expected best or last")
    listed = [sources] if isinstance(sources, str | Path) else sources
    runs, points, problems = rows_of_runs(map(Path, listed), which)
    if not runs:
        return Comparison(pd.DataFrame(), pd.DataFrame(), (), which, {}, {}, (), (*problems,), ())
    frame, twice = _labelled(pd.DataFrame(runs))
    if margins := whole_number("margins", margins, 0):
        problems += _measure_margins(frame, which, margins)
    names = ["run_dir", "task", "label", "algorithm", "seed"]
    curves = frame[names].merge(pd.DataFrame(points, columns=["run_dir", *CURVE]), on="run_dir")
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
    return Comparison(
        frame,
        curves,
        tuple(rows),
        which,
        {
            row.task: found
            for row in rows
            if row.runs.demonstrator_return.notna().all() and (found := demonstrator_of(row.task))
        },
        baselines,
        tuple(_over_tasks(firsts, members, references)),
        (*problems, *twice, *missing),
        tuple(shown(note, 2_000) for note in notes),
    )


def _labelled(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Put the runs of one task and setting under one label; name runs that are there twice."""
    runs["group"] = runs.groupby(["task", "algorithm", "key"], sort=False).ngroup()
    first = runs.groupby(["group", "seed"]).run_dir.transform("first")
    twice = [
        shown(f"{path}: the same run as {other}; left out")
        for path, other in zip(runs.run_dir, first, strict=True)
        if path != other
    ]
    runs = runs[runs.run_dir == first].sort_values(["group", "seed"])
    runs = pd.concat([of_task for _, of_task in runs.groupby("task", sort=False)])
    # The algorithm, and those choices in which a run differs from its rivals: the settings of the
    # same task whose algorithm can make that choice at all.
    labels: dict[int, str] = {}
    for _, rivals in runs.drop_duplicates("group").groupby("task", sort=False):
        taken = set[str]()
        for run in rivals.itertuples():
            words = [
                f"{name}={text}"
                for name, text in run.choices.items()
                if any(
                    is_read(algorithm, name) and choices.get(name) != text
                    for algorithm, choices in zip(rivals.algorithm, rivals.choices, strict=True)
                )
            ]
            label = shown(" ".join([run.algorithm, *words]))
            if label in taken:  # the same settings on other demonstrations
                label += f" demos={str(run.demonstrations)[:8]}"
            taken.add(label)
            labels[run.group] = label
    runs.insert(2, "label", runs["group"].map(labels))
    return runs.drop(columns=["group", "key"]).reset_index(drop=True), twice


def _measure_margins(frame: pd.DataFrame, which: Which, num_episodes: int) -> list[str]:
    """Play the policy of every run later and noisier; the runs for which that cannot be done."""
    problems = []
    for index, run in frame.iterrows():
        path = Path(run.run_dir)
        try:
            found = margins_of(open_policy(path, which), task_to_play(run.task, path), num_episodes)
        except SpacilError as error:
            problems.append(shown(f"{path}: no margins: {error}"))
            continue
        if found is not None:  # else it earns no more than random actions
            for name, one in zip(MARGINS, (found.delay_steps, found.noise), strict=True):
                frame.loc[index, [name, f"{name}_low", f"{name}_high"]] = one.levels
    return problems


def _row(runs: pd.DataFrame, reference: pd.DataFrame | None) -> Row:
    """Sum up the runs of one row, beside those of the baseline of its task."""
    first, values = runs.iloc[0], {name: _values(runs, name) for name in MEASURES}
    better = smoother = None
    if reference is not None and reference is not runs:
        their_g, their_j = _values(reference, _G), _values(reference, _J)
        if values[_G] and their_g:
            better = improvement(values[_G], their_g)
        if values[_J] and their_j and _is_one_frame(runs, reference):
            smoother = improvement(their_j, values[_J])  # the lower one wins
    return Row(
        first.task,
        first.label,
        first.algorithm,
        runs,
        {name: summarize(known) if known else None for name, known in values.items()},
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
) -> list[Aggregate]:
    """Pool the rows of several tasks that are one setting.

    They are one if they differ alike from a preset of their tasks. Budgets count where a task has
    several. Files of demonstrations count by their names without the task's.
    """

    def words(first: Any, *left_out: str) -> str:
        choices = {k: text for k, text in first.choices.items() if k not in left_out}
        if "demos" in choices:
            choices["demos"] = Path(choices["demos"]).name.replace(first.task, "TASK")
        return " ".join([first.algorithm, *(f"{k}={v}" for k, v in sorted(choices.items()))])

    short = pd.Series([words(first, *BUDGETS) for first in firsts.itertuples()], firsts.index)
    whole = pd.Series([words(first) for first in firsts.itertuples()], firsts.index)
    has_several = short.groupby([firsts.task, short]).transform("size") > 1
    settings = whole.where(has_several.groupby(short).transform("any"), short)
    aggregates = []
    for setting, rows in firsts.groupby(settings, sort=False):
        if len(rows) < 2:
            continue
        label, tasks = shown(setting), rows.task
        pairs = [
            (members[task, own], references.get(task))
            for task, own in zip(tasks, rows.label, strict=True)
        ]
        shares = [_values(own, "return_share") for own, _ in pairs]
        share = interquartile_mean_over_tasks(shares) if all(shares) else None
        js = [
            (_values(own, _J), _values(reference, _J))
            for own, reference in pairs
            if reference is not None and _is_one_frame(own, reference)
        ]
        ratio = None
        if len(js) == len(pairs) and all(a and b and min(b) > 0 for a, b in js):
            ratio = interquartile_mean_over_tasks(*zip(*js, strict=True))
            if any(own is reference for own, reference in pairs):
                # Its own baseline: its runs are not two samples.
                ratio = replace(ratio, low=None, high=None)
        aggregates.append(Aggregate(label, (*tasks,), (*rows.label,), share, ratio))
    return aggregates


def _remarks(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Name seeds that only other rows have, and what makes numbers of a task mean two things."""
    problems, notes = [], []
    for task, runs in frame.groupby("task", sort=False):
        for label, own in runs.groupby("label", sort=False):
            name = f"{task}, {label}"
            missing = ", ".join(map(str, sorted({*runs.seed} - {*own.seed})))
            if missing and not runs.is_planned.any():  # a sweep names what is missing of its own
                problems.append(shown(f"{name}: no run of seed {missing}"))
            if not own.is_fresh.all():
                notes.append(
                    f"{name}: no fresh episodes; these are evaluations during training, and "
                    "flatter a policy picked by them. 95 % of the demonstrator's return counts "
                    "from 0. `spacil evaluate RUN --keep` plays fresh ones and keeps them"
                )
            if not own[["average_return", "return_std"]].abs().to_numpy().any():
                notes.append(
                    f"{name}: every episode earned 0, so G says nothing; the imitation score "
                    "compares the states visited with the demonstrated ones"
                )
            # To the last digit: seeds differ, in whatever they share.
            twins = own[own.duplicated([_G, _J, "return_std"], keep=False)].seed.tolist()
            if twins:
                notes.append(
                    f"{name}: seeds {', '.join(map(str, twins))} have the same numbers to the last "
                    "digit: copies of one run?"
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
        others = runs.label[runs.demonstrator_return.isna()].unique()
        if 0 < len(others) < runs.label.nunique():
            notes.append(
                f"{task}: the demonstrator shown recorded the bundled episodes; "
                f"{', '.join(others)} learned from others"
            )
    return problems, notes
