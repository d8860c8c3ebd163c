"""`spacil report RUN...|SWEEP -o report.html`: all about runs in one page, offline."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil import storage
from spacil.cli.compare import EXIT_INCOMPLETE, Compared
from spacil.errors import ConfigError, SpacilError, StorageError

if TYPE_CHECKING:
    import pandas as pd

    from spacil.comparison.comparison import Comparison
    from spacil.comparison.figures import Chart
    from spacil.comparison.page import Clip, Page, Section
    from spacil.film.record import Recording

SECONDS = 5.0
_PANEL_SIZE = (256, 192)
_QUALITY = 29
"""Quality of the films, as x264 counts it: a few hundred kilobytes each"""
_MAX_RUNS = 3
_SEED = 0
_MAX_TRACES = 3
"""Number of actions that are drawn over time where there is no film, at most"""


@dataclass(frozen=True, kw_only=True)
class Arguments(Compared):
    """One page that opens offline: tables with intervals, curves and fronts; exits 3 if some of
    the runs to compare are missing."""

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """The page to write: a name that ends in .html."""
    overwrite: bool = False
    """Replace the page if it exists."""
    title: str = "Runs compared"
    """Heading of the page."""
    videos: bool = True
    """Film the best run of each algorithm beside the demonstrator; without OpenGL or spacil[video]
    the page shows their actions as charts instead."""


def run(parsed: Arguments) -> int:
    if parsed.out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"-o {parsed.out}: expected a file name that ends in .html")
    if not parsed.out.parent.is_dir():
        raise StorageError(f"cannot write {str(parsed.out)!r}: create its folder first")
    storage.require_free(parsed.out, overwrite=parsed.overwrite)
    comparison = parsed.compare()
    from spacil.comparison.page import write_page

    write_page(_page(comparison, parsed.title, parsed.videos), parsed.out)
    print("\n".join([*(f"missing: {p}" for p in comparison.problems), f"report: {parsed.out}"]))
    return EXIT_INCOMPLETE if comparison.problems else 0


def _page(comparison: "Comparison", title: str, has_videos: bool) -> "Page":
    from spacil.comparison.page import Page, Section, Table
    from spacil.comparison.tables import LEGEND, NUM_TEXT_COLUMNS, aggregate_table, number
    from spacil.version import __version__

    runs = comparison.frame
    commits = runs.commit.fillna("an installed package").str[:20].unique()
    facts = [
        f"{len(runs)} runs, {len(comparison.rows)} rows, the {comparison.which} policy of each run",
        f"made by spacil {__version__}; runs by {', '.join(commits)}",
        LEGEND,
    ]
    sections = [
        Section("Over all tasks", [Table(table, NUM_TEXT_COLUMNS)])
        for table in aggregate_table(comparison)
    ]
    sections += [_task_section(comparison, task, has_videos) for task in comparison.tasks]
    columns = {
        "task": "task", "label": "setting", "commit": "commit", "run_dir": "folder",
        "command": "command", "seed": "seed", "average_return": "G",
        "smoothness_j_common": "J common",
    }  # fmt: skip
    shown = runs[list(columns)].assign(commit=runs.commit.fillna("-").str[:10])
    numbers = ["average_return", "smoothness_j_common"]
    shown = shown.assign(**{name: runs[name].map(number) for name in numbers}).astype(str)
    text = "Every number above is a summary of these runs."
    everything = Table(shown.rename(columns=columns), num_text=5)
    heading = "Runs, commands, commits"
    sections.append(Section(heading, [everything], text=text, is_folded=True))
    return Page(title, facts, comparison.remarks, sections)


def _task_section(comparison: "Comparison", task: str, has_videos: bool) -> "Section":
    from spacil.comparison.figures import curves_of, front_of
    from spacil.comparison.page import Section, Table
    from spacil.comparison.tables import tables_of

    tables = [table[table.task == task].drop(columns="task") for table in tables_of(comparison)]
    text, clips, charts = _shown(comparison, task) if has_videos else ("", [], [])
    charts += [*curves_of(comparison, task), *front_of(comparison, task)]
    return Section(task, [Table(table) for table in tables], charts, clips, text)


# --- policies to be seen; nothing here fails a report: where there is no film, the text says why


def best_runs(runs: "pd.DataFrame") -> "pd.DataFrame":
    """As many as there is room for, one of a setting: its run with the highest return.

    First the best of each algorithm; what room is left goes to the smoothest of the others.
    """
    by_return = runs.dropna(subset=["average_return"]).sort_values("average_return", kind="stable")
    of_setting = by_return.groupby("label").tail(1)
    first = of_setting.groupby("algorithm").tail(1)
    is_usual = first.algorithm.isin(["gail", "spacil"])
    others = of_setting.drop(first.index).sort_values("smoothness_j_common", kind="stable")
    order = [*first.index[is_usual], *first.index[~is_usual], *others.index]
    return of_setting.loc[order[:_MAX_RUNS]].sort_index()


def _shown(comparison: "Comparison", task: str) -> "tuple[str, list[Clip], list[Chart]]":
    """A film of one task's policies; else their actions as charts, and why; else why."""
    from spacil.comparison.page import Clip
    from spacil.film.draw import Size
    from spacil.film.record import record
    from spacil.film.render import Film, check_target
    from spacil.policies.open import open_policy
    from spacil.runs.facts import task_to_play

    policies, faults = {}, []
    runs = best_runs(comparison.frame[comparison.frame.task == task])
    for label, seed, path in zip(runs.label, runs.seed, runs.run_dir, strict=True):
        try:
            task_to_play(task, Path(path))
            policies[f"{label}, seed {seed}"] = open_policy(path, comparison.which)
        except SpacilError as error:
            faults.append(str(error))
    if not policies:
        return f"No video: {'; '.join(faults) or 'no run has a return'}", [], []
    text = ". ".join(f"Not in the video: {fault}" for fault in faults)
    try:
        recording = record(policies, task, _SEED, SECONDS)
    except SpacilError as error:
        return f"No video: {error}", [], []
    names = "; ".join(panel.name for panel in recording.panels)
    caption = (
        f"From the same start (seed {recording.seed}), left to right: {names}. Beneath, the "
        "executed actions; at the end return, J and action change of what was shown."
    )
    try:
        with tempfile.TemporaryDirectory(prefix="spacil-video-") as folder:
            path = Path(folder) / "clip.mp4"
            check_target(path)
            film = Film(recording, Size(*_PANEL_SIZE))
            film.write(path, _QUALITY)
            size = film.frame_size
            return text, [Clip(path.read_bytes(), caption, size.width, size.height)], []
    except SpacilError as error:
        why = f"No video, the actions as charts instead: {error}"
        return ". ".join(filter(None, [why, text])), [], action_traces(recording)


def action_traces(recording: "Recording") -> "list[Chart]":
    """The first actions over time, one chart each: what a film would show."""
    import numpy as np

    from spacil.comparison.figures import Chart, Series

    step, charts = recording.step_seconds, []
    for k in range(min(recording.spec.num_actions, _MAX_TRACES)):
        traces = {}
        for panel in recording.panels:
            actions = panel.clips[0].trajectory.actions[:, k].double().numpy()
            times = (step * np.arange(len(actions))).round(6)
            traces[panel.name] = Series(times, actions.round(4))
        title = f"Executed action a{k}, from the same start"
        charts.append(Chart(title, "seconds", f"a{k}", traces))
    return charts
