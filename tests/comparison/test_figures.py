"""The figures of a comparison: bands over seeds, points of the front, intervals over tasks."""

from pathlib import Path

import numpy as np
import pandas as pd
from pictures import assert_drawn

from spacil.comparison.comparison import Aggregate
from spacil.comparison.figures import (
    COLOURS,
    band_over_seeds,
    draw_aggregates,
    draw_curves,
    draw_front,
    looks_of,
)
from spacil.comparison.statistics import summarize


def curves(task: str, label: str, *returns: list[float], j: float = 1.0) -> pd.DataFrame:
    """Evaluations at iterations 10, 20, ..., one list per seed."""
    return pd.DataFrame(
        [
            (f"{task} {label} {seed}", task, label, 10 * (i + 1), value, j)
            for seed, values in enumerate(returns)
            for i, value in enumerate(values)
        ],
        columns=["run_dir", "task", "label", "iteration", "average_return", "smoothness_j"],
    )


def runs(task: str, label: str, j: float) -> pd.DataFrame:
    row = {"task": task, "label": label, "smoothness_j_common": j, "average_return": 2.0}
    return pd.DataFrame([row])


def test_a_band_is_the_mean_and_the_range_of_the_seeds_where_all_have_a_number() -> None:
    of_row = curves("A-v0", "gail", [1.0, 2.0, 3.0], [3.0, 6.0])
    band = band_over_seeds(of_row, "average_return")
    assert band.to_dict("list") == {"mean": [2.0, 4.0], "low": [1.0, 2.0], "high": [3.0, 6.0]}
    assert band.index.tolist() == [10, 20]
    assert band_over_seeds(curves("A-v0", "gail", [1.0], j=np.nan), "smoothness_j").empty


def test_figures_have_a_panel_per_task(tmp_path: Path) -> None:
    lines = [
        curves("A-v0", "gail", [1.0, 5.0], [2.0, 4.0]),
        curves("B-v0", "odd $name", [1.0, 2.0], j=np.nan),
    ]
    draw_curves(pd.concat(lines), tmp_path / "curves.png", {"A-v0": 4.5})
    assert_drawn(tmp_path / "curves.png", (900, 540), COLOURS[:1])
    points = [runs(f"T{i}-v0", "gail", 1.0) for i in range(6)]
    points.append(runs("T0-v0", "unknown", np.nan))
    draw_front(pd.concat(points), tmp_path / "front.png", {})
    assert_drawn(tmp_path / "front.png", (2025, 720), COLOURS[:1])


def test_rows_look_different_a_dozen_in_every_figure_by_colour(tmp_path: Path) -> None:
    looks = list(looks_of(map(str, range(36))).values())
    assert len({colour for colour, _, _ in looks[:12]}) == 12
    assert looks[12][0] == looks[0][0]
    assert len({(colour, mark) for colour, mark, _ in looks}) == 36
    assert len({(colour, line) for colour, _, line in looks}) == 36
    labels = [f"row {i}" for i in range(12)]
    lines = [curves("A-v0", label, [1.0 * i, 5.0 + i]) for i, label in enumerate(labels)]
    draw_curves(pd.concat(lines), tmp_path / "curves.svg", {})
    dots = pd.concat([runs("A-v0", label, 1.0) for label in labels])
    draw_front(dots, tmp_path / "front.svg", {})
    bars = [Aggregate(label, ("A", "B"), (label,) * 2, summarize([1.0]), None) for label in labels]
    draw_aggregates(bars, tmp_path / "bars.svg")
    for name in ("curves", "front", "bars"):
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert [colour for colour in COLOURS if colour not in drawn] == [], name
