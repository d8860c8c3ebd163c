"""Charts as data: what the plotting library in a report page needs, and nothing it draws itself.

A chart's series share one sorted axis; where a series has no value there is a null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spacil.report.comparison import COLOURS, Line, Point, band_of

MAX_TRACES = 3
"""Actions that are drawn over time, at most"""

Values = list[float | None]


@dataclass(frozen=True)
class Series:
    """One row of a comparison in a chart; `low` and `high` shade the range of its seeds."""

    label: str
    x: Sequence[float]
    """Sorted"""
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    kind: Literal["lines", "points"]
    series: Sequence[Series]
    reference: float | None = None
    """A dashed level across: the demonstrator's return"""

    def document(self) -> dict[str, Any]:
        """For the page: [x, y, y, ...] on one axis, and which columns belong to which series."""
        if self.kind == "points":
            axis, columns = _scattered(self.series)
        else:
            axis, columns = _aligned(self.series)
        if self.reference is not None:
            columns.append([self.reference] * len(axis))
        return {
            "title": self.title,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "kind": self.kind,
            "series": [
                {
                    "label": one.label,
                    "colour": COLOURS[i % len(COLOURS)],
                    "has_band": one.low is not None and self.kind == "lines",
                }
                for i, one in enumerate(self.series)
            ],
            "has_reference": self.reference is not None,
            "data": [axis, *columns],
        }


def _aligned(series: Sequence[Series]) -> tuple[list[float], list[Values]]:
    """The union of all x; per series its y, and its low and high where it has a band."""
    axis = sorted({x for one in series for x in one.x})
    columns: list[Values] = []
    for one in series:
        for values in (one.y, one.low, one.high):
            if values is not None:
                known = dict(zip(one.x, values, strict=True))
                columns.append([known.get(x) for x in axis])
    return axis, columns


def _scattered(series: Sequence[Series]) -> tuple[list[float], list[Values]]:
    """Every point has its own place on the axis: two runs may have one x."""
    places = sorted(
        (x, i, y) for i, one in enumerate(series) for x, y in zip(one.x, one.y, strict=True)
    )
    columns: list[Values] = [[None] * len(places) for _ in series]
    for place, (_, i, y) in enumerate(places):
        columns[i][place] = y
    return [x for x, _, _ in places], columns


def curves(lines: Sequence[Line], demonstrator_return: float | None) -> list[Chart]:
    """Return and J over training, of the lines of one task."""
    charts = []
    for name, title, reference in (
        ("average_return", "Return G during training", demonstrator_return),
        ("smoothness_j", "J during training, common frame (lower is smoother)", None),
    ):
        series = []
        for line in lines:
            band = band_of(line.runs, name)
            if band is not None:
                x = band.iterations.tolist()
                bounds = (band.low.tolist(), band.high.tolist()) if len(line.runs) > 1 else ()
                series.append(Series(line.label, x, band.mean.tolist(), *bounds))
        if series:
            charts.append(Chart(title, "iteration", title.split()[0], "lines", series, reference))
    return charts


def front(points: Sequence[Point], demonstrator_return: float | None) -> Chart | None:
    """Return against J, of the runs of one task; None where no run has both."""
    series = []
    for label in dict.fromkeys(point.label for point in points):
        known = sorted(
            (point.smoothness_j, point.average_return)
            for point in points
            if point.label == label
            and point.smoothness_j is not None
            and point.average_return is not None
        )
        if known:
            xs, ys = zip(*known, strict=True)
            series.append(Series(label, xs, ys))
    if not series:
        return None
    return Chart(
        "Return against J: up and to the left is better",
        "J, common frame",
        "Return",
        "points",
        series,
        demonstrator_return,
    )


def action_traces(actions: Mapping[str, Sequence[Sequence[float]]], dt: float) -> list[Chart]:
    """The first actions over time, one chart each: what a film would show. name -> [T][A]"""
    num_actions = len(next(iter(actions.values()))[0])
    return [
        Chart(
            f"Executed action a{k}, from the same start",
            "seconds",
            f"a{k}",
            "lines",
            [
                Series(
                    name,
                    [round(step * dt, 6) for step in range(len(rows))],
                    [round(row[k], 4) for row in rows],
                )
                for name, rows in actions.items()
            ],
        )
        for k in range(min(num_actions, MAX_TRACES))
    ]
