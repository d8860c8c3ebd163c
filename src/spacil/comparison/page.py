"""A report as one HTML file that opens offline: text, tables, films, and charts.

Style, data and the plotting library (uPlot, MIT, its licence in the page) are inside the file, and
its content policy forbids every request, so it shows the same on any machine, today and later.
Whatever comes from run folders is text: the template escapes it, it is never markup.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from spacil import storage
from spacil.comparison.figures import LINES, Chart, looks_of

Table = tuple[pd.DataFrame, int]
"""Cells as they are shown, and how many columns, from the left, hold words"""


@dataclass(frozen=True)
class Clip:
    """A film inside the page."""

    mp4: bytes
    caption: str
    width: int
    height: int

    @property
    def source(self) -> str:
        return f"data:video/mp4;base64,{base64.b64encode(self.mp4).decode('ascii')}"


@dataclass(frozen=True)
class Section:
    heading: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    clips: Sequence[Clip] = ()
    text: str = ""
    is_folded: bool = False
    """Whether a reader opens it first, as a list of runs"""


def write_page(path: Path, *content: Any) -> None:
    """Write the file, whole or not at all; `content` as `page_html` takes it."""
    storage.replace_file(path, page_html(*content).encode())


def page_html(
    title: str, facts: Sequence[str], warnings: Sequence[str], sections: Sequence[Section]
) -> str:
    """Compose the page.

    `facts`: lines about what it was made from; `warnings`: what is missing or not comparable.
    """

    def asset(name: str) -> str:
        return (files("spacil.comparison") / "assets" / name).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    return environment.from_string(asset("report.html")).render(
        title=title,
        facts=facts,
        warnings=warnings,
        sections=sections,
        charts=[chart_data(chart) for section in sections for chart in section.charts],
        licence=asset("uPlot.LICENSE").strip(),
        styles=Markup(asset("uPlot.min.css") + asset("report.css")),
        library=Markup(asset("uPlot.iife.min.js")),
        script=Markup(asset("report.js")),
    )


def chart_data(chart: Chart) -> dict[str, Any]:
    """A chart for the page: [x, y, y, ...] on one axis, and which columns are whose.

    Lines share the places of an x, each dot has one of its own: two runs may have one x.
    """
    parts, series, looks = [], [], looks_of(chart.series)
    for i, (label, one) in enumerate(chart.series.items()):
        columns = (
            {"y": one.y} if one.low is None else {"y": one.y, "low": one.low, "high": one.high}
        )
        values = {f"{name} {i}": np.asarray(column) for name, column in columns.items()}
        parts.append(pd.DataFrame(values, index=np.asarray(one.x)))
        colour, _, line = looks[label]
        look = {"label": label, "colour": colour, "num_alike": LINES.index(line)}
        is_joined = chart.is_joined and not one.is_marks
        series.append(look | {"is_joined": is_joined, "has_band": one.low is not None})
    table = pd.concat(parts, axis="columns" if chart.is_joined else "index")
    table = table.sort_index(kind="stable").astype(float).assign(**chart.levels)
    known = table.astype(object).where(np.isfinite(table), None)
    return {
        "x_label": chart.x_label,
        "y_label": chart.y_label,
        "series": series,
        "levels": list(chart.levels),
        "data": [table.index.tolist(), *(known[name].tolist() for name in known)],
    }
