"""The plans of the experiments, and who runs them."""

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import rows
from cost_smoothness import corner
from spacil.cli import experiment
from spacil.sweeps.plan import Grid

PLANS = {
    "returns": 117, "recipe": 195, "lambda_grid": 42, "mixing": 12, "demonstrators": 2,
    "imitators": 24, "no_actions": 155, "controls": 81, "front_equal": 150, "printed": 83,
    "held_out": 81, "late": 45,
}  # fmt: skip


def test_every_plan_is_listed_here() -> None:
    assert {path.stem for path in Path("experiments").glob("*.toml")} == set(PLANS)


@pytest.mark.parametrize("name", PLANS)
def test_every_run_of_every_plan_is_one_that_train_accepts(name: str) -> None:
    assert len(rows.plan_named(name)) == PLANS[name]  # planned_runs has checked each


def test_the_ablation_differs_from_the_rule_in_its_two_penalties_only() -> None:
    weights = set()
    for run in rows.plan_named("recipe"):
        if run.algorithm == "spacil" and "preset" not in dict(run.choices):
            config = run.config()
            weights.add(
                (config.policy_penalty.first_weight > 0, config.cost_penalty.lambda_cost > 0)
            )
            assert config.warm_start.warm_start_steps == 1_500
    assert weights == {(True, True), (True, False), (False, True), (False, False)}


def test_the_seed_of_a_run_can_choose_its_data() -> None:
    values: Any = (("demo_every", (20,)), ("demo_offset", ("{seed}",)))
    grid = Grid(("gail",), ("Hopper-v4",), (0, 3), values)
    assert [dict(run.choices)["demo_offset"] for run in grid.runs()] == [0, 3]


def test_the_learned_cost_is_measured_at_three_corners_in_three_units() -> None:
    runs = [run for name in ("lambda_grid", "recipe") for run in rows.plan_named(name)]
    places = [place for run in runs if (place := corner(run)) is not None]
    assert len(places) == 6 * 2 + 3 + 3 + 5
    assert set(places) == {
        (units, setting)
        for units in ("printed", "lipschitz", "rule")
        for setting in ("GAIL", "cost only", "both")
    }


def test_an_installed_experiment_gets_the_words_after_its_name(
    spacil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = EntryPoint("mine", "shlex:join", experiment.GROUP)
    monkeypatch.setattr(experiment, "entry_points", lambda group: [found])
    monkeypatch.setattr("shlex.join", lambda words: len(words))
    assert spacil("experiment", "mine", "--runs", "3").code == 2
    assert "shlex:join" in spacil("experiment").out
    refused = spacil("experiment", "returns")
    assert refused.code == 2
    assert "python experiments/returns.py" in refused.err and "mine" in refused.err
