"""A report as one HTML file that opens offline: text, tables, films, and charts.

Style, data and the plotting library (uPlot, MIT, its licence in the page) are inside the file, and
its content policy forbids every request, so it shows the same on any machine, today and later.
Whatever comes from run folders is text: it is escaped, never markup.
"""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import quote

from spacil import storage
from spacil.comparison.charts import Chart

SMALLEST_SCALE = 0.68
"""Of a film on a narrow screen: its letters stay readable, and what does not fit is scrolled to"""


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: frozenset[int] = frozenset({0})
    """Set to the left; numbers are set to the right"""
    wrapped_columns: frozenset[int] = frozenset()
    """Sentences, which may fill several lines; other cells keep to one"""
    title: str = ""


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
    """Sentences; `code` and [links](to files) as documents have them"""
    is_folded: bool = False
    """Whether a reader opens it first, as a list of runs"""
    anchor: str = ""
    """Its name in the table of contents; without one it is not listed there"""
    are_charts_paired: bool = False
    """Two charts side by side where there is room"""
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """What is missing in it"""
    facts: Sequence[str] = ()
    """What it was made from, a line each"""
    link: str = ""
    """A file beside the page that says more, relative to the page"""


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
    data = json.dumps([chart.document() for chart in charts], allow_nan=False)
    return Template(_asset("report.html")).substitute(
        title=escape(page.title),
        facts="<br>".join(map(escape, page.facts)),
        warnings=_list(page.warnings, "warnings"),
        contents=_contents(page.sections),
        body="\n".join(body),
        # A label may hold "</script>": no angle bracket reaches the parser.
        data=data.replace("<", "\\u003c"),
        library_style=_asset("uPlot.min.css"),
        style=_asset("report.css"),
        library=_asset("uPlot.iife.min.js"),
        script=_asset("report.js"),
        licence=escape(_asset("uPlot.LICENSE").strip()),
    )


def _contents(sections: Sequence[Section]) -> str:
    listed = "".join(
        f'<li><a href="#{escape(section.anchor)}">{escape(section.heading)}</a></li>'
        for section in sections
        if section.anchor
    )
    return f'<nav aria-label="Contents"><ul>{listed}</ul></nav>' if listed else ""


def _section(section: Section, charts: list[Chart]) -> str:
    parts = [f"<p>{_prose(section.text)}</p>"] if section.text else []
    if section.link:
        link = escape(section.link)
        parts.append(f'<p>Tables: <a href="{quote(section.link)}">{link}</a></p>')
    parts += [_table(table) for table in section.tables]
    parts += [_video(clip) for clip in section.clips]
    parts += _figures(section, charts)
    parts += [_list(section.notes, "notes"), _list(section.warnings, "warnings")]
    if section.facts:
        parts.append(f'<p class="facts">{"<br>".join(map(_prose, section.facts))}</p>')
    inner, heading = "\n".join(filter(None, parts)), escape(section.heading)
    if section.is_folded:
        return f"<details><summary><h2>{heading}</h2></summary>{inner}</details>"
    anchor = f' id="{escape(section.anchor)}"' if section.anchor else ""
    return f"<section{anchor}><h2>{heading}</h2>{inner}</section>"


def _figures(section: Section, charts: list[Chart]) -> list[str]:
    """A place for each chart, which joins those of the page."""
    parts = []
    for chart in section.charts:
        title = escape(chart.title)
        parts.append(
            f'<figure><figcaption>{title}</figcaption><div class="chart" '
            f'data-chart="{len(charts)}" role="img" aria-label="{title}"></div></figure>'
        )
        charts.append(chart)
    return ['<div class="pairs">', *parts, "</div>"] if section.are_charts_paired else parts


def _list(lines: Sequence[str], name: str) -> str:
    inner = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="{name}">{inner}</ul>' if inner else ""


def _prose(text: str) -> str:
    """Text with its code set as code; a link to a file is the name of the file."""
    without_links = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", without_links)


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
        inner = (
            f"<{tag}{_marks(table, column)}>{escape(cell)}</{tag}>"
            for column, cell in enumerate(cells)
        )
        return f"<tr>{''.join(inner)}</tr>"

    title = f"<h3>{escape(table.title)}</h3>" if table.title else ""
    if not table.rows:
        return f"{title}<p>Not measured.</p>"
    rows = "".join(line("td", row) for row in table.rows)
    return (
        f'{title}<div class="scroll"><table><thead>{line("th", table.header)}</thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _marks(table: Table, column: int) -> str:
    """How a column is set."""
    names = ["text"] if column in table.text_columns else []
    names += ["wrapped"] if column in table.wrapped_columns else []
    return f' class="{" ".join(names)}"' if names else ""


def _asset(name: str) -> str:
    return (files("spacil.comparison") / "assets" / name).read_text(encoding="utf-8")
