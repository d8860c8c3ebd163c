"""Figures from data: any number of panels with lines, bands and dots, as documents hold them.

    python -m spacil.comparison.panels docs/results/returns.json docs/results/returns.png

draws the figure of a result again from its JSON file.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.comparison.figures import DPI, finish_figure, plain_style, subplots
from spacil.comparison.looks import Look, looks_in

_LEGEND_ROW, _HANDLE_WIDTH, _LETTER_WIDTH = 0.22, 0.6, 0.065
"""Height of a row of the legend, width of a mark and of a letter in it, inches"""
_MARGIN = 0.05


@plain_style()
def draw_panels(panels: Sequence[Mapping[str, Any]], path: Path, columns: int = 5) -> None:
    """`panels` as `Panel` of an experiment's document has them; PNG or SVG by the file's name.

    One legend for all, below: a label has the same colour in every panel.
    """
    columns = min(len(panels), columns)
    rows = -(-len(panels) // columns)
    looks = looks_in(one for panel in panels for one in panel["series"])
    width, height = 4.6 * columns, 3.8 * rows
    label_width = _HANDLE_WIDTH + _LETTER_WIDTH * max(map(len, looks), default=0)
    labels_per_row = max(1, int(width / label_width))
    legend = _LEGEND_ROW * -(-len(looks) // labels_per_row)
    figure, axes = subplots(rows, columns, figsize=(width, height + legend), squeeze=False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        _draw(axis, panel, looks)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    handles = {h.get_label(): h for axis in axes.flat for h in axis.get_legend_handles_labels()[0]}
    if handles:
        figure.legend(
            [handles[label] for label in looks], list(looks), loc="lower center", frameon=False,
            ncols=min(labels_per_row, len(looks)), fontsize=8,
        )  # fmt: skip
    finish_figure(figure, path, dpi=DPI, below=legend / (height + legend))


def _draw(axis: Any, panel: Mapping[str, Any], looks: Mapping[str, Look]) -> None:
    for one in panel["series"]:
        look = looks[one["label"]]
        if one["is_joined"]:
            mark = look.mark if len(one["x"]) < 12 else None
            axis.plot(
                one["x"], one["y"], color=look.colour, label=one["label"], linewidth=1.4,
                marker=mark, markersize=4 * look.size,
            )  # fmt: skip
        else:
            axis.scatter(
                one["x"], one["y"], label=one["label"], s=24 * look.size**2, marker=look.mark,
                edgecolors=look.colour, facecolors="none" if look.is_hollow else look.colour,
                zorder=3 + look.size,
            )  # fmt: skip
        if one["low"] is not None and one["high"] is not None:
            axis.fill_between(
                one["x"], one["low"], one["high"], color=look.colour, alpha=0.15, linewidth=0
            )
    if panel["reference"] is not None:
        _draw_level(axis, panel["reference"], panel.get("reference_label", ""))
    if panel["is_log_x"]:
        axis.set_xscale("log")
    if panel["is_log_y"]:
        axis.set_yscale("log")
    if panel.get("least_y") is not None:
        _crop(axis, panel["series"], panel["least_y"])
    axis.set_title(panel["title"], parse_math=False, fontsize=10)
    axis.set_xlabel(panel["x_label"], parse_math=False)
    axis.set_ylabel(panel["y_label"], parse_math=False)


def _draw_level(axis: Any, level: float, label: str) -> None:
    """Dashed across, with its name above the right end."""
    axis.axhline(level, color="#444", linestyle="--", linewidth=1)
    axis.annotate(
        label, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom",
        fontsize=7, color="#444", parse_math=False,
    )  # fmt: skip


def _crop(axis: Any, series: Sequence[Mapping[str, Any]], least_y: float) -> None:
    """Down to `least_y`, and no wider than what lies above it."""
    axis.set_ylim(bottom=least_y)
    shown = [x for one in series for x, y in zip(one["x"], one["y"], strict=True) if y >= least_y]
    if shown:
        margin = _MARGIN * (max(shown) - min(shown) or 1.0)
        axis.set_xlim(min(shown) - margin, max(shown) + margin)


def main(source: str, picture: str) -> None:
    document = storage.read_json(Path(source))
    draw_panels(document["panels"], Path(picture), document["panel_columns"])


if __name__ == "__main__":
    main(*sys.argv[1:])
