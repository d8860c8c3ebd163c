"""Settings: one default each, checked at birth, the same by every road to them."""

import dataclasses
import json
from typing import Any

import pytest

from spacil import paper
from spacil.config.defaults import default_config
from spacil.config.flat import (
    FREE_TO_CHANGE_ON_RESUME,
    flat_settings,
    from_flat_settings,
    with_settings,
)
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError

IMITATION = ("gail", "spacil")


def changes(config: TrainConfig, other: TrainConfig) -> dict[str, Any]:
    """The settings in which `other` differs, by flat name."""
    before, after = flat_settings(config), flat_settings(other)
    assert before.keys() == after.keys()
    return {name: after[name] for name in before if before[name] != after[name]}


# --- defaults of tasks and algorithms


@pytest.mark.parametrize("task", paper.TASKS)
def test_a_task_brings_the_papers_discount_and_sizes(task: str) -> None:
    column = paper.TASKS[task]
    for algorithm in ("trpo", *IMITATION):
        config = default_config(algorithm, task)  # type: ignore[arg-type]
        assert config.returns.gamma == column.gamma
        assert config.returns.gae_lambda == column.gae_lambda
        expected = (
            column.expert_steps_per_iteration
            if algorithm == "trpo"
            else column.num_trajectories * column.trajectory_length
        )
        assert config.run.steps_per_iteration == expected
        assert expected % config.run.num_envs == 0


def test_the_newer_version_of_a_task_shares_its_column_and_an_unknown_task_has_none() -> None:
    newer, older = default_config("gail", "Ant-v5"), default_config("gail", "Ant-v4")
    assert changes(older, newer) == {"task": "Ant-v5"}
    plain = default_config("spacil", "Pendulum-v1")
    assert changes(TrainConfig(algorithm="spacil", task="Pendulum-v1"), plain) == {}


def test_only_spacil_has_penalties_by_default() -> None:
    gail, smooth = default_config("gail", "Hopper-v4"), default_config("spacil", "Hopper-v4")
    assert gail.policy_penalty.lambda_policy == gail.cost_penalty.lambda_cost == 0
    assert changes(gail, smooth) == {
        "algorithm": "spacil",
        "lambda_policy": 0.03,
        "lambda_cost": 0.01,
    }


# --- presets

DISCRIMINATOR = {
    "discriminator_activation": "tanh",
    "discriminator_learning_rate": 0.01,
    "discriminator_actions": "raw",
    "standardize_actions": False,
}


@pytest.mark.parametrize("preset", ["paper-mean", "paper-sum"])
@pytest.mark.parametrize("task", paper.TASKS)
def test_a_preset_sets_the_papers_penalties_and_discriminator_and_nothing_else(
    task: str, preset: Any
) -> None:
    column = paper.TASKS[task]
    printed = {
        "lambda_policy": column.lambda_policy,
        "lambda_cost": column.lambda_cost,
        "policy_penalty_scale": preset,
        "cost_penalty_scale": preset,
        "policy_penalty_estimator": "pgd",
        "cost_penalty_estimator": "pgd",
        "penalty_ramp_iterations": 0,
        "ball_step_rule": "raw",
        "ball_radius": 0.01,
        "ball_step_size": 0.02,
        "ball_num_steps": 10,
    }
    plain, paper_like = (default_config("spacil", task, p) for p in ("none", preset))
    flat = flat_settings(paper_like)
    assert {name: flat[name] for name in DISCRIMINATOR | printed} == DISCRIMINATOR | printed
    assert changes(plain, paper_like).keys() <= (DISCRIMINATOR | printed).keys()


@pytest.mark.parametrize("preset", ["paper-mean", "paper-sum"])
def test_a_preset_of_gail_sets_the_papers_discriminator_alone(preset: Any) -> None:
    plain, paper_like = (default_config("gail", "Hopper-v4", p) for p in ("none", preset))
    assert changes(plain, paper_like) == DISCRIMINATOR


@pytest.mark.parametrize("algorithm", ["gail", "spacil"])
def test_the_fast_preset_starts_from_a_clone_and_takes_larger_steps(algorithm: Any) -> None:
    plain, fast = (default_config(algorithm, "Hopper-v4", p) for p in ("none", "fast"))
    assert changes(plain, fast) == {
        "max_kl": 0.03,
        "fisher_state_fraction": 0.2,
        "initial_log_std": -1.5,
        "warm_start_epochs": 40,
    }


def test_the_fast_preset_of_trpo_takes_larger_steps_and_changes_nothing_else() -> None:
    plain, fast = (default_config("trpo", "Hopper-v4", p) for p in ("none", "fast"))
    assert changes(plain, fast) == {"max_kl": 0.03}


def test_a_preset_that_has_no_meaning_is_refused() -> None:
    with pytest.raises(ConfigError, match="paper-sum is for gail and spacil"):
        default_config("trpo", "Hopper-v4", "paper-sum")
    with pytest.raises(ConfigError, match="fast sets the trust region, and bc has none"):
        default_config("bc", "Hopper-v4", "fast")
    with pytest.raises(ConfigError, match=r"prints no weights for Pendulum-v1; it has Reacher-v4"):
        default_config("spacil", "Pendulum-v1", "paper-mean")


# --- there and back


@pytest.mark.parametrize("algorithm", ["trpo", *IMITATION])
def test_settings_survive_a_file(algorithm: Any) -> None:
    config = with_settings(default_config(algorithm, "Hopper-v4"), {"seed": 2**70, "max_kl": 0.1})
    flat = flat_settings(config)
    assert from_flat_settings(json.loads(json.dumps(flat))) == config
    assert flat["seed"] == 2**70


def test_every_setting_has_a_flat_name_of_its_own() -> None:
    flat = flat_settings(default_config("gail", "Hopper-v4"))
    groups = [
        getattr(default_config("gail", "Hopper-v4"), f.name) for f in dataclasses.fields(Settings)
    ]
    assert len(flat) == 2 + sum(len(dataclasses.fields(group)) for group in groups)
    assert set(flat) >= FREE_TO_CHANGE_ON_RESUME


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from_the_future": 1}, r"unknown \['from_the_future'\]"),
        ({"max_kl": None}, "setting max_kl is None"),
        ({"algorithm": "ppo"}, "algorithm is 'ppo'"),
        ({"policy_hidden": [16, True]}, "setting policy_hidden is"),
        ({"init": ["fan-in"]}, "setting init is"),
        ({"standardize_actions": 1}, "setting standardize_actions is 1"),
        ({"gamma": float("nan")}, "setting gamma is nan"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_of_a_file_are_checked(change: dict[str, Any], message: str) -> None:
    flat = flat_settings(default_config("gail", "Hopper-v4"))
    with pytest.raises(ConfigError, match=message):
        from_flat_settings(flat | change)


def test_a_missing_setting_is_refused() -> None:
    flat = flat_settings(default_config("gail", "Hopper-v4"))
    del flat["max_kl"]
    with pytest.raises(ConfigError, match=r"missing \['max_kl'\]"):
        from_flat_settings(flat)


def test_settings_do_not_change_in_place() -> None:
    config = default_config("gail", "Hopper-v4")
    assert with_settings(config, {"max_kl": 0.5}).trust_region.max_kl == 0.5
    assert config.trust_region.max_kl == 0.01
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.trust_region.max_kl = 0.5  # type: ignore[misc]


def test_lists_and_whole_numbers_are_taken_where_they_mean_the_same() -> None:
    config = with_settings(default_config("gail", "Hopper-v4"), {"policy_hidden": [8], "gamma": 1})
    assert config.nets.policy_hidden == (8,)
    assert config.returns.gamma == 1


# --- what no run can have

BAD = {
    "seed": -1,
    "iterations": 0,
    "steps_per_iteration": 0,
    "num_envs": 0,
    "simulation_threads": 0,
    "torch_threads": 0,
    "checkpoint_interval": 0,
    "policy_hidden": (),
    "value_hidden": (16, 0),
    "discriminator_hidden": (-1,),
    "gamma": 0.0,
    "gae_lambda": 1.1,
    "max_kl": 0.0,
    "cg_steps": 0,
    "cg_damping": -0.1,
    "fisher_state_fraction": 0.0,
    "line_search_tries": 0,
    "line_search_shrink": 1.0,
    "value_learning_rate": 0.0,
    "value_epochs": -1,
    "value_minibatch": 0,
    "discriminator_learning_rate": -1.0,
    "discriminator_steps": -1,
    "ball_radius": 0.0,
    "ball_num_steps": 0,
    "ball_step_size": 0.0,
    "lambda_policy": -0.1,
    "penalty_ramp_iterations": -1,
    "penalty_state_fraction": 1.5,
    "lambda_cost": -0.1,
    "evaluation_interval": 0,
    "evaluation_steps": 0,
}


@pytest.mark.parametrize("name", BAD)
def test_a_value_out_of_range_is_refused_by_its_flag(name: str) -> None:
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} "):
        with_settings(default_config("gail", "Hopper-v4"), {name: BAD[name]})


FLOATS = [
    name
    for name, value in flat_settings(default_config("gail", "Hopper-v4")).items()
    if isinstance(value, float)
]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_no_number_is_infinite_or_nan_by_any_road(name: str, value: float) -> None:
    config = default_config("gail", "Hopper-v4")
    with pytest.raises(ConfigError, match=name):
        with_settings(config, {name: value})
    group = next(
        field.name
        for field in dataclasses.fields(Settings)
        if hasattr(getattr(config, field.name), name)
    )
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} is {value}"):
        dataclasses.replace(
            config, **{group: dataclasses.replace(getattr(config, group), **{name: value})}
        )
