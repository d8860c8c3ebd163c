"""Runs side by side: one row per task and setting, over seeds, from fresh episodes.

    comparison = spacil.compare(["runs/sweep"])
    print(comparison.to_markdown())

A comparison says what it rests on. Whatever is missing, damaged or not comparable is named:
`problems` are runs that are not in the numbers, `notes` what a reader of the numbers must know.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from spacil.comparison.aggregate import Aggregate, aggregates_of
from spacil.comparison.comparison_remarks import missing_seeds, notes_on, notes_over_tasks
from spacil.comparison.demonstrator import Demonstrator
from spacil.comparison.found_runs import find_runs
from spacil.comparison.published import Printed, published_return, published_smoothness
from spacil.comparison.run_demonstrator import demonstrator_of_run, time_to_95
from spacil.comparison.run_groups import grouped, labels_of
from spacil.comparison.run_record import RunRecord, Which
from spacil.comparison.settings_over_tasks import settings_over_tasks
from spacil.comparison.statistics import Improvement, Summary, improvement, summarize
from spacil.errors import ConfigError

BASELINE = "gail"

EVALUATED = {
    "average_return": "G",
    "return_std": "std over episodes",
    "smoothness_j_common": "J common",
    "smoothness_j_effective": "J effective",
    "smoothness_j_own": "J own",
    "smoothness_j_raw": "J raw",
    "smoothness_j_demo_states": "J at demonstrated states",
    "smoothness_j_ball": "J by the paper's ascent",
    "smoothness_jeffreys": "Jeffreys divergence",
    "action_fluctuation": "action change",
    "spectrum_score": "spectrum score",
    "random_return": "G of random actions",
}
"""Numbers of one policy's episodes -> what tables call them"""
REACHED = {"steps_to_95": "steps to 95 %", "seconds_to_95": "seconds to 95 %"}
"""When the demonstrator's return was first reached; of training, not of fresh episodes"""
MEASURES = EVALUATED | REACHED


@dataclass(frozen=True)
class ComparedRun:
    """One run behind a row."""

    record: RunRecord
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Row:
    """One setting on one task, over seeds."""

    task: str
    label: str
    algorithm: str
    runs: tuple[ComparedRun, ...]
    """By seed"""
    summaries: Mapping[str, Summary | None]
    """None where some run has no such number"""
    demonstrator: Demonstrator | None
    """Whose episodes all its runs learned from; None where it is not one we know"""
    better_return: Improvement | None = None
    """P(a run's return is above that of a run of the baseline); None for the baseline itself"""
    smoother: Improvement | None = None
    """P(a run's J, common frame, is below); None where the frames are different ones"""

    @property
    def seeds(self) -> list[int]:
        return [run.record.seed for run in self.runs]

    @property
    def is_fresh(self) -> bool:
        return all(run.record.is_fresh for run in self.runs)

    @property
    def frames(self) -> set[str]:
        """Hashes of the common frames that its J is in, where its folders say so."""
        found = (run.record.frame_hash for run in self.runs)
        return {frame for frame in found if frame is not None}

    def is_j_comparable(self, other: "Row") -> bool:
        """Whether no two runs say that their J is in different frames."""
        return len(self.frames | other.frames) < 2

    @property
    def published_return(self) -> Printed | None:
        return published_return(self.task, self.algorithm)

    @property
    def published_smoothness(self) -> Printed | None:
        return published_smoothness(self.task, self.algorithm)


@dataclass(frozen=True)
class Comparison:
    """What `spacil compare` shows."""

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

    def rows_of(self, task: str) -> list[Row]:
        return [row for row in self.rows if row.task == task]

    def is_baseline(self, row: Row) -> bool:
        return self.baselines.get(row.task) == row.label

    def document(self) -> dict[str, Any]:
        """Everything, JSON-able; every number with its run, command and commit."""
        return {
            "which": self.which,
            "rows": [_row_document(row) for row in self.rows],
            "aggregates": [asdict(aggregate) for aggregate in self.aggregates],
            "baselines": dict(self.baselines),
            "demonstrators": {task: asdict(found) for task, found in self.demonstrators.items()},
            "problems": list(self.problems),
            "notes": list(self.notes),
        }

    def to_markdown(self) -> str:
        return self._rendered("markdown")

    def to_csv(self) -> str:
        return self._rendered("csv")

    def to_latex(self) -> str:
        return self._rendered("latex")

    def _repr_markdown_(self) -> str:  # how a notebook shows it
        return self.to_markdown()

    def __str__(self) -> str:
        return self._rendered("table")

    def _rendered(self, form: str) -> str:
        from spacil.comparison.comparison_text import FORMS

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
    listed = [sources] if isinstance(sources, str | Path) else list(sources)
    records, problems = find_runs([Path(source) for source in listed])
    groups, twice = grouped(records)
    labels = labels_of(groups)
    tasks = dict.fromkeys(group[0].task for group in groups)
    rows = [_row(group, label, which) for group, label in zip(groups, labels, strict=True)]
    baselines = {task: row for task in tasks if (row := _baseline(rows, task, baseline))}
    if not baselines and rows and baseline != BASELINE:
        names = dict.fromkeys(name for row in rows for name in (row.algorithm, row.label))
        raise ConfigError(f"baseline {baseline!r} is no row: expected one of {', '.join(names)}")
    rows = [_beside(row, baselines.get(row.task)) for row in rows]
    settings = settings_over_tasks(rows)
    return Comparison(
        tuple(rows),
        which,
        {row.task: row.demonstrator for row in rows if row.demonstrator is not None},
        {task: row.label for task, row in baselines.items()},
        tuple(aggregates_of(settings, baselines)),
        (*problems, *twice, *missing_seeds(rows)),
        (*notes_on(rows), *notes_over_tasks(settings)),
    )


def _row(group: Sequence[RunRecord], label: str, which: Which) -> Row:
    runs = tuple(ComparedRun(record, _values(record, which)) for record in group)
    summaries: dict[str, Summary | None] = {}
    for name in MEASURES:
        values = [run.values[name] for run in runs]
        known = [value for value in values if value is not None]
        summaries[name] = summarize(known) if len(known) == len(values) else None
    return Row(
        group[0].task, label, group[0].algorithm, runs, summaries, _demonstrator_of_all(group)
    )


def _demonstrator_of_all(group: Sequence[RunRecord]) -> Demonstrator | None:
    first, *others = (demonstrator_of_run(record) for record in group)
    return first if all(other is first for other in others) else None


def _values(record: RunRecord, which: Which) -> dict[str, float | None]:
    row = record.evaluated(which)
    values = {name: row.get(name) for name in EVALUATED}
    return values | time_to_95(record, row.get("random_return"))


def _baseline(rows: Sequence[Row], task: str, name: str) -> Row | None:
    """The row of this label; else the first one of this algorithm."""
    rivals = [row for row in rows if row.task == task]
    named = [row for row in rivals if row.label == name]
    return next(iter([*named, *(row for row in rivals if row.algorithm == name)]), None)


def _beside(row: Row, baseline: Row | None) -> Row:
    """The row with its probabilities of improvement over the baseline of its task."""
    if baseline is None or baseline is row:
        return row

    def column(of: Row, name: str, sign: int) -> list[float] | None:
        values = [run.values[name] for run in of.runs]
        known = [sign * value for value in values if value is not None]
        return known if len(known) == len(values) else None

    def probability(name: str, sign: int) -> Improvement | None:
        ours, theirs = column(row, name, sign), column(baseline, name, sign)
        return None if ours is None or theirs is None else improvement(ours, theirs)

    return replace(
        row,
        better_return=probability("average_return", 1),
        smoother=probability("smoothness_j_common", -1) if row.is_j_comparable(baseline) else None,
    )


def _row_document(row: Row) -> dict[str, Any]:
    def plain(found: Any) -> Any:
        return None if found is None else asdict(found)

    first = row.runs[0].record
    return {
        "task": row.task,
        "label": row.label,
        "algorithm": row.algorithm,
        "seeds": row.seeds,
        "is_fresh": row.is_fresh,
        "num_episodes": first.best.get("num_episodes"),
        "common_frame": {"hash": first.frame_hash, "source": first.frame_source},
        "summaries": {name: plain(summary) for name, summary in row.summaries.items()},
        "better_return": plain(row.better_return),
        "smoother": plain(row.smoother),
        "published_return": plain(row.published_return),
        "published_smoothness": plain(row.published_smoothness),
        "runs": [
            {
                "run_dir": str(run.record.path),
                "seed": run.record.seed,
                "command": run.record.command,
                "commit": run.record.commit,
                "values": dict(run.values),
            }
            for run in row.runs
        ],
    }
