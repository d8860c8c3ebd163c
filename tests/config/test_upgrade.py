"""Settings that version 0.1 wrote are today's settings under other names."""

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import plain_config

from spacil.config.flat import flat_settings, from_flat_settings, settings_read, with_user_settings
from spacil.config.train_config import TrainConfig
from spacil.config.upgrade import upgraded
from spacil.errors import ConfigError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1"
RUNS = ["trpo", "gail", "spacil", "bc", "fast", "target"]
TINY = {
    "seed": 3,
    "num_envs": 2,
    "steps_per_iteration": 100,
    "policy_hidden": (8,),
    "value_hidden": (8,),
    "discriminator_hidden": (8,),
    "evaluation_interval": 1,
    "evaluation_steps": 50,
    "iterations": 2,
    "simulation_threads": 1,
    "torch_threads": 1,
}
"""How the fixtures were made."""


def old_settings(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / name / "config.json").read_text())
    return found


@pytest.mark.parametrize("name", RUNS)
def test_old_settings_are_read_under_today_s_names(name: str) -> None:
    old = old_settings(name)
    new = upgraded(old)
    assert set(new) == {"algorithm", "task", *settings_read(old["algorithm"])}
    kept = set(old) & set(new) - {"cost_penalty_form"}
    assert {key: new[key] for key in kept} == {key: old[key] for key in kept}
    assert flat_settings(from_flat_settings(new)) == new


@pytest.mark.parametrize("name", RUNS)
def test_what_is_dropped_is_what_the_algorithm_does_not_read(name: str) -> None:
    old = old_settings(name)
    dropped = set(old) - set(upgraded(old)) - {"lambda_policy", "policy_penalty_estimator"}
    assert not dropped & set(settings_read(old["algorithm"]))


@pytest.mark.parametrize("name", ["trpo", "gail", "spacil", "bc"])
def test_the_same_command_gives_the_same_settings_today(name: str) -> None:
    config = plain_config(name, "Reacher-v4")
    read = settings_read(name)
    now = with_user_settings(config, {k: v for k, v in TINY.items() if k in read})
    old = from_flat_settings(upgraded(old_settings(name)))
    assert flat_settings(old) == flat_settings(now)


def test_estimator_and_weight_are_one_term() -> None:
    old = old_settings("spacil") | {"lambda_policy": 0.2, "policy_penalty_estimator": "cats"}
    assert from_flat_settings(upgraded(old)).policy_penalty.penalty == ("cats=0.2",)
    assert upgraded(old | {"lambda_policy": 0.0})["penalty"] == []


def test_a_wish_and_a_warm_start_are_kept() -> None:
    target = from_flat_settings(upgraded(old_settings("target")))
    assert target.wish.smoothness_target == old_settings("target")["smoothness_target"] > 0
    fast = from_flat_settings(upgraded(old_settings("fast")))
    assert fast.warm_start.warm_start_epochs == old_settings("fast")["warm_start_epochs"] > 0
    assert fast.policy_step.policy_step == "trpo"


@pytest.mark.parametrize(
    "changes",
    [
        {"lambda_policy": 0.1},
        {"lambda_cost": 0.1},
        {"lambda_cost": 0.1, "cost_penalty_form": "both", "cost_penalty_estimator": "pgd"},
    ],
)
def test_an_old_gail_run_with_a_penalty_of_spacil_goes_on_as_one(changes: dict[str, Any]) -> None:
    old = old_settings("gail") | changes
    new: TrainConfig = from_flat_settings(upgraded(old))
    assert new.algorithm == "spacil"
    expected = ("exact=0.1",) if "lambda_policy" in changes else ()
    assert new.policy_penalty.penalty == expected
    for name, value in changes.items():
        if name != "lambda_policy":
            assert getattr(new.cost_penalty, name) == value


def test_an_old_gail_run_with_a_gradient_penalty_stays_gail() -> None:
    old = old_settings("gail") | {"lambda_cost": 0.1, "cost_penalty_form": "gp"}
    new = from_flat_settings(upgraded(old))
    assert (new.algorithm, new.cost_penalty.cost_penalty_form) == ("gail", "gp")


@pytest.mark.parametrize("name", RUNS)
def test_settings_of_today_are_left_as_they_are(name: str) -> None:
    new = upgraded(old_settings(name))
    assert upgraded(new) == new


@pytest.mark.parametrize("name", ["gail", "spacil", "trpo"])
def test_settings_that_an_earlier_commit_did_not_have_are_off(name: str) -> None:
    now = flat_settings(plain_config(name, "Reacher-v4"))
    new_ones = {
        "value_targets",
        "warm_start_steps",
        "kept_policy_decay",
        "penalty_weight",
        "select",
    }
    before = {key: value for key, value in now.items() if key not in new_ones}
    assert upgraded(before) == now


@pytest.mark.parametrize(
    "flat",
    [
        {},
        {"algorithm": "nobody's", "lambda_policy": 1, "policy_penalty_estimator": "exact"},
        {"algorithm": 3, "task": "Reacher-v4"},
        {"algorithm": "gail", "task": "Reacher-v4", "max_kl": 0.1},
    ],
)
def test_what_no_version_wrote_stays_unknown(flat: dict[str, Any]) -> None:
    assert upgraded(flat) == flat
    with pytest.raises(ConfigError):
        from_flat_settings(upgraded(flat))


def test_an_unknown_old_setting_is_refused_by_what_is_missing() -> None:
    old = old_settings("spacil")
    del old["max_kl"]
    with pytest.raises(ConfigError, match=r"missing \['max_kl'\]"):
        from_flat_settings(upgraded(old))


def test_an_old_estimator_that_never_was_is_refused() -> None:
    old = old_settings("spacil") | {"policy_penalty_estimator": "guess"}
    with pytest.raises(ConfigError, match="there is no penalty 'guess'"):
        from_flat_settings(upgraded(old))
