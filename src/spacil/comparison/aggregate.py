"""One number for several tasks: scores that compare between tasks, pooled over all their runs.

A return counts as (G - random) / (demonstrator - random): 0 is acting at random, 1 is the
demonstrator. J counts as a ratio to the mean J of the task's baseline, whose runs are a sample too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spacil.comparison.demonstrator import share
from spacil.comparison.settings_over_tasks import Setting
from spacil.comparison.statistics import Summary, interquartile_mean_over_tasks

if TYPE_CHECKING:
    from spacil.comparison.comparison import Row


@dataclass(frozen=True)
class Aggregate:
    """A setting over its tasks; keys are stable.

    Intervals are those of the IQM; None where a task, or its baseline, has one run only.
    """

    label: str
    tasks: tuple[str, ...]
    row_labels: tuple[str, ...]
    """What its row is called on each of the tasks"""
    normalized_return: Summary | None
    """None where runs of a task have no known demonstrator or no random reference"""
    j_ratio: Summary | None
    """To the baseline of each task; None where a task has none, or one with J in another frame"""


def aggregates_of(settings: Sequence[Setting], baselines: Mapping[str, "Row"]) -> list[Aggregate]:
    """Every setting that is there on two tasks or more; `baselines` by task."""
    return [
        Aggregate(
            setting.label,
            setting.tasks,
            tuple(row.label for row in setting.rows),
            _normalized_return(setting.rows),
            _j_ratio(setting.rows, baselines),
        )
        for setting in settings
        if len(setting.rows) > 1
    ]


def _normalized_return(members: Sequence["Row"]) -> Summary | None:
    scores = [known for row in members if (known := _scores(row)) is not None]
    return interquartile_mean_over_tasks(scores) if len(scores) == len(members) else None


def _scores(row: "Row") -> list[float] | None:
    shares = [
        share(run.values["average_return"], run.values["random_return"], row.demonstrator)
        for run in row.runs
    ]
    known = [one for one in shares if one is not None]
    return known if len(known) == len(shares) else None


def _j_ratio(members: Sequence["Row"], baselines: Mapping[str, "Row"]) -> Summary | None:
    """Without an interval where a setting is its own baseline: its runs are not two samples."""
    ours, theirs, is_its_own = [], [], False
    for row in members:
        baseline = baselines.get(row.task)
        if baseline is None or not row.is_j_comparable(baseline):
            return None
        values, references = _js(row), _js(baseline)
        if values is None or references is None or min(references) <= 0:
            return None
        ours.append(values)
        theirs.append(references)
        is_its_own |= baseline is row
    summary = interquartile_mean_over_tasks(ours, theirs)
    return replace(summary, low=None, high=None) if is_its_own else summary


def _js(row: "Row") -> list[float] | None:
    values = [run.values["smoothness_j_common"] for run in row.runs]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None
