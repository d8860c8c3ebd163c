"""Pictures show the numbers they are given, all of them and no others, whole or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import CURVE_COLOURS, CURVE_SIZE, RUN_CURVE_SIZE, assert_drawn

import spacil
from spacil.comparison import figures as figures_room
from spacil.comparison.pictures import (
    MAX_ACTIONS_DRAWN,
    draw_demonstrations,
    draw_learning_curve,
    draw_pictures,
)
from spacil.errors import ConfigError, StorageError


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """The figures by file name, as they were when they were to be saved."""
    figures: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path, dpi: int) -> None:
        figures[path.name] = figure

    monkeypatch.setattr(figures_room, "save_figure", keep)
    return figures


def lines(axis: Any) -> dict[str, list[float]]:
    """Label -> y of every line in a panel."""
    return {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in axis.get_lines()}


# --- a run


def rows(num: int = 4, **more: Any) -> list[dict[str, Any]]:
    """Metrics of a run that is evaluated every other iteration."""
    evaluated = {"return_std": 2.0, "smoothness_j": 0.5, "smoothness_j_own": 1.5} | more
    return [
        {"iteration": i, "env_steps": 100 * i}
        | ({"average_return": 10.0 * i, **evaluated} if i % 2 == 0 else {})
        for i in range(1, num + 1)
    ]


START = {"iteration": 0, "env_steps": 0, "average_return": -1.0, "return_std": 1.0}
START |= {"smoothness_j": 0.1, "smoothness_j_own": 0.2}


@pytest.mark.parametrize(
    ("found", "size"),
    [
        (rows(), CURVE_SIZE),
        (rows(smoothness_j=None), CURVE_SIZE),
        (rows(2), CURVE_SIZE),
        (rows(action_fluctuation=0.3), RUN_CURVE_SIZE),
    ],
    ids=["common", "own", "one evaluation", "action change"],
)
@pytest.mark.parametrize("title", ["a run", "costs $x and $\\frac{", "100 % ± a_b^c"])
def test_a_run_becomes_a_picture_whose_title_is_no_formula(
    tmp_path: Path, found: list[dict[str, Any]], size: tuple[int, int], title: str
) -> None:
    draw_learning_curve(found, tmp_path / "curve.png", title, {"average_return": 35.0})
    assert_drawn(tmp_path / "curve.png", size, CURVE_COLOURS)
    assert [path.name for path in tmp_path.iterdir()] == ["curve.png"]


def test_every_panel_has_the_start_and_the_demonstrator(drawn: dict[str, Figure]) -> None:
    demonstrator = {"average_return": 35.0, "smoothness_j": 0.8, "action_fluctuation": 0.4}
    found = [START, *rows(action_fluctuation=0.3)]
    draw_learning_curve(found, Path("curve.png"), "a run", demonstrator)
    upper, middle, lower = (lines(axis) for axis in drawn["curve.png"].axes)
    assert upper == {"learned policy, mean": [-1.0, 20.0, 40.0], "demonstrator 35": [35.0, 35.0]}
    assert middle["learned policy, mean over states"] == [0.1, 0.5, 0.5]
    assert middle["demonstrator 0.8"] == [0.8, 0.8]
    assert lower["learned policy, mean over states"][1:] == [0.3, 0.3]
    assert lower["demonstrator 0.4"] == [0.4, 0.4]


@pytest.mark.parametrize("found", [[], rows(1), [START]], ids=["no run", "short", "a start"])
def test_without_an_evaluation_or_a_folder_there_is_no_picture(tmp_path: Path, found: Any) -> None:
    draw_learning_curve(found, tmp_path / "curve.png", "a very short run")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="no such file or folder"):
        draw_learning_curve(rows(), tmp_path / "none" / "curve.png", "a run")


# --- a smoothness report


def make_trace(num_actions: int = 2, *frames: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found = {frame: rng.random(20) for frame in frames or ("own", "common", "effective")}
    return found | {
        "actions": rng.normal(size=(20, num_actions)),
        "frequencies": np.arange(10) / 20,
        "amplitudes": rng.random((10, num_actions)),
    }


NOISE = [
    {"level": level, "average_return": 100 * (1 - level), "return_std": 5.0 + level}
    for level in (0.0, 0.1, 0.2)
]
REPORT = {
    "source": "runs/some-run",
    "task": "Hopper-v4",
    "robustness": {"observation_noise": NOISE},
    "references": {"zero_action": {"average_return": 10.0}, "random": {"average_return": -3.0}},
}


@pytest.mark.parametrize("frames", [("own", "common", "effective"), ("own",)])
def test_one_episode_is_drawn_step_by_step_in_the_frames_that_compare_else_in_its_own(
    drawn: dict[str, Figure], frames: tuple[str, ...]
) -> None:
    trace = make_trace(MAX_ACTIONS_DRAWN + 1, *frames)
    draw_pictures(REPORT, trace, Path())
    (axis,) = drawn["j_along_episode.png"].axes
    assert lines(axis) == {
        f"{frame}, mean {trace[frame].mean():.2f}": trace[frame].tolist()
        for frame in frames[1:] or frames
    }
    assert axis.get_title() == "some-run on Hopper-v4"
    upper, lower = drawn["actions_and_spectrum.png"].axes
    assert list(lines(upper).values()) == trace["actions"][:, :MAX_ACTIONS_DRAWN].T.tolist()
    # The mean, bin 0, is left out; the last line marks a quarter of Nyquist.
    *spectra, mark = lower.get_lines()
    values = [line.get_ydata().tolist() for line in spectra]
    assert values == trace["amplitudes"][1:, :MAX_ACTIONS_DRAWN].T.tolist()
    assert mark.get_xdata() == [0.125, 0.125]


def test_the_noise_curve_shows_means_spread_and_references(drawn: dict[str, Figure]) -> None:
    draw_pictures(REPORT, make_trace(), Path())
    (axis,) = drawn["noise_curve.png"].axes
    assert lines(axis) == {
        "policy": [100.0, 90.0, 80.0],
        "zero action": [10.0, 10.0],
        "random": [-3.0, -3.0],
    }
    heights = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (80 - 5.2, 105.0)


def test_pictures_of_a_report_are_files_one_for_each_subject(tmp_path: Path) -> None:
    files = draw_pictures(REPORT, make_trace(), tmp_path)
    names = ["j_along_episode.png", "actions_and_spectrum.png", "noise_curve.png"]
    assert [file.name for file in files] == names
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    assert draw_pictures(REPORT | {"robustness": None}, None, tmp_path) == []


def test_demonstrations_are_shown_by_episode_and_action(drawn: dict[str, Figure]) -> None:
    demos = spacil.load_demos("Hopper-v4")
    draw_demonstrations(demos, Path("demos.png"))
    returns, lengths, _, *actions = drawn["demos.png"].axes
    assert [bar.get_height() for bar in lengths.patches] == demos.episode_lengths.tolist()
    assert [bar.get_height() for bar in returns.patches] == pytest.approx(demos.returns)
    assert [axis.get_title() for axis in actions[: demos.num_actions]] == ["a0", "a1", "a2"]
    with pytest.raises(ConfigError, match="expected a file name that ends in"):
        draw_demonstrations(demos, Path("demos.txt"))
