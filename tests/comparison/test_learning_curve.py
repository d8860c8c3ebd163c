"""The picture of a run: of what was evaluated, whole or not at all."""

from pathlib import Path
from typing import Any

import pytest
from pictures import CURVE_COLOURS, CURVE_SIZE, RUN_CURVE_SIZE, assert_drawn

from spacil.comparison import figures, pictures
from spacil.comparison.pictures import draw_learning_curve
from spacil.errors import StorageError


def rows(num: int = 4, **more: Any) -> list[dict[str, Any]]:
    """Metrics of a run that is evaluated every other iteration."""
    evaluated = {"return_std": 2.0, "smoothness_j": 0.5, "smoothness_j_own": 1.5} | more
    return [
        {"iteration": i, "env_steps": 100 * i}
        | ({"average_return": 10.0 * i, **evaluated} if i % 2 == 0 else {})
        for i in range(1, num + 1)
    ]


@pytest.mark.parametrize("more", [{}, {"smoothness_j": None}], ids=["common", "own"])
@pytest.mark.parametrize("demonstrator", [{}, {"average_return": 35.0, "smoothness_j": 0.8}])
def test_a_run_becomes_a_picture(
    tmp_path: Path, more: dict[str, Any], demonstrator: dict[str, float | None]
) -> None:
    draw_learning_curve(rows(**more), tmp_path / "curve.png", "a run", demonstrator)
    assert_drawn(tmp_path / "curve.png", CURVE_SIZE, CURVE_COLOURS)
    assert [path.name for path in tmp_path.iterdir()] == ["curve.png"]


def lines_of(panel: Any) -> dict[str, list[float]]:
    """Label -> y of every line in a panel."""
    return {line.get_label(): [float(y) for y in line.get_ydata()] for line in panel.get_lines()}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures with their axes, kept as they are made."""
    drawn: list[Any] = []

    def keep(*arguments: Any, **how: Any) -> Any:
        drawn.append(figures.subplots(*arguments, **how))
        return drawn[-1]

    monkeypatch.setattr(pictures, "subplots", keep)
    return drawn


def test_both_panels_have_the_start_and_the_demonstrator(tmp_path: Path, drawn: list[Any]) -> None:
    start = {"iteration": 0, "env_steps": 0, "average_return": -1.0, "return_std": 1.0}
    start |= {"smoothness_j": 0.1, "smoothness_j_own": 0.2}
    demonstrator = {"average_return": 35.0, "smoothness_j": 0.8}
    draw_learning_curve([start, *rows()], tmp_path / "curve.png", "a run", demonstrator)
    upper, lower = (lines_of(panel) for panel in drawn[0][0].axes)
    assert upper["learned policy, mean"] == [-1.0, 20.0, 40.0]
    assert upper["demonstrator 35"] == [35.0, 35.0]
    assert lower["learned policy, mean over states"] == [0.1, 0.5, 0.5]
    assert lower["demonstrator 0.8"] == [0.8, 0.8]


def test_the_action_change_has_a_panel_of_its_own_where_it_is_known(
    tmp_path: Path, drawn: list[Any]
) -> None:
    demonstrator = {"average_return": 35.0, "action_fluctuation": 0.4}
    known = rows(action_fluctuation=0.3)
    draw_learning_curve(known, tmp_path / "curve.png", "a run", demonstrator)
    assert_drawn(tmp_path / "curve.png", RUN_CURVE_SIZE, CURVE_COLOURS)
    *_, lowest = (lines_of(panel) for panel in drawn[0][0].axes)
    assert lowest["learned policy, mean over states"] == [0.3, 0.3]
    assert lowest["demonstrator 0.4"] == [0.4, 0.4]


def test_a_start_alone_is_no_picture(tmp_path: Path) -> None:
    start = {"iteration": 0, "env_steps": 0, "average_return": -1.0, "return_std": 1.0}
    draw_learning_curve([start | {"smoothness_j": 0.1}], tmp_path / "curve.png", "a run")
    assert list(tmp_path.iterdir()) == []


def test_one_evaluation_is_enough(tmp_path: Path) -> None:
    draw_learning_curve(rows(2), tmp_path / "curve.png", "a short run")
    assert_drawn(tmp_path / "curve.png", CURVE_SIZE, CURVE_COLOURS)


def test_without_an_evaluation_there_is_no_picture(tmp_path: Path) -> None:
    draw_learning_curve(rows(1), tmp_path / "curve.png", "a very short run")
    draw_learning_curve([], tmp_path / "curve.png", "no run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("title", ["costs $x and $\\frac{", "a_b^c", "100 % ± 3"])
def test_a_title_is_text_and_no_formula(tmp_path: Path, title: str) -> None:
    draw_learning_curve(rows(), tmp_path / "curve.png", title)
    assert_drawn(tmp_path / "curve.png", CURVE_SIZE, CURVE_COLOURS)


def test_a_picture_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such file or folder"):
        draw_learning_curve(rows(), tmp_path / "none" / "curve.png", "a run")
