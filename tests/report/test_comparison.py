"""The figures of a comparison: bands over seeds, and points of the front."""

from pathlib import Path

import numpy as np
from pictures import assert_drawn

from spacil.report.comparison import (
    COLOURS,
    Evaluated,
    Line,
    Point,
    band_of,
    draw_curves,
    draw_front,
)


def run(*returns: float, j: float | None = 1.0) -> list[Evaluated]:
    return [Evaluated(10 * (i + 1), value, j) for i, value in enumerate(returns)]


def test_a_band_is_the_mean_and_the_range_of_the_seeds() -> None:
    band = band_of([run(1.0, 2.0, 3.0), run(3.0, 6.0)], "average_return")
    assert band is not None
    assert band.iterations.tolist() == [10, 20]  # those that both have
    np.testing.assert_array_equal(band.mean, [2.0, 4.0])
    np.testing.assert_array_equal(band.low, [1.0, 2.0])
    np.testing.assert_array_equal(band.high, [3.0, 6.0])


def test_a_number_that_is_not_there_has_no_band() -> None:
    assert band_of([run(1.0, j=None)], "smoothness_j") is None
    assert band_of([], "smoothness_j") is None


def test_curves_of_two_tasks_are_drawn_side_by_side(tmp_path: Path) -> None:
    lines = [
        Line("A-v0", "gail", [run(1.0, 5.0), run(2.0, 4.0)]),
        Line("B-v0", "odd $name", [run(1.0, 2.0, j=None)]),
    ]
    draw_curves(lines, tmp_path / "curves.png", {"A-v0": 4.5})
    assert_drawn(tmp_path / "curves.png", (900, 540), COLOURS[:1])


def test_a_front_has_a_panel_per_task(tmp_path: Path) -> None:
    tasks = [f"T{i}-v0" for i in range(6)]
    points = [Point(task, "gail", 1.0, 2.0) for task in tasks]
    points.append(Point("T0-v0", "unknown", None, 2.0))
    draw_front(points, tmp_path / "front.png", {})
    assert_drawn(tmp_path / "front.png", (2025, 720), COLOURS[:1])
