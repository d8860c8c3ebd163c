"""Charts as data: what the plotting library in a report page needs, and nothing it draws itself.

A chart's series share one sorted axis; where a series has no value there is a null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacil.comparison.comparison_charts import Line, Point, band_of
from spacil.comparison.looks import COLOURS

MAX_TRACES = 3
"""Actions that are drawn over time, at most"""

Values = list[float | None]
Place = tuple[float, int, int]
"""On the axis of a chart: x, and what tells points of the same x apart"""


@dataclass(frozen=True)
class Series:
    """One row of a comparison in a chart; `low` and `high` shade the range of its seeds."""

    label: str
    x: Sequence[float]
    """Sorted"""
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    is_joined: bool = True
    """A line; otherwise dots"""
    colour: str | None = None
    """None: by its place in the chart"""


@dataclass(frozen=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    reference: float | None = None
    """A dashed level across: the demonstrator's return"""
    reference_label: str = "demonstrator"
    is_log_x: bool = False
    is_log_y: bool = False

    def document(self) -> dict[str, Any]:
        """For the page: [x, y, y, ...] on one axis, and which columns belong to which series."""
        axis, columns = _aligned(self.series)
        if self.reference is not None:
            columns.append([self.reference] * len(axis))
        colours = [one.colour or COLOURS[i % len(COLOURS)] for i, one in enumerate(self.series)]
        num_alike = _num_alike([one.label for one in self.series], colours)
        return {
            "title": self.title,
            "x_label": self.x_label,
            "y_label": self.y_label,
            "is_log_x": self.is_log_x,
            "is_log_y": self.is_log_y,
            "series": [
                {
                    "label": one.label,
                    "colour": colours[i],
                    "num_alike": num_alike[i],
                    "is_joined": one.is_joined,
                    "has_band": one.low is not None and one.high is not None,
                }
                for i, one in enumerate(self.series)
            ],
            "reference_label": None if self.reference is None else self.reference_label,
            "data": [axis, *columns],
        }


def _num_alike(labels: Sequence[str], colours: Sequence[str]) -> list[int]:
    """How many labels had a row's colour before its own: by that the page tells them apart."""
    labels_of: dict[str, dict[str, int]] = {}
    return [
        (known := labels_of.setdefault(colour, {})).setdefault(label, len(known))
        for label, colour in zip(labels, colours, strict=True)
    ]


def _aligned(series: Sequence[Series]) -> tuple[list[float], list[Values]]:
    """The union of all x; per series its y, and its low and high where it has a band.

    Lines share the places of an x, each dot has one of its own: two runs may have one x.
    """
    places = [_places(one, 1 + i) for i, one in enumerate(series)]
    axis = sorted(set[Place]().union(*places))
    columns: list[Values] = []
    for one, own in zip(series, places, strict=True):
        has_band = one.low is not None and one.high is not None
        for values in (one.y, one.low, one.high) if has_band else (one.y,):
            known = dict(zip(own, values or (), strict=True))
            columns.append([known.get(place) for place in axis])
    return [x for x, _, _ in axis], columns


def _places(series: Series, dots: int) -> list[Place]:
    """Of the points of a series, whose number is `dots` where it shares no places with others."""
    found: list[Place] = []
    for x in series.x:
        is_again = bool(found) and found[-1][0] == x
        found.append((x, 0 if series.is_joined else dots, found[-1][2] + 1 if is_again else 0))
    return found


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
            charts.append(Chart(title, "iteration", title.split()[0], series, reference))
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
            series.append(Series(label, xs, ys, is_joined=False))
    if not series:
        return None
    return Chart(
        "Return against J: up and to the left is better",
        "J, common frame",
        "Return",
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
