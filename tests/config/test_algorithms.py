"""The table of algorithms: every row is whole, and what a row does not read is refused."""

import inspect
import json
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

import spacil as library
from spacil.config.algorithms import ALGORITHMS, READ_WITH, Preset, from_table
from spacil.config.defaults import default_config
from spacil.config.flat import (
    flat_settings,
    from_flat_settings,
    group_of_setting,
    settings_read,
    with_user_settings,
)
from spacil.config.train_config import ConfigGroups, TrainConfig
from spacil.errors import ConfigError

Spacil = Callable[..., Any]

NAMES = list(ALGORITHMS)
TRAINED = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
UNREAD = [
    (algorithm, name)
    for algorithm in NAMES
    for name in group_of_setting()
    if name not in settings_read(algorithm)
]
AGENTS = {
    "spacil": library.SPaCIL,
    "gail": library.GAIL,
    "airl": library.AIRL,
    "trpo": library.TRPO,
    "bc": library.BC,
}


def value_as_it_is(algorithm: str, name: str) -> Any:
    """A value that is valid, so that nothing but the name can be refused."""
    config = default_config(algorithm, "Reacher-v4")
    return getattr(getattr(config, group_of_setting()[name]), name)


def as_flag(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", *map(str, value if isinstance(value, tuple) else [value])]


def settings_from_file(config: TrainConfig) -> dict[str, Any]:
    return flat_settings(from_flat_settings(json.loads(json.dumps(flat_settings(config)))))


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_row_names_groups_and_settings_that_exist(algorithm: str) -> None:
    row, groups = ALGORITHMS[algorithm], get_type_hints(ConfigGroups)
    assert len(set(row.reads)) == len(row.reads)
    assert set(row.reads) <= set(groups)
    assert {*row.defaults, *row.ignores} <= set(group_of_setting())
    assert set(row.instead) <= {"lambda_policy", *group_of_setting()}
    assert not set(row.instead) & set(settings_read(algorithm))
    assert row.ignores <= {name for name, group in group_of_setting().items() if group in row.reads}


@pytest.mark.parametrize("algorithm", NAMES)
def test_every_algorithm_has_valid_defaults_that_survive_a_file(algorithm: str) -> None:
    config = default_config(algorithm, "Reacher-v4")
    for name, value in ALGORITHMS[algorithm].defaults.items():
        assert getattr(getattr(config, group_of_setting()[name]), name) == value
    assert settings_from_file(config) == flat_settings(config)


@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize("preset", get_args(Preset))
def test_a_preset_is_taken_by_the_rows_that_offer_it(algorithm: str, preset: Preset) -> None:
    if preset in ALGORITHMS[algorithm].presets:
        config = default_config(algorithm, "Hopper-v4", preset)
        assert settings_from_file(config) == flat_settings(config)
    else:
        with pytest.raises(ConfigError, match=f"--preset {preset} is for .*not for {algorithm}"):
            default_config(algorithm, "Hopper-v4", preset)


@pytest.mark.parametrize("algorithm", NAMES)
def test_what_learns_and_what_rewards_can_be_imported(algorithm: str) -> None:
    row = ALGORITHMS[algorithm]
    assert {"iterate", "prepare", "after_evaluation"} <= set(dir(from_table(row.learner)))
    if row.adversary is not None:
        adversary = from_table(row.adversary)
        assert {"train", "cost", "make_network", "logits_agent_is_high"} <= set(dir(adversary))
        assert list(inspect.signature(adversary).parameters) == [
            "config", "policy", "expert", "init",
        ]  # fmt: skip


def test_the_python_face_has_a_class_for_every_row_that_is_trained() -> None:
    assert {name: agent.algorithm for name, agent in AGENTS.items()} == {
        name: name for name in TRAINED
    }


@pytest.mark.parametrize(("algorithm", "name"), UNREAD)
def test_python_refuses_a_setting_the_algorithm_does_not_read(algorithm: str, name: str) -> None:
    config = default_config(algorithm, "Reacher-v4")
    readers = [other for other in NAMES if name in settings_read(other)]
    assert readers
    remedy = ALGORITHMS[algorithm].instead.get(name) or f"it is for {', '.join(readers)}"
    with pytest.raises(ConfigError) as refusal:
        with_user_settings(config, {name: value_as_it_is(algorithm, name)})
    flag = f"--{name.replace('_', '-')}"
    assert str(refusal.value) == f"{flag}: {algorithm} does not read it; {remedy}"


@pytest.mark.parametrize(("algorithm", "name"), [each for each in UNREAD if each[0] in TRAINED])
def test_the_command_line_refuses_it_in_the_same_words(
    spacil: Spacil, algorithm: str, name: str
) -> None:
    value = value_as_it_is(algorithm, name)
    refused = spacil("train", algorithm, "--task", "Reacher-v4", *as_flag(name, value))
    with pytest.raises(ConfigError) as in_python:
        with_user_settings(default_config(algorithm, "Reacher-v4"), {name: value})
    assert (refused.code, refused.err) == (2, f"spacil: {in_python.value}\n")


@pytest.mark.parametrize("name", ["lambda_policy", "penalty", "smoothness_target"])
def test_gail_with_a_policy_penalty_is_spacil(spacil: Spacil, name: str) -> None:
    value = "exact=0.03" if name == "penalty" else "0.03"
    refused = spacil("train", "gail", "--task", "Reacher-v4", f"--{name.replace('_', '-')}", value)
    assert refused.code == 2
    assert "GAIL with a policy penalty is spacil" in refused.err
    with pytest.raises(ConfigError, match="GAIL with a policy penalty is spacil"):
        library.GAIL("Reacher-v4", **{name: value if name == "penalty" else 0.03})


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("bc --max-kl 1", "bc does not read it; it is for spacil, gail, airl, trpo"),
        ("trpo --lambda-cost 1", "trpo does not read it; it is for spacil, gail"),
        ("airl --lambda-cost 1", "airl does not read it; it is for spacil, gail"),
        ("airl --discriminator-actions raw", "airl always reads actions as executed"),
        ("bc --smoothness-target 1", "bc takes a weight, --lambda-policy"),
        ("spacil --airl-reward state", "spacil does not read it; it is for airl"),
        ("spacil --policy-step ppo --max-kl 1", "--max-kl is read with --policy-step trpo only"),
        ("trpo --ppo-clip 0.1", "--ppo-clip is read with --policy-step ppo only"),
        ("gail --no-penalty-discount", "gail does not read it; it is for spacil, airl, trpo, bc"),
        ("gail --lambda_policy=0.1", "GAIL with a policy penalty is spacil"),
        ("spacil --lambda-policy 1 --penalty cats", "--lambda-policy is short for --penalty"),
        (
            "trpo --lambda-policy -1",
            "--lambda-policy is -1.0, expected a finite number of 0 or more",
        ),
    ],
)
def test_a_refusal_says_what_to_do_instead(spacil: Spacil, command: str, words: str) -> None:
    algorithm, *flags = command.split()
    refused = spacil("train", algorithm, "--task", "Reacher-v4", *flags)
    assert refused.code == 2
    assert words in refused.err


@pytest.mark.parametrize("form", ["response", "both", "state"])
def test_gail_takes_gradient_penalties_alone(spacil: Spacil, form: str) -> None:
    words = f"{form}: gail takes gp or r1"
    refused = spacil("train", "gail", "--task", "Reacher-v4", "--cost-penalty-form", form)
    assert refused.code == 2
    assert words in refused.err
    with pytest.raises(ConfigError, match=words):
        library.GAIL("Reacher-v4", cost_penalty_form=form)


@pytest.mark.parametrize("form", ["gp", "r1"])
def test_gail_takes_a_weight_on_a_gradient_penalty(form: str) -> None:
    config = default_config("gail", "Reacher-v4")
    assert config.cost_penalty.lambda_cost == 0
    config = with_user_settings(config, {"lambda_cost": 0.1, "cost_penalty_form": form})
    assert (config.cost_penalty.lambda_cost, config.cost_penalty.cost_penalty_form) == (0.1, form)


def test_the_short_form_is_the_exact_penalty() -> None:
    config = default_config("trpo", "Reacher-v4")
    assert config.policy_penalty.penalty == ()
    smooth = with_user_settings(config, {"lambda_policy": 0.25})
    assert smooth == with_user_settings(config, {"penalty": {"exact": 0.25}})
    with pytest.raises(ConfigError, match="give one of the two"):
        with_user_settings(config, {"lambda_policy": 1, "penalty": "cats"})


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), True, "1", None])
def test_the_short_form_takes_a_weight(weight: object) -> None:
    with pytest.raises(ConfigError, match=r"--lambda-policy|--penalty exact=inf"):
        with_user_settings(default_config("trpo", "Reacher-v4"), {"lambda_policy": weight})


def test_a_step_s_settings_are_read_with_that_step() -> None:
    assert set(READ_WITH) == {"trust_region", "ppo"}
    config = default_config("spacil", "Reacher-v4")
    changed = with_user_settings(config, {"policy_step": "ppo", "ppo_clip": 0.3})
    assert changed.ppo.ppo_clip == 0.3
    with pytest.raises(ConfigError, match="--ppo-clip is read with --policy-step ppo only"):
        with_user_settings(config, {"ppo_clip": 0.3})


@pytest.mark.parametrize(
    ("algorithm", "unread", "reader"),
    [
        ("spacil", {"cost_penalty_estimator": "pgd"}, {"cost_penalty_form": "both"}),
        ("spacil", {"cost_penalty_mixing": "none"}, {"cost_penalty_form": "gp"}),
        ("spacil", {"ball_num_steps": 5}, {"penalty": "pgd=0.1"}),
        ("spacil", {"ball_radius": 0.1}, {"policy_penalty_scale": "paper-mean"}),
        ("spacil", {"caps_noise_std": 0.1}, {"penalty": "caps"}),
        ("spacil", {"smoothness_target_states": 9}, {"fluctuation_target": 1.0}),
        ("spacil", {"warm_start_steps": 0, "warm_start_iterations": 2}, {"warm_start_epochs": 3}),
        ("gail", {"cost_weight": "by-pairs"}, {"lambda_cost": 0.1}),
        ("gail", {"cost_penalty_mixing": "none"}, {"lambda_cost": 0.1, "cost_penalty_form": "gp"}),
        ("gail", {"penalty_state_fraction": 0.5}, {"lambda_cost": 0.1}),
        ("bc", {"gamma": 0.9}, {"penalty_discount": True}),
        ("smooth", {"select": "last"}, None),
    ],
)
def test_a_setting_that_nothing_reads_beside_the_others_is_refused(
    algorithm: str, unread: dict[str, Any], reader: dict[str, Any] | None
) -> None:
    config, flag = default_config(algorithm, "Reacher-v4"), list(unread)[-1].replace("_", "-")
    with pytest.raises(ConfigError, match=f"--{flag} is read with .* only"):
        with_user_settings(config, unread)
    if reader is not None:
        with_user_settings(config, unread | reader)


def test_a_misspelt_setting_is_met_with_the_nearest_names() -> None:
    config = default_config("gail", "Reacher-v4")
    with pytest.raises(ConfigError, match="unknown setting 'maxkl': did you mean max_kl"):
        with_user_settings(config, {"maxkl": 1.0})
