"""`spacil report RUN...|SWEEP -o report.html`: all about them in one page, offline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from spacil.cli.arguments import parse
from spacil.cli.experiments.compare import EXIT_INCOMPLETE, lines_of, points_of
from spacil.cli.experiments.shown_runs import Shown, show_runs
from spacil.errors import ConfigError, RunDirError, StorageError

if TYPE_CHECKING:
    from spacil.comparison.comparison import Comparison
    from spacil.comparison.page import Page, Section, Table

TITLE = "Runs compared"


@dataclass(frozen=True)
class ReportArguments:
    sources: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run folders, folders of runs, or sweeps."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("report.html")
    """The page to write: a name that ends in .html."""
    which: Literal["best", "last"] = "best"
    """Which policy of each run."""
    baseline: str = "gail"
    """Algorithm, or name of the row, that probabilities of improvement refer to."""
    title: str = ""
    """Heading of the page; by default what it shows."""
    videos: bool = True
    """Film the best run of each algorithm beside the demonstrator; without OpenGL or spacil[video]
    the page shows their actions as charts instead."""


def run(arguments: list[str]) -> int:
    parsed = parse(
        ReportArguments,
        arguments,
        "spacil report",
        "One page that opens offline: tables with intervals, curves and fronts; exits 3 if some "
        "of the runs to compare are missing.",
    )
    if not parsed.sources:
        raise ConfigError("report needs run folders, or a sweep")
    if parsed.out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"-o {parsed.out}: expected a file name that ends in .html")
    if not parsed.out.parent.is_dir():
        raise StorageError(f"cannot write {str(parsed.out)!r}: create its folder first")
    from spacil.comparison.comparison import compare
    from spacil.comparison.page import write_page

    comparison = compare(parsed.sources, which=parsed.which, baseline=parsed.baseline)
    if not comparison.rows:
        problems = "\n  ".join(comparison.problems)
        raise RunDirError(f"no run to report on:\n  {problems}")
    shown = {task: show_runs(comparison, task) for task in comparison.tasks if parsed.videos}
    write_page(page_of(comparison, parsed.title or TITLE, shown), parsed.out)
    for problem in comparison.problems:
        print(f"missing: {problem}")
    print(f"report: {parsed.out}")
    return EXIT_INCOMPLETE if comparison.problems else 0


def page_of(
    comparison: "Comparison", title: str, shown: "Mapping[str, Shown] | None" = None
) -> "Page":
    """`shown`: what is to be seen of the policies, by task."""
    from spacil.comparison.comparison_text import LEGEND
    from spacil.comparison.page import Page
    from spacil.version import __version__

    runs = [run.record for row in comparison.rows for run in row.runs]
    commits = dict.fromkeys((r.commit or "an installed package")[:20] for r in runs)
    facts = [
        f"{len(runs)} runs, {len(comparison.rows)} rows, the {comparison.which} policy of each run",
        f"made by spacil {__version__}; runs by {', '.join(commits)}",
        LEGEND,
    ]
    warnings = [f"missing: {problem}" for problem in comparison.problems]
    warnings += [f"note: {note}" for note in comparison.notes]
    sections = [
        _task_section(comparison, task, (shown or {}).get(task, Shown()))
        for task in comparison.tasks
    ]
    sections = [*_aggregate_sections(comparison), *sections, _runs_section(comparison)]
    return Page(title, facts, warnings, sections)


def _aggregate_sections(comparison: "Comparison") -> "list[Section]":
    from spacil.comparison.comparison_text import aggregate_table
    from spacil.comparison.page import Section, Table

    found = aggregate_table(comparison)
    if found is None:
        return []
    return [Section("Over all tasks", [Table(*found, text_columns=frozenset({0, 1}))])]


def _task_section(comparison: "Comparison", task: str, shown: Shown) -> "Section":
    from spacil.comparison.charts import curves, front
    from spacil.comparison.comparison_text import tables_of
    from spacil.comparison.page import Section, Table

    known = comparison.demonstrators.get(task)
    reference = None if known is None else known.average_return
    tables = [
        Table(header[1:], [row[1:] for row in rows if row[0] == task])
        for header, rows in tables_of(comparison)
    ]
    charts = curves([line for line in lines_of(comparison) if line.task == task], reference)
    drawn = front([point for point in points_of(comparison) if point.task == task], reference)
    if drawn is not None:
        charts = [*charts, drawn]
    return Section(task, tables, [*shown.charts, *charts], shown.clips, shown.text)


def _runs_section(comparison: "Comparison") -> "Section":
    from spacil.comparison.page import Section

    text = "Every number above is a summary of these runs."
    return Section("Runs, commands, commits", [_runs_table(comparison)], text=text, is_folded=True)


def _runs_table(comparison: "Comparison") -> "Table":
    from spacil.comparison.comparison_text import number
    from spacil.comparison.page import Table

    header = ["task", "setting", "seed", "G", "J common", "commit", "folder", "command"]
    rows: list[Sequence[str]] = [
        [
            row.task,
            row.label,
            str(run.record.seed),
            number(run.values["average_return"]),
            number(run.values["smoothness_j_common"]),
            (run.record.commit or "-")[:10],
            str(run.record.path),
            run.record.command,
        ]
        for row in comparison.rows
        for run in row.runs
    ]
    return Table(header, rows, text_columns=frozenset({0, 1, 5, 6, 7}))
