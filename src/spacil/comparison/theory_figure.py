"""The figure of docs/theory.md: measured slopes against the bounds of the theorems."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from spacil.comparison.figures import lighten, plain_style, save_figure

MEASURED_COLOUR = "#1f6f8b"
BOUND_COLOUR = "#c8553d"

Rows = Sequence[Mapping[str, Any]]
"""One row per point: `parameter`, `slope`, `bound` (or None)"""

_PANELS = {
    "value": (
        "Theorem 1: slope of V*",
        "$\\gamma L_p$",
        "bound $L_c / (1 - \\gamma L_p)$",
    ),
    "steep_value": (
        "Without its condition, $\\gamma L_p = 1.35$",
        "grid states",
        "",
    ),
    "greedy": (
        "Theorem 2: greedy action of $sa + \\frac{m}{2} a^2$",
        "convexity $m$",
        "bound $L_{sa} / m$",
    ),
    "gibbs": (
        "Theorem 2: Gibbs mean of $sa$",
        "temperature $\\tau$",
        "bound diam$(A) L_Q / 2\\tau$",
    ),
}


@plain_style()
def draw_theory(panels: Mapping[str, Rows], path: Path) -> None:
    """One panel each, slope and bound over the parameter, as a PNG."""
    figure = Figure(figsize=(7.5, 5.6), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, _PANELS, strict=True):
        _draw_panel(axes, panels[name], *_PANELS[name])
    save_figure(figure, path, dpi=90)


def _draw_panel(axes: Axes, rows: Rows, title: str, parameter: str, bound: str) -> None:
    parameters = [row["parameter"] for row in rows]
    axes.plot(
        parameters,
        [row["slope"] for row in rows],
        color=MEASURED_COLOUR,
        marker="o",
        markersize=5,
        label="measured",
    )
    if bound:
        axes.plot(
            parameters,
            [row["bound"] for row in rows],
            color=BOUND_COLOUR,
            linestyle="--",
            marker="_",
            markersize=10,
            label=bound,
        )
    else:
        axes.set_xscale("log", base=2)
        axes.set_xticks(parameters, [f"{size:g}" for size in parameters])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(parameter)
    axes.set_ylabel("steepest slope")
    axes.legend(frameon=False, fontsize=9)
    lighten(axes)
