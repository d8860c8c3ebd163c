"""The table of algorithms: every row is whole, and what a row does not read is refused."""

import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, get_args

import pytest

import spacil as library
from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.defaults import default_config
from spacil.config.flat import (
    all_settings,
    flat_settings,
    from_flat_settings,
    settings_of,
    with_user_settings,
)
from spacil.errors import ConfigError

Spacil = Callable[..., Any]

NAMES = list(ALGORITHMS)
TRAINED = [name for name, row in ALGORITHMS.items() if row.verb == "train"]
AGENTS = [library.SPaCIL, library.GAIL, library.AIRL, library.TRPO, library.BC]


@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize("preset", get_args(Preset))
def test_a_preset_is_taken_by_the_rows_that_offer_it(algorithm: str, preset: Preset) -> None:
    if preset in ALGORITHMS[algorithm].presets:
        config = default_config(algorithm, "Hopper-v4", preset)
        assert from_flat_settings(flat_settings(config)) == config
        assert config.algorithm == algorithm
    else:
        with pytest.raises(ConfigError, match=f"--preset {preset}: {algorithm} has no such preset"):
            default_config(algorithm, "Hopper-v4", preset)


@pytest.mark.parametrize("algorithm", NAMES)
def test_what_learns_and_what_rewards_can_be_imported(algorithm: str) -> None:
    row = ALGORITHMS[algorithm]
    assert {"iterate", "prepare", "after_evaluation"} <= set(dir(pkgutil.resolve_name(row.learner)))
    if row.adversary is not None:
        adversary = pkgutil.resolve_name(row.adversary)
        assert {"train", "cost", "make_network", "logits_agent_is_high"} <= set(dir(adversary))
        assert list(inspect.signature(adversary).parameters) == [
            "config", "policy", "expert", "init",
        ]  # fmt: skip


def test_the_python_face_has_a_class_for_every_row_that_is_trained() -> None:
    assert [agent.algorithm for agent in AGENTS] == TRAINED


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_setting_of_other_algorithms_is_refused_with_their_names(algorithm: str) -> None:
    config, own = default_config(algorithm, "Reacher-v4"), settings_of(algorithm)
    for name in sorted(all_settings().keys() - own.keys()):
        readers = ", ".join(other for other in NAMES if name in settings_of(other))
        with pytest.raises(ConfigError) as refusal:
            with_user_settings(config, {name: 0})
        flag = f"--{name.replace('_', '-')}"
        assert str(refusal.value) == f"{flag}: {algorithm} has no such setting; it is for {readers}"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("bc --max-kl 1", "bc has no such setting; it is for spacil, gail, airl, trpo"),
        ("gail --lambda_policy=0.1", "--lambda-policy: gail has no such setting; it is for spacil"),
        ("gail --no-smoothest", "--smoothest: gail has no such setting; it is for spacil, airl"),
        ("gail --max-kll 1", "unknown setting --max-kll: did you mean --max-kl"),
        ("spacil --policy-step ppo --max-kl 1", "--max-kl is read with --policy-step trpo only"),
        ("trpo --ppo-clip 0.1", "--ppo-clip is read with --policy-step ppo only"),
        ("spacil --lambda-policy 1 --penalty cats", "--lambda-policy is short for --penalty"),
        (
            "trpo --lambda-policy -1",
            "--penalty exact=-1.0: expected NAME=WEIGHT",
        ),
    ],
)
def test_a_refusal_on_the_command_line_says_what_to_do(
    spacil: Spacil, command: str, words: str
) -> None:
    algorithm, *flags = command.split()
    refused = spacil("train", algorithm, "--task", "Reacher-v4", *flags)
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err


def test_a_setting_that_is_given_wins_over_what_a_preset_says_of_the_same_thing() -> None:
    config = default_config("spacil", "Reacher-v4")
    assert config.policy_penalty.penalty_weight == "auto"
    for name, value in (("penalty", "exact=0.1"), ("lambda_policy", 0.1), ("keep_return", 0.9)):
        given = with_user_settings(config, {name: value})
        assert given.policy_penalty.penalty_weight == "fixed"
    assert given.imitation.select == "smoothest"
    assert with_user_settings(config, {"keep_return": 0.0, "smoothest": False}) == config
    assert with_user_settings(config, {"lambda_cost": 0.4}).cost_penalty.cost_weight == "fixed"
    assert with_user_settings(config, {"warm_start_epochs": 2}).warm_start.warm_start_steps == 0
    both = {"penalty": "exact=0.2", "penalty_weight": "auto"}
    assert with_user_settings(config, both).policy_penalty.penalty_weight == "auto"


def test_the_short_form_is_the_exact_penalty() -> None:
    config = default_config("trpo", "Reacher-v4")
    assert config.policy_penalty.penalty == ()
    smooth = with_user_settings(config, {"lambda_policy": 0.25})
    assert smooth == with_user_settings(config, {"penalty": {"exact": 0.25}})
    with pytest.raises(ConfigError, match="--penalty exact=much: expected NAME=WEIGHT"):
        with_user_settings(config, {"lambda_policy": "much"})
