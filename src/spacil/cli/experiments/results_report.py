"""`spacil report RESULTS`: the documents of the named experiments as one page, offline."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacil.comparison import charts
    from spacil.comparison.looks import Look
    from spacil.comparison.page import Page, Section
    from spacil.comparison.page import Table as PageTable
    from spacil.experiments.named.outcome import Panel, Series, Table
    from spacil.experiments.named.results_folder import Result, ResultsFolder

TITLE = "Results of the experiments"
LONG_CELL = 40
"""Letters; a column of words with a longer cell may fill several lines"""


def results_page(found: "ResultsFolder", folder: Path, title: str, page_folder: Path) -> "Page":
    """`page_folder`: where the page will lie, which its links are relative to."""
    from spacil.comparison.page import Page
    from spacil.version import __version__

    facts = [
        f"{len(found.results)} experiments from {folder}, page made by spacil {__version__}",
        "G: return, higher is better; J: mean local Lipschitz constant of the mean action, lower "
        "is smoother.",
    ]
    if found.others:
        facts.append(f"Not on this page, made by other commands: {', '.join(found.others)}")
    warnings = [f"damaged, left out: {problem}" for problem in found.problems]
    if found.not_there:
        warnings.append(f"no document yet of: {', '.join(found.not_there)}")
    sections = [_section(result, page_folder) for result in found.results]
    return Page(title, facts, warnings, sections)


def _section(result: "Result", page_folder: Path) -> "Section":
    from spacil.comparison.looks import looks_in
    from spacil.comparison.page import Section
    from spacil.experiments.named.outcome import runs_by

    looks = looks_in(vars(one) for panel in result.panels for one in panel.series)
    made = f"Made by `{result.command}`."
    if result.num_runs:
        made += f" {runs_by(result.num_runs, result.commits)}"
    return Section(
        result.title,
        [_table(table) for table in result.tables or ()],
        [chart for panel in result.panels if (chart := _chart(panel, looks)).series],
        text=result.text,
        anchor=f"experiment-{result.name}",
        are_charts_paired=True,
        notes=result.notes,
        warnings=[f"missing: {problem}" for problem in result.problems],
        facts=[made, f"Every number: {result.path}"],
        link=_markdown_page(result, page_folder) if result.tables is None else "",
    )


def _markdown_page(result: "Result", page_folder: Path) -> str:
    """Where the tables are that the document does not hold."""
    page = result.path.with_suffix(".md")
    return Path(os.path.relpath(page, page_folder)).as_posix() if page.is_file() else ""


def _table(table: "Table") -> "PageTable":
    from spacil.comparison.page import Table

    words = range(min(table.num_words, len(table.header)))
    long = frozenset(k for k in words if any(len(row[k]) > LONG_CELL for row in table.rows))
    return Table(table.header, table.rows, frozenset(words), long, table.title)


def _chart(panel: "Panel", looks: "Mapping[str, Look]") -> "charts.Chart":
    from spacil.comparison.charts import Chart

    series = [_series(one, panel, looks[one.label].colour) for one in panel.series]
    return Chart(
        f"{panel.title}: {panel.y_label}" if panel.title else panel.y_label,
        panel.x_label,
        panel.y_label,
        [one for one in series if one.x],
        panel.reference,
        panel.reference_label,
        panel.is_log_x,
        panel.is_log_y,
    )


def _series(series: "Series", panel: "Panel", colour: str) -> "charts.Series":
    """From left to right, also where the experiment went another way, and what an axis can show."""
    from spacil.comparison.charts import Series

    names = [name for name in ("x", "y", "low", "high") if getattr(series, name) is not None]
    points = sorted(zip(*(getattr(series, name) for name in names), strict=True))
    if panel.least_y is not None:
        points = [point for point in points if point[1] >= panel.least_y]
    if panel.is_log_x:
        points = [point for point in points if point[0] > 0]
    if panel.is_log_y:
        points = [point for point in points if min(point[1:]) > 0]
    columns = {name: [point[k] for point in points] for k, name in enumerate(names)}
    return Series(series.label, **columns, is_joined=series.is_joined, colour=colour)
