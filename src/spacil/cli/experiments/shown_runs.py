"""Runs to be seen in a report: the best of each algorithm beside the demonstrator, as a film.

Nothing here fails a report: where a film cannot be made, the section says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spacil.cli.filming.video import tell
from spacil.errors import SpacilError

if TYPE_CHECKING:
    from spacil.envs.drawing.poses import PoseReader
    from spacil.experiments.comparison import ComparedRun, Comparison, Row
    from spacil.filming.footage import Footage
    from spacil.policies.source import PolicySource
    from spacil.report.charts import Chart
    from spacil.report.page import Clip

SECONDS = 5.0
PANEL_SIZE = (256, 192)
QUALITY = 29
"""x264's: a film of a few hundred kilobytes"""
MAX_RUNS = 3
SEED = 0
_FIRST = ("gail", "spacil")
"""Algorithms that are shown wherever they are"""


@dataclass(frozen=True)
class Shown:
    """What a section shows of its policies."""

    text: str = ""
    clips: "Sequence[Clip]" = ()
    charts: "Sequence[Chart]" = ()


def show_runs(comparison: "Comparison", task: str) -> Shown:
    """A film of one task's policies; else their actions as charts, and why; else why."""
    from spacil.filming.video import Cast, footage_of, stage, with_demonstrator

    policies, faults = _opened(comparison, task)
    if not policies:
        return Shown(f"No video: {'; '.join(faults)}")
    missing = [f"Not in the video: {fault}" for fault in faults]
    try:
        cast = with_demonstrator(Cast(policies, task))
        with stage(cast, SEED) as (env, reader):
            footage = footage_of(cast, env, reader, SEED, SECONDS)
            try:
                clip = _clip(footage, reader)
            except SpacilError as error:
                text = f"No video, the actions as charts instead: {error}"
                return Shown(". ".join([text, *missing]), charts=_charts(footage))
    except SpacilError as error:
        return Shown(f"No video: {error}")
    return Shown(". ".join(missing), [clip])


def best_runs(comparison: "Comparison", task: str) -> "list[tuple[Row, ComparedRun]]":
    """The run with the highest return of each algorithm, as many as there is room for."""
    best: dict[str, tuple[float, Row, ComparedRun]] = {}
    for row in comparison.rows_of(task):
        for run in row.runs:
            value = run.values["average_return"]
            if value is not None and (row.algorithm not in best or value > best[row.algorithm][0]):
                best[row.algorithm] = (value, row, run)
    chosen = sorted(best, key=lambda name: name not in _FIRST)[:MAX_RUNS]
    return [best[name][1:] for name in best if name in chosen]


def _opened(comparison: "Comparison", task: str) -> "tuple[dict[str, PolicySource], list[str]]":
    from spacil.policies.open import open_policy
    from spacil.runs.inputs import task_to_play

    policies: dict[str, PolicySource] = {}
    faults = []
    for row, run in best_runs(comparison, task):
        path = run.record.path
        try:
            task_to_play(task, path)
            source = open_policy(str(path), comparison.which)
            policies[f"{row.label}, seed {run.record.seed}"] = source
        except SpacilError as error:
            faults.append(str(error))
    return policies, faults or ([] if policies else ["no run has a return"])


def _clip(footage: "Footage", reader: "PoseReader") -> "Clip":
    from spacil.envs.drawing.painting import Size
    from spacil.filming.encoding import mp4, require_ffmpeg
    from spacil.filming.film import develop
    from spacil.report.page import Clip

    require_ffmpeg()
    film = develop(footage, reader, Size(*PANEL_SIZE), tell)
    size = film.frame_size
    names = "; ".join(one.name for one in footage.performances)
    caption = (
        f"From the same start (seed {footage.seed}), left to right: {names}. Beneath, the executed "
        "actions; at the end return, J and action change of what was shown."
    )
    return Clip(mp4(film.frames(), size, film.rate, QUALITY), caption, size.width, size.height)


def _charts(footage: "Footage") -> "list[Chart]":
    from spacil.report.charts import action_traces

    actions = {one.name: one.takes[0].trajectory.actions.tolist() for one in footage.performances}
    return action_traces(actions, footage.step_seconds)
