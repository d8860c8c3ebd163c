"""Figures from data."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from pictures import assert_drawn

import figure
from figure import COLOURS


def panel(**changes: Any) -> dict[str, Any]:
    line = {"label": "ours", "x": [1, 2, 3], "y": [1.0, 2.0, 3.0], "is_joined": True}
    band = {"low": [0.5, 1.5, 2.5], "high": [1.5, 2.5, 3.5]}
    dots = {"label": "a_b$c", "x": [1], "y": [2.0], "low": None, "high": None, "is_joined": False}
    known = {"title": "Hopper-v4", "x_label": "J", "y_label": "G", "series": [line | band, dots]}
    return known | {"reference": 2.0, "is_log_x": False, "is_log_y": False} | changes


@pytest.mark.parametrize("changes", [{}, {"is_log_x": True, "is_log_y": True}, {"series": []}])
def test_any_panel_can_be_drawn(changes: dict[str, Any], tmp_path: Path) -> None:
    figure.draw([panel(**changes)], tmp_path / "one.png")
    assert_drawn(tmp_path / "one.png", COLOURS[:1] if changes.get("series", True) else ())


def test_the_same_panels_give_the_same_file(tmp_path: Path) -> None:
    first, again = (tmp_path / name for name in ("first.svg", "again.svg"))
    for path in (first, again):
        figure.draw([panel()], path)
    assert first.read_bytes() == again.read_bytes()
    assert b"<dc:date>" not in first.read_bytes()


def test_what_lies_below_the_least_value_is_cut_off_and_takes_no_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures: list[Figure] = []  # drawn, instead of their files
    monkeypatch.setattr(figure, "finish_figure", lambda fig, path, **how: figures.append(fig))
    far = {"label": "far", "x": [100.0], "y": [0.0], "low": None, "high": None, "is_joined": False}
    here = far | {"label": "here", "x": [1.0, 2.0], "y": [3.0, 4.0]}
    figure.draw([panel(series=[far, here], least_y=2.5)], tmp_path / "cut.png")
    (axis,) = figures[0].axes
    assert axis.get_ylim()[0] == 2.5
    left, right = axis.get_xlim()
    assert left < 1 and 2 < right < 3
