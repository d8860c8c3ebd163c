"""Charts hold the numbers they are made of, and a drawing holds its charts, whole or not at all."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from pictures import assert_drawn

import spacil
from spacil.comparison import figures, pictures
from spacil.comparison.figures import (
    COLOURS,
    Chart,
    Series,
    aggregates_of,
    curves_of,
    draw_charts,
    front_of,
    looks_of,
)
from spacil.errors import ConfigError, StorageError

Drawn = dict[str, list[Chart]]


def values(charts: list[Chart]) -> list[dict[str, list[float]]]:
    """Label -> y of every series, by chart."""
    return [
        {label: np.asarray(one.y).tolist() for label, one in chart.series.items()}
        for chart in charts
    ]


BAND = Series([0, 1, 2], [1.0, 4.0, 9.0], low=[0.5, 3.0, 8.0], high=[2.0, 5.0, 9.5])


def test_a_chart_is_drawn_with_its_bands_dots_levels_and_titles_that_are_no_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Series(["a", "b"], [1.0, 2.0], low=[0.0, 1.0], high=[2.0, 3.0])
    charts = [
        Chart("costs $x and $\\frac{", "step", "G", {"a line": BAND}, {"known": 3.0}, least_y=0.0),
        Chart("100 % ± a_b^c", "", "G", {"dots": named}, is_joined=False),
        Chart("", "", "count", {"dots": BAND}, is_log_y=True),
    ]
    kept: list[Figure] = []
    with monkeypatch.context() as patch:
        patch.setattr(figures, "finish_figure", lambda figure, path: kept.append(figure))
        draw_charts(charts, Path("unused.png"), columns=2, size=(4, 3))
    first, second, third, hidden = kept[0].axes
    line, level = first.get_lines()
    assert np.asarray(line.get_ydata()).tolist() == BAND.y
    assert (level.get_label(), level.get_ydata()) == ("known 3", [3.0, 3.0])
    heights = first.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.5, 9.5)
    assert (first.get_ylim()[0], third.get_yscale(), hidden.get_visible()) == (0.0, "log", False)
    assert [text.get_text() for text in second.get_xticklabels()] == ["a", "b"]
    draw_charts(charts, tmp_path / "one.png", columns=2, size=(4, 3), title="$")
    assert_drawn(tmp_path / "one.png", COLOURS[:2])
    for name in ("one.svg", "again.svg"):
        draw_charts(charts, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    with pytest.raises(StorageError, match="check the path"):
        draw_charts(charts, tmp_path / "none" / "one.png")


def test_three_dozen_rows_look_different() -> None:
    looks = list(looks_of(map(str, range(36))).values())
    assert len({colour for colour, _, _ in looks[:12]}) == 12
    assert looks[12][0] == looks[0][0]
    assert len({(colour, mark) for colour, mark, _ in looks}) == 36
    assert len({(colour, line) for colour, _, line in looks}) == 36


def comparison(**parts: Any) -> Any:
    return SimpleNamespace(levels=lambda task: {"demonstrator": 4.5}, **parts)


def test_curves_are_means_in_the_range_of_the_seeds_where_all_have_a_number() -> None:
    rows = [
        ("A-v0", label, seed, 10 * (i + 1), g, j)
        for label, j in (("gail", 1.0), ("unknown j", np.nan))
        for seed, returns in enumerate(([1.0, 2.0, 3.0], [3.0, 6.0]))
        for i, g in enumerate(returns)
    ]
    names = ["task", "label", "run_dir", "iteration", "average_return", "smoothness_j"]
    returns, j = curves_of(comparison(curves=pd.DataFrame(rows, columns=names)), "A-v0")
    band = returns.series["gail"]
    found = [list(column) for column in (band.x, band.y, band.low, band.high)]
    assert found == [[10, 20], [2.0, 4.0], [1.0, 2.0], [3.0, 6.0]]
    assert (returns.levels, j.levels) == ({"demonstrator": 4.5}, {})
    assert list(j.series) == ["gail"]


def test_the_front_has_a_dot_per_run_whose_numbers_are_known() -> None:
    names = ["task", "label", "smoothness_j_common", "average_return"]
    rows = [("A-v0", "gail", 1.0, 5.0), ("A-v0", "gail", 2.0, 6.0), ("A-v0", "bc", np.nan, 7.0)]
    found = comparison(frame=pd.DataFrame(rows, columns=names))
    (chart,) = front_of(found, "A-v0")
    assert values([chart]) == [{"gail": [5.0, 6.0]}] and not chart.is_joined
    assert list(chart.series["gail"].x) == [1.0, 2.0]
    assert front_of(found, "B-v0") == []


def test_settings_over_several_tasks_are_dots_with_their_intervals() -> None:
    iqm = SimpleNamespace(iqm=0.9, low=0.8, high=1.0)
    wide = SimpleNamespace(iqm=0.5, low=None, high=None)
    arms = [
        SimpleNamespace(label="gail", normalized_return=iqm, j_ratio=None),
        SimpleNamespace(label="spacil", normalized_return=wide, j_ratio=None),
    ]
    (chart,) = aggregates_of(comparison(aggregates=arms))
    assert values([chart]) == [{"gail": [0.9], "spacil": [0.5]}]
    assert (chart.series["gail"].low, chart.series["spacil"].low) == ([0.8], None)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """The charts by file name, as they were when they were to be drawn."""
    kept: Drawn = {}

    def keep(charts: list[Chart], path: Path, *_: Any, **__: Any) -> Path:
        kept[path.name] = charts
        return path

    monkeypatch.setattr(pictures, "draw_charts", keep)
    return kept


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


def test_a_run_is_drawn_from_its_start_beside_the_demonstrator(drawn: Drawn) -> None:
    known = {"average_return": 35.0, "smoothness_j": 0.8, "smoothness_j_own": 0.9}
    found = [START, *rows(action_fluctuation=0.3)]
    pictures.draw_learning_curve(found, Path("curve.png"), "a run", known)
    g, j, change = (chart.series["learned policy, mean"] for chart in drawn["curve.png"])
    assert [list(one) for one in (g.x, g.y, g.low, g.high)] == [
        [0, 200, 400], [-1, 20, 40], [-2, 18, 38], [0, 22, 42]
    ]  # fmt: skip
    assert list(j.y) == [0.1, 0.5, 0.5] and list(change.y[1:]) == [0.3, 0.3]
    levels = [chart.levels for chart in drawn["curve.png"]]
    assert levels == [{"demonstrator": 35.0}, {"demonstrator": 0.8}, {}]
    # Without a common frame J is the policy's own, which compares with no other.
    pictures.draw_learning_curve(rows(smoothness_j=None), Path("own.png"), "a run", known)
    _, own = drawn["own.png"]
    assert values([own]) == [{"learned policy, mean": [1.5, 1.5]}] and own.levels == {}


@pytest.mark.parametrize("found", [[], rows(1), [START]], ids=["no run", "short", "a start"])
def test_without_an_evaluation_there_is_no_picture(drawn: Drawn, found: Any) -> None:
    pictures.draw_learning_curve(found, Path("curve.png"), "a very short run")
    assert drawn == {}


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
def test_a_report_is_drawn_step_by_step_in_the_frames_that_compare_and_under_noise(
    drawn: Drawn, frames: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(0)
    trace = {frame: rng.random(20) for frame in frames} | {
        "actions": rng.normal(size=(20, pictures.MAX_ACTIONS_DRAWN + 1)),
        "frequencies": np.arange(10) / 20,
        "amplitudes": rng.random((10, pictures.MAX_ACTIONS_DRAWN + 1)),
    }
    files = pictures.draw_pictures(REPORT, trace, Path())
    assert [file.name for file in files] == list(drawn)
    assert values(drawn["j_along_episode.png"]) == [
        {f"{f}, mean {trace[f].mean():.2f}": trace[f].tolist() for f in frames[1:] or frames}
    ]
    actions, spectra = values(drawn["actions_and_spectrum.png"])
    shown = pictures.MAX_ACTIONS_DRAWN
    assert list(actions.values()) == trace["actions"][:, :shown].T.tolist()
    assert list(spectra.values()) == trace["amplitudes"][1:, :shown].T.tolist()  # no mean, bin 0
    (noise,) = drawn["noise_curve.png"]
    policy = noise.series["policy"]
    assert (list(policy.y), min(policy.low), max(policy.high)) == ([100, 90, 80], 74.8, 105)
    assert noise.levels == {"zero action": 10.0, "random": -3.0}
    assert pictures.draw_pictures(REPORT | {"robustness": None}, None, Path()) == []


def test_demonstrations_are_shown_by_episode_and_action(drawn: Drawn) -> None:
    demos = spacil.load_demos("Hopper-v4")
    pictures.draw_demonstrations(demos, Path("demos.png"))
    returns, lengths, _, *actions = values(drawn["demos.png"])
    assert returns[""] == pytest.approx(demos.returns)
    assert lengths[""] == demos.episode_lengths.tolist()
    assert [sum(one["executed"]) for one in actions] == [demos.num_steps] * demos.num_actions
    with pytest.raises(ConfigError, match="expected a file name that ends in"):
        pictures.draw_demonstrations(demos, Path("demos.txt"))
