"""A report as one HTML file that opens offline: text, tables, films, and charts.

Style, data and the plotting library (uPlot, MIT, its licence in the page) are inside the file, and
its content policy forbids every request, so it shows the same on any machine, today and later.
Whatever comes from run folders is text: the template escapes it, it is never markup.
"""

import base64
from collections.abc import Mapping, Sequence
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
class Chart:
    title: str
    x_label: str
    y_label: str
    series: Mapping[str, pd.DataFrame]
    """By label: values `y` by x, the index; `low` and `high`, where present, are shaded"""
    reference: float | None = None
    """Dashed level across: the demonstrator's return"""
    is_joined: bool = True
    """Whether the series are lines; otherwise dots"""

    def document(self) -> dict[str, Any]:
        """For the page: [x, y, y, ...] on one axis, and which columns belong to which series.

        Lines share the places of an x, each dot has one of its own: two runs may have one x.
        """
        parts = [points.add_prefix(f"{i} ") for i, points in enumerate(self.series.values())]
        table = pd.concat(parts, axis="columns" if self.is_joined else "index")
        table = table.sort_index(kind="stable").astype(float)
        if self.reference is not None:
            table["reference"] = self.reference
        known = table.astype(object).where(np.isfinite(table), None)
        looks = looks_of(self.series)
        return {
            "x_label": self.x_label,
            "y_label": self.y_label,
            "series": [
                {
                    "label": label,
                    "colour": looks[label][0],
                    "num_alike": LINES.index(looks[label][2]),
                    "is_joined": self.is_joined,
                    "has_band": "low" in points,
                }
                for label, points in self.series.items()
            ],
            "reference_label": None if self.reference is None else "demonstrator",
            "data": [table.index.tolist(), *(known[name].tolist() for name in known)],
        }


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame
    """Cells as they are shown"""
    num_text: int = 1
    """Number of columns, from the left, that hold words"""


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
