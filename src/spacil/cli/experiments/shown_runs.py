"""Runs to be seen in a report: the best of each algorithm and the smoothest others, as a film.

Nothing here fails a report: where a film cannot be made, the section says why.
"""

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spacil.cli.filming.video import tell
from spacil.errors import SpacilError

if TYPE_CHECKING:
    from spacil.comparison.charts import Chart
    from spacil.comparison.comparison import ComparedRun, Comparison, Row
    from spacil.comparison.page import Clip
    from spacil.film.record import Recording
    from spacil.policies.policy import Policy

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
    from spacil.film.video import Panels, make_recording

    policies, faults = _opened(comparison, task)
    if not policies:
        return Shown(f"No video: {'; '.join(faults)}")
    missing = [f"Not in the video: {fault}" for fault in faults]
    try:
        recording = make_recording(Panels(policies, task).with_demonstrator(), SEED, SECONDS)
        try:
            clip = _clip(recording)
        except SpacilError as error:
            text = f"No video, the actions as charts instead: {error}"
            return Shown(". ".join([text, *missing]), charts=_charts(recording))
    except SpacilError as error:
        return Shown(f"No video: {error}")
    return Shown(". ".join(missing), [clip])


def best_runs(comparison: "Comparison", task: str) -> "list[tuple[Row, ComparedRun]]":
    """As many as there is room for, one of a setting: its run with the highest return.

    First the best of each algorithm; what room is left goes to the smoothest of the others.
    """
    of_setting: list[tuple[Row, ComparedRun]] = []
    best: dict[str, tuple[Row, ComparedRun]] = {}
    for row in comparison.rows_of(task):
        known = [(row, run) for run in row.runs if run.values["average_return"] is not None]
        if known:
            found = max(known, key=_return_of)
            of_setting.append(found)
            best[row.algorithm] = max(best.get(row.algorithm, found), found, key=_return_of)
    first = sorted(best.values(), key=lambda one: one[0].algorithm not in _FIRST)
    others = sorted((one for one in of_setting if one not in first), key=_j_of)
    chosen = [*first, *others][:MAX_RUNS]
    return [one for one in of_setting if one in chosen]


def _return_of(shown: "tuple[Row, ComparedRun]") -> float:
    return shown[1].values["average_return"] or 0.0


def _j_of(shown: "tuple[Row, ComparedRun]") -> float:
    j = shown[1].values["smoothness_j_common"]
    return math.inf if j is None else j


def _opened(comparison: "Comparison", task: str) -> "tuple[dict[str, Policy], list[str]]":
    from spacil.policies.open import open_policy
    from spacil.runs.inputs import task_to_play

    policies: dict[str, Policy] = {}
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


def _clip(recording: "Recording") -> "Clip":
    from spacil.comparison.page import Clip
    from spacil.film.draw import Size
    from spacil.film.render import Film, check_target, write_film

    names = "; ".join(panel.name for panel in recording.panels)
    caption = (
        f"From the same start (seed {recording.seed}), left to right: {names}. Beneath, the "
        "executed actions; at the end return, J and action change of what was shown."
    )
    with tempfile.TemporaryDirectory(prefix="spacil-video-") as folder:
        path = Path(folder) / "clip.mp4"
        check_target(path)
        film = Film(recording, Size(*PANEL_SIZE), tell)
        write_film(film, path, QUALITY)
        return Clip(path.read_bytes(), caption, film.frame_size.width, film.frame_size.height)


def _charts(recording: "Recording") -> "list[Chart]":
    from spacil.comparison.charts import action_traces
    from spacil.film.record import seconds_per_step

    actions = {panel.name: panel.clips[0].trajectory.actions.tolist() for panel in recording.panels}
    return action_traces(actions, seconds_per_step(recording.spec))
