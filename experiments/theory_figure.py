"""The table and the figure of docs/theory.md: measured slopes against the bounds of the theorems.

python experiments/theory_figure.py --figure docs/figures/theory.png
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from matplotlib.ticker import LogLocator, NullFormatter

from spacil.cli.output import identity, print_table, show
from spacil.comparison.figures import finish_figure, plain_style, subplots
from theory import Slope, measure

MEASURED_COLOUR, BOUND_COLOUR = "#1f6f8b", "#c8553d"
PANELS = {
    "value": ("Theorem 1: slope of V*", "$\\gamma L_p$", "bound $L_c / (1 - \\gamma L_p)$"),
    "steep_value": ("Without its condition, $\\gamma L_p = 1.35$", "grid states", ""),
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
"""Title, parameter and bound"""


@dataclass(frozen=True)
class Arguments:
    figure: Path | None = None
    """Picture of slopes against bounds (.png, .pdf, .svg)."""
    json: Path | None = None
    """File for the numbers."""


@plain_style()
def draw_theory(panels: Mapping[str, Sequence[Slope]], path: Path) -> None:
    """One panel each, slope and bound over the parameter."""
    figure, grid = subplots(2, 2, figsize=(7.5, 5.6))
    for axes, (name, (title, parameter, bound)) in zip(grid.flat, PANELS.items(), strict=True):
        points = [point.parameter for point in panels[name]]
        line: Any = {"color": MEASURED_COLOUR, "marker": "o", "markersize": 5}
        axes.plot(points, [point.slope for point in panels[name]], **line, label="measured")
        if bound:
            line = {"color": BOUND_COLOUR, "linestyle": "--", "marker": "_", "markersize": 10}
            axes.plot(points, [point.bound for point in panels[name]], **line, label=bound)
        else:
            axes.set_xscale("log", base=2)
            axes.set_xticks(points, [f"{size:g}" for size in points])
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(parameter)
        axes.set_ylabel("steepest slope")
        axes.legend(frameon=False, fontsize=9)
    finish_figure(figure, path, dpi=90)


def main(figure: Path | None, json: Path | None) -> None:
    panels = measure()
    if figure is not None:
        draw_theory(panels, figure)
    document = {name: [asdict(slope) for slope in slopes] for name, slopes in panels.items()}
    rows = [
        [name, f"{slope.parameter:g}", slope.slope, slope.bound]
        for name, slopes in panels.items()
        for slope in slopes
    ]
    header = ["slope of", "parameter", "measured", "bound"]
    show(identity() | {"panels": document}, json, lambda: print_table(header, rows))


if __name__ == "__main__":
    arguments = tyro.cli(Arguments, description=__doc__)
    main(arguments.figure, arguments.json)
