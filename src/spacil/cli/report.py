"""`spacil report RUN...|SWEEP -o report.html`: all about runs in one page, offline."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from spacil import storage
from spacil.cli.compare import EXIT_INCOMPLETE, Compared
from spacil.errors import SpacilError
from spacil.plain_text import count

if TYPE_CHECKING:
    from spacil.comparison.comparison import Comparison
    from spacil.comparison.page import Clip, Section

SECONDS = 5.0
_PANEL_SIZE = (256, 192)
_QUALITY = 29
"""Quality of the films, as x264 counts it: a few hundred kilobytes each"""
_SEED = 0


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
    """Film the best run of each algorithm beside the demonstrator; where that fails, as without
    OpenGL or spacil[video], the page says why."""


def run(parsed: Arguments) -> int:
    storage.require_free(parsed.out, overwrite=parsed.overwrite, endings=storage.PAGE_ENDINGS)
    comparison = parsed.compare()
    _write(comparison, parsed)
    print("\n".join([*(f"missing: {p}" for p in comparison.problems), f"report: {parsed.out}"]))
    return EXIT_INCOMPLETE if comparison.problems else 0


def _write(comparison: "Comparison", parsed: Arguments) -> None:
    from spacil.comparison.page import Section, write_page
    from spacil.comparison.tables import LEGEND, NUM_TEXT_COLUMNS, aggregate_table, number
    from spacil.version import __version__

    runs = comparison.frame
    commits = runs.commit.fillna("an installed package").str[:20].unique()
    facts = [
        f"{count(len(runs), 'run')}, {count(len(comparison.rows), 'row')}, the "
        f"{comparison.which} policy of each run",
        f"made by spacil {__version__}; runs by {', '.join(commits)}",
        LEGEND,
    ]
    sections = [
        Section("Over all tasks", [(table, NUM_TEXT_COLUMNS)])
        for table in aggregate_table(comparison)
    ]
    sections += [_task_section(comparison, task, parsed.videos) for task in comparison.tasks]
    columns = {
        "task": "task", "label": "setting", "commit": "commit", "run_dir": "folder",
        "command": "command", "seed": "seed", "average_return": "G",
        "smoothness_j_common": "J common",
    }  # fmt: skip
    shown = runs[list(columns)].assign(commit=runs.commit.fillna("-").str[:10])
    numbers = ["average_return", "smoothness_j_common"]
    shown = shown.assign(**{name: runs[name].map(number) for name in numbers}).astype(str)
    text = "Every number above is a summary of these runs."
    everything = (shown.rename(columns=columns), 5)
    heading = "Runs, commands, commits"
    sections.append(Section(heading, [everything], text=text, is_folded=True))
    write_page(parsed.out, parsed.title, facts, comparison.remarks, sections)


def _task_section(comparison: "Comparison", task: str, has_videos: bool) -> "Section":
    from spacil.comparison.figures import curves_of, front_of
    from spacil.comparison.page import Section
    from spacil.comparison.tables import tables_of

    tables = [table[table.task == task].drop(columns="task") for table in tables_of(comparison)]
    text, clips = _film(comparison, task) if has_videos else ("", [])
    charts = [*curves_of(comparison, task), *front_of(comparison, task)]
    return Section(task, [(table, 1) for table in tables], charts, clips, text)


def _film(comparison: "Comparison", task: str) -> "tuple[str, list[Clip]]":
    """A film of the best run of each algorithm on a task; or why there is none."""
    from spacil.comparison.page import Clip
    from spacil.film.draw import Size
    from spacil.film.record import record
    from spacil.film.render import Film, check_target
    from spacil.policies.open import open_policy
    from spacil.runs.facts import task_to_play

    runs = comparison.frame[comparison.frame.task == task].dropna(subset=["average_return"])
    best = runs.sort_values("average_return", kind="stable").groupby("algorithm").tail(1)
    try:
        check_target(Path("clip.mp4"))
        policies = {}
        for run in best.sort_index().itertuples():
            task_to_play(task, Path(run.run_dir))
            policies[f"{run.label}, seed {run.seed}"] = open_policy(run.run_dir, comparison.which)
        with tempfile.TemporaryDirectory(prefix="spacil-video-") as folder:
            path = Path(folder) / "clip.mp4"
            film = Film(record(policies, task, _SEED, SECONDS), Size(*_PANEL_SIZE))
            film.write(path, _QUALITY)
            content, size = path.read_bytes(), film.frame_size
    except SpacilError as error:  # the page is there either way
        return f"No video: {error}", []
    names = "; ".join(panel.name for panel in film.recording.panels)
    caption = (
        f"From the same start (seed {_SEED}), left to right: {names}. Beneath, the executed "
        "actions; at the end return, J and action change of what was shown."
    )
    return "", [Clip(content, caption, size.width, size.height)]
