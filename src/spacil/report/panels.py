"""Figures from data: any number of panels with lines, bands and dots, as documents hold them.

    python -m spacil.report.panels docs/results/returns.json docs/results/returns.png

draws the figure of a result again from its JSON file.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.report.comparison import finish_figure
from spacil.report.plain_figures import plain_style, subplots

_COLOURS = (
    "#c8553d", "#1f6f8b", "#7d8491", "#d9a441", "#588157", "#6d597a", "#b56576", "#2a9d8f",
    "#8d5524", "#4361ee", "#9c89b8", "#222222",
)  # fmt: skip


@plain_style()
def draw_panels(panels: Sequence[Mapping[str, Any]], path: Path, columns: int = 5) -> None:
    """`panels` as `Panel` of an experiment's document has them; PNG or SVG by the file's name."""
    columns = min(len(panels), columns)
    rows = -(-len(panels) // columns)
    figure, axes = subplots(rows, columns, figsize=(4.6 * columns, 3.8 * rows), squeeze=False)
    colours = colours_of(one["label"] for panel in panels for one in panel["series"])
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw(axis, panel, colours)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    finish_figure(figure, axes, path)


def colours_of(labels: Iterable[str]) -> dict[str, str]:
    """One colour per label, the same in all panels of a figure."""
    return {label: _COLOURS[i % len(_COLOURS)] for i, label in enumerate(dict.fromkeys(labels))}


def _draw(axis: Any, panel: Mapping[str, Any], colours: Mapping[str, str]) -> None:
    for one in panel["series"]:
        colour = colours[one["label"]]
        if one["is_joined"]:
            mark = "o" if len(one["x"]) < 12 else None
            axis.plot(
                one["x"], one["y"], color=colour, label=one["label"], linewidth=1.4, marker=mark,
                markersize=4,
            )  # fmt: skip
        else:
            axis.scatter(one["x"], one["y"], color=colour, label=one["label"], s=24)
        if one["low"] is not None and one["high"] is not None:
            axis.fill_between(
                one["x"], one["low"], one["high"], color=colour, alpha=0.15, linewidth=0
            )
    if panel["reference"] is not None:
        axis.axhline(panel["reference"], color="#444", linestyle="--", linewidth=1)
    if panel["is_log_x"]:
        axis.set_xscale("log")
    if panel["is_log_y"]:
        axis.set_yscale("log")
    axis.set_title(panel["title"], parse_math=False, fontsize=10)
    axis.set_xlabel(panel["x_label"], parse_math=False)
    axis.set_ylabel(panel["y_label"], parse_math=False)
    if panel["series"]:
        axis.legend(frameon=False, fontsize=7)


def main(source: str, picture: str) -> None:
    document = storage.read_json(Path(source))
    draw_panels(document["panels"], Path(picture), document["panel_columns"])


if __name__ == "__main__":
    main(*sys.argv[1:])
