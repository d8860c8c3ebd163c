"""A report as one HTML file that opens offline: text, tables, films, and charts.

Style, data and the plotting library (uPlot, MIT, its licence in the page) are inside the file, and
its content policy forbids every request, so it shows the same on any machine, today and later.
Whatever comes from run folders is text: it is escaped, never markup.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from spacil import storage
from spacil.report.charts import Chart

SMALLEST_SCALE = 0.68
"""Of a film on a narrow screen: its letters stay readable, and what does not fit is scrolled to"""


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: frozenset[int] = frozenset({0})
    """Set to the left; numbers are set to the right"""


@dataclass(frozen=True)
class Clip:
    """A film inside the page."""

    mp4: bytes
    caption: str
    width: int
    height: int


@dataclass(frozen=True)
class Section:
    heading: str
    tables: Sequence[Table]
    charts: Sequence[Chart] = ()
    clips: Sequence[Clip] = ()
    text: str = ""
    is_folded: bool = False
    """Whether a reader opens it first, as a list of runs"""


@dataclass(frozen=True)
class Page:
    title: str
    facts: Sequence[str]
    """What it was made from, a line each"""
    warnings: Sequence[str]
    """What is missing or cannot be compared"""
    sections: Sequence[Section]


def write_page(page: Page, path: Path) -> None:
    """Write the file, whole or not at all."""
    storage.replace_file(path, html_of(page).encode())


def html_of(page: Page) -> str:
    charts: list[Chart] = []
    body = [_section(section, charts) for section in page.sections]
    warnings = "".join(f"<li>{escape(line)}</li>" for line in page.warnings)
    data = json.dumps([chart.document() for chart in charts], allow_nan=False)
    return Template(_asset("report.html")).substitute(
        title=escape(page.title),
        facts="<br>".join(map(escape, page.facts)),
        warnings=f'<ul class="warnings">{warnings}</ul>' if warnings else "",
        body="\n".join(body),
        # A label may hold "</script>": no angle bracket reaches the parser.
        data=data.replace("<", "\\u003c"),
        library_style=_asset("uPlot.min.css"),
        style=_asset("report.css"),
        library=_asset("uPlot.iife.min.js"),
        script=_asset("report.js"),
        licence=escape(_asset("uPlot.LICENSE").strip()),
    )


def _section(section: Section, charts: list[Chart]) -> str:
    parts = [f"<p>{escape(section.text)}</p>"] if section.text else []
    parts += [_table(table) for table in section.tables]
    parts += [_video(clip) for clip in section.clips]
    for chart in section.charts:
        title = escape(chart.title)
        parts.append(
            f'<figure><figcaption>{title}</figcaption><div class="chart" '
            f'data-chart="{len(charts)}" role="img" aria-label="{title}"></div></figure>'
        )
        charts.append(chart)
    inner, heading = "\n".join(parts), escape(section.heading)
    if section.is_folded:
        return f"<details><summary><h2>{heading}</h2></summary>{inner}</details>"
    return f"<section><h2>{heading}</h2>{inner}</section>"


def _video(clip: Clip) -> str:
    data = base64.b64encode(clip.mp4).decode("ascii")
    return (
        f'<figure><figcaption>{escape(clip.caption)}</figcaption><div class="scroll">'
        f'<video controls loop muted playsinline preload="auto" width="{clip.width}" '
        f'height="{clip.height}" style="min-width: {round(SMALLEST_SCALE * clip.width)}px" '
        f'src="data:video/mp4;base64,{data}"></video></div></figure>'
    )


def _table(table: Table) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        marks = [' class="text"' if i in table.text_columns else "" for i in range(len(cells))]
        inner = (
            f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, cells, strict=True)
        )
        return f"<tr>{''.join(inner)}</tr>"

    rows = "".join(line("td", row) for row in table.rows)
    return (
        f'<div class="scroll"><table><thead>{line("th", table.header)}</thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _asset(name: str) -> str:
    return (files("spacil.report") / "assets" / name).read_text(encoding="utf-8")
