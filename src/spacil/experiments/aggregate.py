"""One number for several tasks: scores that compare between tasks, pooled over all their runs.

A return counts as (G - random) / (demonstrator - random): 0 is acting at random, 1 is the
demonstrator. J counts as a ratio to the mean J of the task's baseline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacil.experiments.demonstrator import Demonstrator, share
from spacil.experiments.statistics import Summary, interquartile_mean_over_tasks

if TYPE_CHECKING:
    from spacil.experiments.comparison import Row


@dataclass(frozen=True)
class Aggregate:
    """A setting over its tasks; keys are stable. Intervals are those of the IQM."""

    label: str
    tasks: tuple[str, ...]
    normalized_return: Summary | None
    """None where a task has no known demonstrator or a run no random reference"""
    j_ratio: Summary | None
    """To the baseline of each task; None where a task has none"""


def aggregates_of(
    rows: Sequence["Row"],
    baselines: Mapping[str, "Row"],
    demonstrators: Mapping[str, Demonstrator],
) -> list[Aggregate]:
    """Every setting that is there on two tasks or more; `baselines` by task."""
    found = []
    for label in dict.fromkeys(row.label for row in rows):
        members = [row for row in rows if row.label == label]
        if len(members) < 2:
            continue
        scores = [_scores(row, demonstrators.get(row.task)) for row in members]
        ratios = [_ratios(row, baselines.get(row.task)) for row in members]
        tasks = tuple(row.task for row in members)
        found.append(Aggregate(label, tasks, _pooled(scores), _pooled(ratios)))
    return found


def _scores(row: "Row", demonstrator: Demonstrator | None) -> list[float] | None:
    shares = [
        share(run.values["average_return"], run.values["random_return"], demonstrator)
        for run in row.runs
    ]
    known = [one for one in shares if one is not None]
    return known if len(known) == len(shares) else None


def _ratios(row: "Row", baseline: "Row | None") -> list[float] | None:
    summary = None if baseline is None else baseline.summaries["smoothness_j_common"]
    values = [run.values["smoothness_j_common"] for run in row.runs]
    known = [value for value in values if value is not None]
    if summary is None or summary.mean == 0 or len(known) < len(values):
        return None
    return [value / summary.mean for value in known]


def _pooled(by_task: Sequence[list[float] | None]) -> Summary | None:
    known = [scores for scores in by_task if scores is not None]
    return interquartile_mean_over_tasks(known) if len(known) == len(by_task) else None
