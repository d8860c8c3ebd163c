"""matplotlib as every picture of spacil uses it, and the figures of a comparison.

The surroundings choose neither backend nor style: not a notebook's MPLBACKEND, which may not even
be installed here, not a matplotlibrc that wants LaTeX, not a style that a user's program has set.
Nothing global is changed, so their own pictures stay as they want them.
"""

import contextlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacil import storage

if TYPE_CHECKING:
    import pandas as pd

    from spacil.comparison.comparison import Aggregate

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
REFERENCE = {"color": "#444", "linestyle": "--", "linewidth": 1}
"""Looks of a level across a figure, such as the demonstrator's return"""
DPI = 90
_COLUMNS = 5


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


def finish_figure(figure: Any, path: Path, *, dpi: int = 120, below: float = 0.0) -> Path:
    """Write it whole or not at all, as PNG or SVG by the name of the file.

    No box around the data, a faint grid behind it, and a legend wherever something has a name.
    `below`: the share of the height that is kept free under the axes, for a legend of them all.
    """
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.2)
        if not below and not axis.get_legend() and axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize="small")
    figure.tight_layout(rect=(0, below, 1, 1))
    save_figure(figure, path, dpi)
    return path


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """The same figure gives the same file: an SVG has neither a date nor random names inside."""
    picture = io.BytesIO()
    kind = path.suffix.removeprefix(".") or "png"
    undated = {"Date": None} if kind == "svg" else None
    with matplotlib.rc_context({"svg.hashsalt": "spacil"}):
        figure.savefig(picture, dpi=dpi, format=kind, metadata=undated)
    storage.replace_file(path, picture.getvalue())


# --- several runs side by side


def looks_of(labels: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Colour, mark and line by label, in the order given; three dozen labels look different."""
    looks = {}
    for place, label in enumerate(dict.fromkeys(labels)):
        times, colour = divmod(place, len(COLOURS))
        looks[label] = (COLOURS[colour], MARKS[times % 3], LINES[times % 3])
    return looks


def band_over_seeds(curves: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """`mean`, `low` and `high` of the seeds of one row, by the iterations that all of them have."""
    table = curves.pivot(index="iteration", columns="run_dir", values=name).dropna()
    columns = {"mean": table.mean(axis=1), "low": table.min(axis=1), "high": table.max(axis=1)}
    return table.assign(**columns)[list(columns)]


@plain_style()
def draw_curves(curves: "pd.DataFrame", path: Path, demonstrators: Mapping[str, float]) -> None:
    """One column per task: return above, J below; mean over seeds, shaded from worst to best."""
    tasks = list(curves.task.unique())
    figure, axes = subplots(2, len(tasks), figsize=(5 * len(tasks), 6), sharex="col", squeeze=False)
    looks = looks_of(curves.label)
    for (upper, lower), task in zip(axes.T, tasks, strict=True):
        for label, runs in curves[curves.task == task].groupby("label", sort=False):
            colour, _, line = looks[label]
            seeds = runs.run_dir.nunique()
            told = f"{label} ({seeds} seed{'s' if seeds > 1 else ''})"
            panels = ((upper, "average_return", told), (lower, "smoothness_j", None))
            for axis, measure, name in panels:
                band = band_over_seeds(runs, measure)
                if len(band):
                    axis.plot(band["mean"], color=colour, linestyle=line, linewidth=1.4, label=name)
                    ends = (band.index, band.low, band.high)
                    axis.fill_between(*ends, color=colour, alpha=0.15, linewidth=0)
        if task in demonstrators:
            upper.axhline(demonstrators[task], **REFERENCE)
        upper.set_title(task, parse_math=False)
        lower.set_ylim(bottom=0)
        lower.set_xlabel("iteration")
    axes[0, 0].set_ylabel("return G (dashed: demonstrator)")
    axes[1, 0].set_ylabel("J, common frame (lower is smoother)")
    finish_figure(figure, path, dpi=DPI)


@plain_style()
def draw_front(runs: "pd.DataFrame", path: Path, demonstrators: Mapping[str, float]) -> None:
    """One panel per task: return against J, a dot per run; up and to the left is better."""
    tasks = list(runs.task.unique())
    columns = min(len(tasks), _COLUMNS)
    rows = -(-len(tasks) // columns)
    figure, axes = subplots(rows, columns, figsize=(4.5 * columns, 4 * rows), squeeze=False)
    looks = looks_of(runs.label)
    for axis, task in zip(axes.flat, tasks, strict=False):
        known = runs[runs.task == task].dropna(subset=["smoothness_j_common", "average_return"])
        for label, of_row in known.groupby("label", sort=False):
            colour, mark, _ = looks[label]
            x, y = of_row.smoothness_j_common, of_row.average_return
            axis.scatter(x, y, color=colour, marker=mark, label=label, s=28)
        if task in demonstrators:
            axis.axhline(demonstrators[task], **REFERENCE)
        axis.set_title(task, parse_math=False)
        axis.set_xlim(left=0)
        axis.set_xlabel("J, common frame (lower is smoother)")
    for axis in axes.flat[len(tasks) :]:
        axis.set_visible(False)
    axes[0, 0].set_ylabel("return G (dashed: demonstrator)")
    finish_figure(figure, path, dpi=DPI)


@plain_style()
def draw_aggregates(aggregates: "Sequence[Aggregate]", path: Path) -> None:
    """Settings over several tasks: interquartile means with their intervals, one panel a number."""
    labels = [one.label for one in aggregates]
    panels = {
        "return: 0 random, 1 demonstrator": [one.normalized_return for one in aggregates],
        "J / J of the baseline": [one.j_ratio for one in aggregates],
    }
    shown = [title for title, summaries in panels.items() if any(summaries)]
    size = (5 * len(shown), 1.2 + 0.5 * len(labels))
    figure, axes = subplots(1, len(shown), figsize=size, squeeze=False)
    for axis, title in zip(axes.flat, shown, strict=True):
        looks = looks_of(labels).values()
        for place, ((colour, mark, _), one) in enumerate(zip(looks, panels[title], strict=True)):
            if one is not None and one.low is not None:
                axis.plot([one.low, one.high], [-place] * 2, color=colour, linewidth=8, alpha=0.35)
            if one is not None:
                axis.plot([one.iqm], [-place], color=colour, marker=mark)
        axis.set_title(title, fontsize=10)
        axis.set_yticks([-i for i in range(len(labels))], labels, parse_math=False)
        axis.set_ylim(0.5 - len(labels), 0.5)
    finish_figure(figure, path, dpi=DPI)
