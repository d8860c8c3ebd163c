"""Figures of several runs side by side: learning curves with bands, and return against J.

    python -m spacil.comparison.comparison_charts docs/results/imitation.json imitation.png

draws the curves of a JSON file that lists runs: {"task", "label", "seed", "evaluations": [...]}.
Pictures are PNG or SVG, by the name of the file.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.comparison.looks import Look, looks_of
from spacil.comparison.plain_figures import finish_figure, plain_style, subplots

_COLUMNS_IN_A_ROW = 5
DPI = 90


@dataclass(frozen=True)
class Evaluated:
    """One evaluation during training."""

    iteration: int
    average_return: float
    smoothness_j: float | None


@dataclass(frozen=True)
class Line:
    """The runs of one setting on one task, a sequence of evaluations per seed."""

    task: str
    label: str
    runs: Sequence[Sequence[Evaluated]]


@dataclass(frozen=True)
class Point:
    """One run: how smooth and how good its policy is."""

    task: str
    label: str
    smoothness_j: float | None
    average_return: float | None


@dataclass(frozen=True)
class Bar:
    """A number over several tasks, with its interval; None where one seed has none."""

    panel: str
    label: str
    middle: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Band:
    """Mean over seeds at the iterations that all of them have, and the range of the seeds."""

    iterations: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def band_of(runs: Sequence[Sequence[Evaluated]], name: str) -> Band | None:
    """Of one number of the evaluations; None where no iteration has it in all runs."""
    columns = [
        {point.iteration: getattr(point, name) for point in run if getattr(point, name) is not None}
        for run in runs
    ]
    shared = sorted(set.intersection(*(set(column) for column in columns))) if columns else []
    if not shared:
        return None
    values = np.array([[column[i] for i in shared] for column in columns], dtype=np.float64)
    return Band(np.array(shared), values.mean(axis=0), values.min(axis=0), values.max(axis=0))


@plain_style()
def draw_curves(lines: Sequence[Line], path: Path, demonstrators: Mapping[str, float]) -> None:
    """One column per task: return above, J below; mean over seeds, shaded from worst to best."""
    tasks = list(dict.fromkeys(line.task for line in lines))
    figure, axes = subplots(2, len(tasks), figsize=(5 * len(tasks), 6), sharex="col", squeeze=False)
    looks = looks_of(line.label for line in lines)
    for column, task in enumerate(tasks):
        upper, lower = axes[:, column]
        for line in lines:
            if line.task == task:
                seeds = "1 seed" if len(line.runs) == 1 else f"{len(line.runs)} seeds"
                name = f"{line.label} ({seeds})"
                _draw_band(upper, band_of(line.runs, "average_return"), looks[line.label], name)
                _draw_band(lower, band_of(line.runs, "smoothness_j"), looks[line.label], name)
        if task in demonstrators:
            upper.axhline(demonstrators[task], color="#444", linestyle="--", linewidth=1)
        upper.set_title(task, parse_math=False)
        upper.legend(frameon=False, fontsize=8)
        lower.set_ylim(bottom=0)
        lower.set_xlabel("iteration")
    axes[0, 0].set_ylabel("return G (dashed: demonstrator)")
    axes[1, 0].set_ylabel("J, common frame (lower is smoother)")
    finish_figure(figure, path, dpi=DPI)


@plain_style()
def draw_front(points: Sequence[Point], path: Path, demonstrators: Mapping[str, float]) -> None:
    """One panel per task: return against J, a dot per run; up and to the left is better."""
    tasks = list(dict.fromkeys(point.task for point in points))
    num_columns = min(len(tasks), _COLUMNS_IN_A_ROW)
    num_rows = -(-len(tasks) // num_columns)
    figure, axes = subplots(
        num_rows, num_columns, figsize=(4.5 * num_columns, 4 * num_rows), squeeze=False
    )
    looks = looks_of(point.label for point in points)
    for axis, task in zip(axes.flat, tasks, strict=False):
        for label, look in looks.items():
            known = [
                (point.smoothness_j, point.average_return)
                for point in points
                if (point.task, point.label) == (task, label)
                and point.smoothness_j is not None
                and point.average_return is not None
            ]
            if known:
                x, y = zip(*known, strict=True)
                axis.scatter(x, y, color=look.colour, marker=look.mark, label=label, s=28)
        if task in demonstrators:
            axis.axhline(demonstrators[task], color="#444", linestyle="--", linewidth=1)
        axis.set_title(task, parse_math=False)
        axis.set_xlim(left=0)
        axis.set_xlabel("J, common frame (lower is smoother)")
        axis.legend(frameon=False, fontsize=8)
    for axis in axes.flat[len(tasks) :]:
        axis.set_visible(False)
    axes[0, 0].set_ylabel("return G (dashed: demonstrator)")
    finish_figure(figure, path, dpi=DPI)


@plain_style()
def draw_aggregate(bars: Sequence[Bar], path: Path) -> None:
    """Settings over several tasks: interquartile means with their intervals, one panel a number."""
    panels = list(dict.fromkeys(bar.panel for bar in bars))
    labels = list(dict.fromkeys(bar.label for bar in bars))
    looks = looks_of(labels)
    figure, axes = subplots(
        1, len(panels), figsize=(5 * len(panels), 1.2 + 0.5 * len(labels)), squeeze=False
    )
    for axis, panel in zip(axes.flat, panels, strict=True):
        for bar in bars:
            if bar.panel == panel:
                place, look = -labels.index(bar.label), looks[bar.label]
                if bar.low is not None and bar.high is not None:
                    ends = [bar.low, bar.high]
                    axis.plot(ends, [place] * 2, color=look.colour, linewidth=8, alpha=0.35)
                axis.plot([bar.middle], [place], color=look.colour, marker=look.mark)
        axis.set_title(panel, fontsize=10)
        axis.set_yticks([-i for i in range(len(labels))], labels, parse_math=False)
        axis.set_ylim(0.5 - len(labels), 0.5)
    finish_figure(figure, path, dpi=DPI)


def _draw_band(axis: Any, band: Band | None, look: Look, name: str) -> None:
    if band is None:
        return
    x = band.iterations
    axis.plot(x, band.mean, color=look.colour, linestyle=look.line, linewidth=1.4, label=name)
    axis.fill_between(x, band.low, band.high, color=look.colour, alpha=0.15, linewidth=0)


def main(source: str, picture: str) -> None:
    document = storage.read_json(Path(source))
    lines = []
    for task in dict.fromkeys(run["task"] for run in document["runs"]):
        for label in document["shown"]:
            runs = [
                [
                    Evaluated(row["iteration"], row["average_return"], row["smoothness_j_common"])
                    for row in run["evaluations"]
                ]
                for run in document["runs"]
                if (run["task"], run["label"]) == (task, label)
            ]
            if runs:
                lines.append(Line(task, label, runs))
    draw_curves(lines, Path(picture), document["demonstrator_returns"])


if __name__ == "__main__":
    main(*sys.argv[1:])
