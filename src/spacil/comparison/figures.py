"""matplotlib as every picture of spacil uses it: charts, and the one way to draw them.

The surroundings choose neither backend nor style: not a notebook's MPLBACKEND, which may not even
be installed here, not a matplotlibrc that wants LaTeX, not a style that a user's program has set.
Nothing global is changed, so their own pictures stay as they want them.
"""

import contextlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacil import storage

if TYPE_CHECKING:
    from spacil.comparison.comparison import Comparison

_asked_for = os.environ.pop("MPLBACKEND", None)
try:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
finally:
    if _asked_for is not None:
        os.environ["MPLBACKEND"] = _asked_for

COLOURS = (
    "#c8553d", "#1f6f8b", "#7d8491", "#d9a441", "#588157", "#6d597a", "#b56576", "#2a9d8f",
    "#8d5524", "#4361ee", "#9c89b8", "#222222",
)  # fmt: skip
MARKS, LINES = "os^", ("-", "--", ":")
"""Mark and line of a row whose colour is there for the first, second and third time"""
_FEW = 30
"""Number of points up to which each point of a line has a mark"""


@dataclass(frozen=True, eq=False)
class Series:
    """One row of a chart."""

    x: Any
    """Numbers, or names"""
    y: Any
    low: Any = None
    """Lower ends of a band around a line, or of bars through dots"""
    high: Any = None
    is_marks: bool = False
    """Whether it marks places on the lines of its chart"""


@dataclass(frozen=True, eq=False)
class Chart:
    """What a picture, or the page, shows in one set of axes."""

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Series]
    """By label"""
    levels: Mapping[str, float] = field(default_factory=dict)
    """Dashed lines across, by name: the demonstrator's return"""
    is_joined: bool = True
    """Whether the series are lines; otherwise dots"""
    least_y: float | None = None
    """Where the axis begins"""
    is_log_y: bool = False


def looks_of(labels: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Colour, mark and line by label, in the order given; three dozen labels look different."""
    looks = {}
    for place, label in enumerate(dict.fromkeys(labels)):
        times, colour = divmod(place, len(COLOURS))
        looks[label] = (COLOURS[colour], MARKS[times % 3], LINES[times % 3])
    return looks


@contextlib.contextmanager
def plain_style() -> Iterator[None]:
    """matplotlib's own defaults for the block, or for a function that this decorates."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


def subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **how: Any) -> Any:
    """A figure that no window system knows of, and its axes as `plt.subplots` gives them."""
    figure = Figure(figsize=figsize)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **how)


@plain_style()
def draw_charts(
    charts: Sequence[Chart],
    path: Path,
    columns: int = 1,
    size: tuple[float, float] = (7.0, 2.8),
    title: str = "",
) -> Path:
    """Draw charts side by side into a file; a label has one colour, mark and line in all."""
    columns = min(columns, len(charts))
    rows = -(-len(charts) // columns)
    whole = (size[0] * columns, size[1] * rows)
    figure, axes = subplots(rows, columns, figsize=whole, squeeze=False)
    looks = looks_of(label for chart in charts for label in chart.series)
    for axis in axes.flat[len(charts) :]:
        axis.set_visible(False)
    for axis, chart in zip(axes.flat, charts, strict=False):
        for label, one in chart.series.items():
            colour, mark, line = looks[label]
            if chart.is_joined and not one.is_marks:
                dots = mark if len(one.x) <= _FEW else None
                style: Any = {"linewidth": 1.2, "linestyle": line, "marker": dots, "markersize": 3}
                axis.plot(one.x, one.y, color=colour, label=label, **style)
                if one.low is not None:
                    axis.fill_between(one.x, one.low, one.high, color=colour, alpha=0.15, lw=0)
            else:
                axis.scatter(one.x, one.y, color=colour, marker=mark, label=label, s=28)
                if one.low is not None:
                    axis.vlines(one.x, one.low, one.high, color=colour)
        for name, level in chart.levels.items():
            look = {"color": "#444", "linestyle": "--", "linewidth": 1}
            axis.axhline(level, label=f"{name} {level:.4g}", **look)
        if any(isinstance(name, str) for one in chart.series.values() for name in one.x):
            axis.tick_params("x", rotation=25)
        axis.set_yscale("log" if chart.is_log_y else "linear")
        axis.set_ylim(bottom=chart.least_y)
        # A dollar sign in a task's name is a dollar sign.
        axis.set_title(chart.title, parse_math=False, fontsize=10)
        axis.set_xlabel(chart.x_label, parse_math=False)
        axis.set_ylabel(chart.y_label, parse_math=False)
    figure.suptitle(title, parse_math=False, fontsize=11)
    return finish_figure(figure, path)


def finish_figure(figure: Any, path: Path, *, dpi: int = 100, below: float = 0.0) -> Path:
    """Write it whole or not at all, as PNG or SVG by the name of the file.

    No box around the data, a faint grid behind it, and a legend wherever something has a name.
    `below`: the share of the height that is kept free under the axes, for a legend of them all.
    The same figure gives the same file: an SVG has neither a date nor random names inside.
    """
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.2)
        if not below and not axis.get_legend() and axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize="small")
    figure.tight_layout(rect=(0, below, 1, 1))
    picture, kind = io.BytesIO(), path.suffix.removeprefix(".") or "png"
    undated = {"Date": None} if kind == "svg" else None
    with matplotlib.rc_context({"svg.hashsalt": "spacil"}):
        figure.savefig(picture, dpi=dpi, format=kind, metadata=undated)
    storage.replace_file(path, picture.getvalue())
    return path


# --- several runs side by side


def curves_of(comparison: "Comparison", task: str) -> list[Chart]:
    """Return and J during training: the mean over seeds, shaded from the lowest to the highest.

    By the iterations at which all seeds of a row have a number.
    """
    curves, charts = comparison.curves[comparison.curves.task == task], []
    for name, label, least in (
        ("average_return", "return G", None),
        ("smoothness_j", "J, common frame\n(lower is smoother)", 0.0),
    ):
        series = {}
        for row, runs in curves.groupby("label", sort=False):
            seeds = runs.pivot(index="iteration", columns="run_dir", values=name).dropna()
            if len(seeds):
                ends = (seeds.min(axis="columns"), seeds.max(axis="columns"))
                series[row] = Series(seeds.index, seeds.mean(axis="columns"), *ends)
        levels = comparison.levels(task) if name == "average_return" else {}
        charts.append(Chart(task, "iteration", label, series, levels, least_y=least))
    return [chart for chart in charts if chart.series]


def front_of(comparison: "Comparison", task: str) -> list[Chart]:
    """Return against J, a dot per run: up and to the left is better."""
    j, g = "smoothness_j_common", "average_return"
    runs = comparison.frame[comparison.frame.task == task].dropna(subset=[j, g])
    dots = {row: Series(own[j], own[g]) for row, own in runs.groupby("label", sort=False)}
    label, levels = "J, common frame (lower is smoother)", comparison.levels(task)
    return [Chart(task, label, "return G", dots, levels, is_joined=False)] if dots else []


def aggregates_of(comparison: "Comparison") -> list[Chart]:
    """Settings over several tasks: interquartile means with their intervals, a chart a number."""
    charts = []
    for label, name in (
        ("return: 0 random, 1 demonstrator", "normalized_return"),
        ("J / J of the baseline", "j_ratio"),
    ):
        dots = {}
        for one in comparison.aggregates:
            if (found := getattr(one, name)) is not None:
                ends = () if found.low is None else ([found.low], [found.high])
                dots[one.label] = Series([one.label], [found.iqm], *ends)
        charts.append(Chart("over several tasks, IQM", "", label, dots, is_joined=False))
    return [chart for chart in charts if chart.series]
