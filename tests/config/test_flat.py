"""Settings by their flat names: checked at birth, the same by every road to them."""

import dataclasses
import json
from typing import Any

import pytest

from spacil.config.algorithms import ALGORITHMS
from spacil.config.defaults import default_config
from spacil.config.flat import (
    FREE_TO_CHANGE_ON_RESUME,
    flat_settings,
    from_flat_settings,
    with_settings,
    with_user_settings,
)
from spacil.errors import ConfigError

# --- there and back


@pytest.mark.parametrize("algorithm", ["trpo", "gail", "spacil"])
def test_settings_survive_a_file(algorithm: Any) -> None:
    config = with_settings(default_config(algorithm, "Hopper-v4"), {"seed": 2**70, "max_kl": 0.1})
    flat = flat_settings(config)
    assert from_flat_settings(json.loads(json.dumps(flat))) == config
    assert flat["seed"] == 2**70


def test_every_setting_has_a_flat_name_of_its_own() -> None:
    for algorithm in ALGORITHMS:
        config = default_config(algorithm, "Hopper-v4")
        groups = [group for group in vars(config).values() if dataclasses.is_dataclass(group)]
        names = [member.name for group in groups for member in dataclasses.fields(group)]
        assert len(set(names)) == len(names)
        assert set(flat_settings(config)) == {"algorithm", "task", *names}
        assert set(names) >= FREE_TO_CHANGE_ON_RESUME


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from_the_future": 1}, r"unknown \['from_the_future'\]"),
        ({"max_kl": None}, "--max-kl is None, expected a finite number"),
        ({"algorithm": "ppo"}, "algorithm is 'ppo'"),
        ({"policy_hidden": [16, True]}, "--policy-hidden is .*, expected tuple.int, ..."),
        ({"init": ["fan-in"]}, "--init is .*, expected fan-in, paper-numel"),
        ({"standardize_actions": 1}, "--standardize-actions is 1, expected True or False"),
        ({"gamma": float("nan")}, "--gamma is nan, expected a finite number"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_of_a_file_are_checked(change: dict[str, Any], message: str) -> None:
    flat = flat_settings(default_config("gail", "Hopper-v4"))
    with pytest.raises(ConfigError, match=message):
        from_flat_settings(flat | change)
    with pytest.raises(ConfigError, match=r"missing \['max_kl'\]"):
        from_flat_settings({name: value for name, value in flat.items() if name != "max_kl"})


def test_settings_do_not_change_in_place() -> None:
    config = default_config("gail", "Hopper-v4")
    assert with_settings(config, {"max_kl": 0.5}).policy_step.max_kl == 0.5
    assert config.policy_step.max_kl == 0.01
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.policy_step.max_kl = 0.5  # type: ignore[misc]


def test_lists_and_whole_numbers_are_taken_where_they_mean_the_same() -> None:
    config = with_settings(default_config("gail", "Hopper-v4"), {"policy_hidden": [8], "gamma": 1})
    assert config.nets.policy_hidden == (8,)
    assert config.value.gamma == 1


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
    "device": "cuda:x",
    "discriminator_inputs": ("states", "states"),
    "penalty_ramp_iterations": -1,
    "penalty_state_fraction": 1.5,
    "lambda_cost": -0.1,
    "evaluation_interval": 0,
    "evaluation_steps": 0,
}


@pytest.mark.parametrize("name", BAD)
def test_a_value_out_of_range_is_refused_by_its_flag(name: str) -> None:
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} "):
        with_user_settings(default_config("spacil", "Hopper-v4"), {name: BAD[name]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "cats:scale=paper-mean"}, "no argument 'scale' here; it takes none"),
        ({"penalty": "pgd:sigma=1"}, "no argument 'sigma' here; it takes scale, radius"),
        ({"cost_penalty_form": "both:steps=3"}, "steps=3 is read with estimator=pgd only"),
        ({"cost_penalty_form": "gp:scale=paper-mean"}, "no argument 'scale' here"),
        ({"cost_penalty_form": "r2"}, "--cost-penalty-form is r2, expected response, both"),
        ({"penalty": "caps=1:noise=0"}, "--penalty caps=1:noise=0: noise is '0', expected"),
        ({"penalty": "caps:spatial=-1"}, "spatial is '-1', expected a number"),
        ({"penalty": "pgd:steps=1.5"}, "steps is '1.5', expected a whole number"),
        ({"penalty": "pgd:radios=1"}, "no argument 'radios' here; it takes radius"),
        ({"penalty_state_fraction": 0.0}, "--penalty-state-fraction is 0.0"),
        ({"penalty": "spectral"}, "there is no penalty 'spectral'; there are exact, linear, pgd"),
        ({"cost_penalty_form": "gp:mixing=half"}, "mixing is 'half', expected interpolate"),
    ],
)
def test_penalty_settings_that_mean_nothing_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        with_user_settings(default_config("spacil", "Reacher-v4"), settings)


FLOATS = [
    name
    for name, value in flat_settings(default_config("spacil", "Hopper-v4")).items()
    if isinstance(value, float)
]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_no_number_is_infinite_or_nan_by_any_road(name: str, value: float) -> None:
    config = default_config("spacil", "Hopper-v4")
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} is {value}"):
        with_settings(config, {name: value})
