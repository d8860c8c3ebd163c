"""Panels of a document as one figure: lines with bands, and dots, as PNG or SVG.

Rows are told apart by colour, and by mark where colours end. A row with a part in the comparison
looks like it: what the figure is about stands out, what it is only measured by stays back, and a
variant has the colour of what it varies, hollow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spacil.comparison.figures import COLOURS, finish_figure, plain_style, subplots

PALETTES = {"": COLOURS, "subject": ("#e6007a",), "backdrop": ("#222222", "#b0b5bd")}
MARKS = {"": "os^", "subject": "*DP", "backdrop": "os^"}
"""Mark of a row whose colour is there for the first, second and third time"""
LEGEND_ROW, HANDLE_WIDTH, LETTER_WIDTH = 0.22, 0.6, 0.065
"""Height of a row of the legend, width of a mark and of a letter in it, inches"""
MARGIN = 0.05


@dataclass(frozen=True)
class Look:
    """Look of one row, in every panel of a figure."""

    colour: str
    mark: str
    size: float
    """Size of the mark, relative to the usual"""
    is_hollow: bool = False


def looks_in(series: Iterable[Mapping[str, Any]]) -> dict[str, Look]:
    """By label, in the order given; series of old documents have no role."""
    by_label = {one["label"]: one for one in series}
    looks: dict[str, Look] = {}
    taken = Counter[str]()
    for label, one in by_label.items():
        if one.get("variant_of", "") not in by_label:
            role = one.get("role", "")
            times, place = divmod(taken[role], len(PALETTES[role]))
            mark = MARKS[role][times % len(MARKS[role])]
            looks[label] = Look(PALETTES[role][place], mark, 2.0 if role == "subject" else 1.0)
            taken[role] += 1
    for label, one in by_label.items():
        if label not in looks:
            looks[label] = replace(looks[one["variant_of"]], is_hollow=True)
    return {label: looks[label] for label in by_label}


@plain_style()
def draw(panels: Sequence[Mapping[str, Any]], path: Path, columns: int = 5) -> None:
    """Panels as a document has them. One legend for all: a label has one colour in all panels."""
    columns = min(len(panels), columns)
    rows = -(-len(panels) // columns)
    looks = looks_in(one for panel in panels for one in panel["series"])
    width, height = 4.6 * columns, 3.8 * rows
    label_width = HANDLE_WIDTH + LETTER_WIDTH * max(map(len, looks), default=0)
    labels_per_row = max(1, int(width / label_width))
    legend = LEGEND_ROW * -(-len(looks) // labels_per_row)
    figure, axes = subplots(rows, columns, figsize=(width, height + legend), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        draw_panel(axis, panel, looks)
    handles = {h.get_label(): h for axis in axes.flat for h in axis.get_legend_handles_labels()[0]}
    if handles:
        figure.legend(
            [handles[label] for label in looks], list(looks), loc="lower center", frameon=False,
            ncols=min(labels_per_row, len(looks)), fontsize=8,
        )  # fmt: skip
    finish_figure(figure, path, dpi=90, below=legend / (height + legend))


def draw_panel(axis: Any, panel: Mapping[str, Any], looks: Mapping[str, Look]) -> None:
    for one in panel["series"]:
        look, x, y = looks[one["label"]], one["x"], one["y"]
        if one["is_joined"]:
            mark = look.mark if len(x) < 12 else None
            style: Any = {"linewidth": 1.4, "marker": mark, "markersize": 4 * look.size}
            axis.plot(x, y, color=look.colour, label=one["label"], **style)
        else:
            face = "none" if look.is_hollow else look.colour
            style = {"s": 24 * look.size**2, "marker": look.mark, "zorder": 3 + look.size}
            axis.scatter(x, y, label=one["label"], edgecolors=look.colour, facecolors=face, **style)
        if one["low"] is not None and one["high"] is not None:
            axis.fill_between(x, one["low"], one["high"], color=look.colour, alpha=0.15, lw=0)
    if panel["reference"] is not None:
        axis.axhline(panel["reference"], color="#444", linestyle="--", linewidth=1)
        axis.annotate(
            panel.get("reference_label", ""), (1, panel["reference"]), fontsize=7, color="#444",
            xycoords=("axes fraction", "data"), ha="right", va="bottom", parse_math=False,
        )  # fmt: skip
    if panel["is_log_x"]:
        axis.set_xscale("log")
    if panel["is_log_y"]:
        axis.set_yscale("log")
    if panel.get("least_y") is not None:
        crop(axis, panel["series"], panel["least_y"])
    axis.set_title(panel["title"], parse_math=False, fontsize=10)
    axis.set_xlabel(panel["x_label"], parse_math=False)
    axis.set_ylabel(panel["y_label"], parse_math=False)


def crop(axis: Any, series: Sequence[Mapping[str, Any]], least_y: float) -> None:
    """Cut the axes at `least_y`, and where nothing above it is drawn."""
    axis.set_ylim(bottom=least_y)
    shown = [x for one in series for x, y in zip(one["x"], one["y"], strict=True) if y >= least_y]
    if shown:
        margin = MARGIN * (max(shown) - min(shown) or 1.0)
        axis.set_xlim(min(shown) - margin, max(shown) + margin)
