"""Defaults: what a task, an algorithm and a preset bring, and nothing else."""

from typing import Any

import pytest

from spacil import paper
from spacil.config.algorithms import SPaCILConfig
from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings
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
        config = default_config(algorithm, task)
        assert config.value.gamma == column.gamma
        assert config.value.gae_lambda == column.gae_lambda
        expected = (
            column.expert_steps_per_iteration
            if algorithm == "trpo"
            else column.num_trajectories * column.trajectory_length
        )
        assert config.sampling.steps_per_iteration == expected
        assert expected % config.sampling.num_envs == 0


def test_the_newer_version_of_a_task_shares_its_column_and_an_unknown_task_has_none() -> None:
    newer, older = default_config("gail", "Ant-v5"), default_config("gail", "Ant-v4")
    assert changes(older, newer) == {"task": "Ant-v5"}
    plain = default_config("spacil", "Pendulum-v1", "plain")
    assert changes(SPaCILConfig(task="Pendulum-v1"), plain) == {}


def test_plain_spacil_differs_from_gail_in_its_penalties_alone() -> None:
    gail = default_config("gail", "Hopper-v4")
    smooth = default_config("spacil", "Hopper-v4", "plain")
    assert gail.policy_penalty.terms == () and gail.cost_penalty.lambda_cost == 0
    before, after = flat_settings(gail), flat_settings(smooth)
    assert after["penalty"] == ["exact=0.03"]
    assert before.keys() < after.keys()
    assert {name: after[name] for name in before if before[name] != after[name]} == {
        "algorithm": "spacil",
        "lambda_cost": 0.01,
        "cost_penalty_form": "response",
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
        "penalty": [f"pgd={column.lambda_policy!r}:scale={preset}:rule=raw"],
        "lambda_cost": column.lambda_cost,
        "cost_penalty_form": f"response:scale={preset}:estimator=pgd:rule=raw",
        "penalty_ramp_iterations": 0,
        "penalty_state_fraction": 1.0,
    }
    in_ball = {"radius": 0.01, "step_size": 0.02, "steps": 10}
    plain, paper_like = (default_config("spacil", task, p) for p in ("plain", preset))
    flat = flat_settings(paper_like)
    assert {name: flat[name] for name in DISCRIMINATOR | printed} == DISCRIMINATOR | printed
    (term,) = paper_like.policy_penalty.terms
    assert term.arguments.items() >= in_ball.items()
    assert paper_like.cost_penalty.arguments.items() >= in_ball.items()
    assert changes(plain, paper_like).keys() <= (DISCRIMINATOR | printed).keys()


@pytest.mark.parametrize("preset", ["paper-mean", "paper-sum"])
def test_a_preset_of_gail_sets_the_papers_discriminator_alone(preset: Any) -> None:
    plain, paper_like = (default_config("gail", "Hopper-v4", p) for p in ("none", preset))
    assert changes(plain, paper_like) == DISCRIMINATOR


FAST = {
    "max_kl": 0.03,
    "fisher_state_fraction": 0.2,
    "initial_log_std": -1.5,
    "warm_start_epochs": 40,
}


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [("gail", FAST), ("airl", FAST), ("spacil", {"iterations": 60}), ("trpo", {"max_kl": 0.03})],
)
def test_the_fast_preset_changes_little(algorithm: str, settings: dict[str, Any]) -> None:
    plain, fast = (default_config(algorithm, "Hopper-v4", p) for p in ("none", "fast"))
    assert changes(plain, fast) == settings


def test_spacil_has_one_rule_for_all_tasks() -> None:
    differences = [
        changes(default_config("spacil", task, "plain"), default_config("spacil", task))
        for task in ("Reacher-v4", "Hopper-v4", "Ant-v4", "Pendulum-v1")
    ]
    assert all(difference == differences[0] for difference in differences)
    assert differences[0]["penalty_weight"] == "auto"


def test_a_preset_that_has_no_meaning_is_refused() -> None:
    with pytest.raises(ConfigError, match="trpo has no such preset; it has none, fast"):
        default_config("trpo", "Hopper-v4", "paper-sum")
    with pytest.raises(ConfigError, match=r"prints no weights for Pendulum-v1; it has Reacher-v4"):
        default_config("spacil", "Pendulum-v1", "paper-mean")
