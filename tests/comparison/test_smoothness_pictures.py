"""The pictures of a smoothness report show its numbers, all of them and no others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from spacil.comparison.pictures import MAX_ACTIONS_DRAWN, draw_pictures


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """The figures by file name, as they were when they were saved."""
    figures: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path, dpi: int) -> None:
        figures[path.name] = figure

    monkeypatch.setattr("spacil.comparison.figures.save_figure", keep)
    return figures


def make_trace(num_actions: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "own": rng.random(20),
        "common": rng.random(20),
        "effective": rng.random(20),
        "actions": rng.normal(size=(20, num_actions)),
        "frequencies": np.arange(10) / 20,
        "amplitudes": rng.random((10, num_actions)),
    }


def make_report() -> dict[str, Any]:
    noise = [
        {"level": level, "average_return": 100 * (1 - level), "return_std": 5.0 + level}
        for level in (0.0, 0.1, 0.2)
    ]
    references = {"zero_action": {"average_return": 10.0}, "random": {"average_return": -3.0}}
    return {
        "source": "runs/some-run",
        "task": "Hopper-v4",
        "robustness": {"observation_noise": noise},
        "references": references,
    }


def lines(axis: Any) -> list[list[float]]:
    return [np.asarray(line.get_ydata()).tolist() for line in axis.get_lines()]


def test_j_is_drawn_step_by_step_in_the_frames_that_compare(
    drawn: dict[str, Figure], tmp_path: Path
) -> None:
    trace = make_trace()
    draw_pictures(make_report(), trace, tmp_path)
    (axis,) = drawn["j_along_episode.png"].axes
    assert lines(axis) == [trace["common"].tolist(), trace["effective"].tolist()]
    assert axis.get_title() == "some-run on Hopper-v4"
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    assert legend[0] == f"common, mean {trace['common'].mean():.2f}"


def test_without_a_common_frame_the_policys_own_is_drawn(
    drawn: dict[str, Figure], tmp_path: Path
) -> None:
    trace = make_trace()
    del trace["common"], trace["effective"]
    draw_pictures(make_report(), trace, tmp_path)
    assert lines(drawn["j_along_episode.png"].axes[0]) == [trace["own"].tolist()]


def test_every_action_is_drawn_with_its_spectrum_up_to_a_limit(
    drawn: dict[str, Figure], tmp_path: Path
) -> None:
    trace = make_trace(num_actions=MAX_ACTIONS_DRAWN + 1)
    draw_pictures(make_report(), trace, tmp_path)
    upper, lower = drawn["actions_and_spectrum.png"].axes
    assert lines(upper) == trace["actions"][:, :MAX_ACTIONS_DRAWN].T.tolist()
    # The mean, bin 0, is left out; the last line marks a quarter of Nyquist.
    *spectra, mark = lines(lower)
    assert spectra == trace["amplitudes"][1:, :MAX_ACTIONS_DRAWN].T.tolist()
    assert lower.get_lines()[-1].get_xdata() == [0.125, 0.125] and mark == [0, 1]


def test_the_noise_curve_shows_means_spread_and_references(
    drawn: dict[str, Figure], tmp_path: Path
) -> None:
    draw_pictures(make_report(), make_trace(), tmp_path)
    (axis,) = drawn["noise_curve.png"].axes
    returns, zero, random = lines(axis)
    assert returns == [100.0, 90.0, 80.0]
    assert (zero, random) == ([10.0, 10.0], [-3.0, -3.0])
    (band,) = axis.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (80 - 5.2, 105.0)


def test_a_report_without_episodes_or_robustness_has_nothing_to_draw(tmp_path: Path) -> None:
    assert draw_pictures(make_report() | {"robustness": None}, None, tmp_path) == []


def test_pictures_are_files_one_for_each_subject(tmp_path: Path) -> None:
    files = draw_pictures(make_report(), make_trace(), tmp_path)
    names = ["j_along_episode.png", "actions_and_spectrum.png", "noise_curve.png"]
    assert [file.name for file in files] == names
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
