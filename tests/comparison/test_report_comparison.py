"""The figures of a comparison: bands over seeds, and points of the front."""

from pathlib import Path

import numpy as np
from pictures import assert_drawn

from spacil.comparison.comparison_charts import (
    Bar,
    Evaluated,
    Line,
    Point,
    band_of,
    draw_aggregate,
    draw_curves,
    draw_front,
)
from spacil.comparison.looks import COLOURS, looks_of


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


def test_a_dozen_rows_have_a_colour_each_and_the_next_ones_another_mark_and_line() -> None:
    looks = list(looks_of(map(str, range(36))).values())
    assert len({look.colour for look in looks[:12]}) == 12
    assert looks[12].colour == looks[0].colour
    assert len({(look.colour, look.mark) for look in looks}) == 36
    assert len({(look.colour, look.line) for look in looks}) == 36


def test_every_figure_shows_a_dozen_rows_in_a_dozen_colours(tmp_path: Path) -> None:
    labels = [f"row {i}" for i in range(12)]
    lines = [Line("A-v0", label, [run(1.0 * i, 5.0 + i)]) for i, label in enumerate(labels)]
    draw_curves(lines, tmp_path / "curves.svg", {})
    draw_front([Point("A-v0", label, 1.0, 1.0) for label in labels], tmp_path / "front.svg", {})
    draw_aggregate([Bar("G", label, 1.0, None, None) for label in labels], tmp_path / "bars.svg")
    for name in ("curves", "front", "bars"):
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert [colour for colour in COLOURS if colour not in drawn] == [], name
