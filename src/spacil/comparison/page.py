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
from spacil.comparison.figures import LINES, looks_of


@dataclass(frozen=True)
class Series:
    """One row of a comparison in a chart."""

    label: str
    points: pd.DataFrame
    """Values `y` by x, the index; `low` and `high`, where present, are shaded"""
    is_joined: bool = True
    """Whether it is a line; otherwise dots"""
    colour: str | None = None
    """Colour of the series; by its place in the chart for None"""


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    reference: float | None = None
    """Dashed level across: the demonstrator's return"""
    reference_label: str = "demonstrator"
    is_log_x: bool = False
    is_log_y: bool = False

    def document(self) -> dict[str, Any]:
        """For the page: [x, y, y, ...] on one axis, and which columns belong to which series.

        Lines share the places of an x, each dot has one of its own: two runs may have one x.
        """
        parts = [one.points.add_prefix(f"{i} ") for i, one in enumerate(self.series)]
        joined = [part for part, one in zip(parts, self.series, strict=True) if one.is_joined]
        dots = [part for part, one in zip(parts, self.series, strict=True) if not one.is_joined]
        lines = [pd.concat(joined).groupby(level=0).first()] if joined else []
        table = pd.concat([*lines, *dots]).sort_index(kind="stable")
        table = table[[name for part in parts for name in part]]
        if self.reference is not None:
            table["reference"] = self.reference
        looks = looks_of(one.label for one in self.series)
        known = table.astype(object).where(np.isfinite(table.astype(float)), None)
        return {
            "x_label": self.x_label,
            "y_label": self.y_label,
            "is_log_x": self.is_log_x,
            "is_log_y": self.is_log_y,
            "series": [
                {
                    "label": one.label,
                    "colour": one.colour or looks[one.label][0],
                    "num_alike": LINES.index(looks[one.label][2]),
                    "is_joined": one.is_joined,
                    "has_band": "low" in one.points,
                }
                for one in self.series
            ],
            "reference_label": None if self.reference is None else self.reference_label,
            "data": [table.index.tolist(), *(known[name].tolist() for name in known)],
        }


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame
    """Cells as they are shown"""
    num_text: int = 1
    """Number of columns, from the left, that hold words"""
    title: str = ""


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
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """Lines about what is missing in it"""
    facts: Sequence[str] = ()
    """Lines about what it was made from"""
    is_folded: bool = False
    """Whether a reader opens it first, as a list of runs"""


@dataclass(frozen=True)
class Page:
    title: str
    facts: Sequence[str]
    """Lines about what it was made from"""
    warnings: Sequence[str]
    """Lines about what is missing or cannot be compared"""
    sections: Sequence[Section]


def write_page(page: Page, path: Path) -> None:
    """Write the file, whole or not at all."""
    storage.replace_file(path, html_of(page).encode())


def html_of(page: Page) -> str:
    def asset(name: str) -> str:
        return (files("spacil.comparison") / "assets" / name).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    return environment.from_string(asset("report.html")).render(
        page=page,
        charts=[chart.document() for section in page.sections for chart in section.charts],
        licence=asset("uPlot.LICENSE").strip(),
        styles=Markup(asset("uPlot.min.css") + asset("report.css")),
        library=Markup(asset("uPlot.iife.min.js")),
        script=Markup(asset("report.js")),
    )
