"""spacil's default as a whole: it reads no reward, repeats, resumes, and keeps what it should."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import tiny

import spacil
from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings, with_user_settings
from spacil.learning.weight_search import ScoreSearch

TASK = "Reacher-v4"
START = {"warm_start_steps": 30, "warm_start_iterations": 1}

NewAgent = Callable[..., spacil.SPaCIL]


@pytest.fixture
def new_agent() -> Any:
    made: list[spacil.SPaCIL] = []

    def make(**changes: Any) -> spacil.SPaCIL:
        agent = spacil.SPaCIL(TASK, seed=5, **tiny("spacil", **START | changes))
        made.append(agent)
        return agent

    yield make
    for agent in made:
        agent.close()


def tensors(agent: spacil.SPaCIL) -> dict[str, torch.Tensor]:
    return agent._learner.state.tensors()


def test_the_mean_is_handed_out_and_the_newest_policy_acts(new_agent: NewAgent) -> None:
    agent = new_agent().learn(5)
    learner: Any = agent._learner
    kept, student = agent.policy.mean_net, learner.policy.mean_net
    first = "layers.0.weight"
    assert agent.policy is learner.evaluated_policy is not learner.rollout_policy
    assert not torch.equal(kept.get_parameter(first), student.get_parameter(first))
    saved = tensors(agent)
    assert torch.equal(saved[f"policy.mean_net.{first}"], kept.get_parameter(first))
    assert torch.equal(saved[f"student.mean_net.{first}"], student.get_parameter(first))


def test_episodes_start_at_all_phases_of_the_time_limit(new_agent: NewAgent) -> None:
    learner: Any = new_agent()._learner
    assert learner.env.save_state()["elapsed_steps"].tolist() == list(range(0, 50, 5))
    assert learner.open_episodes.lengths.tolist() == list(range(0, 50, 5))
    together: Any = new_agent(staggered_starts=False)._learner
    assert not together.env.save_state()["elapsed_steps"].any()
    assert np.array_equal(learner.env_states, together.env_states)


def test_the_weight_moves_at_regular_evaluations_after_the_wait(new_agent: NewAgent) -> None:
    rows: list[dict[str, Any]] = []
    agent = new_agent(warm_start_iterations=2, iterations=5)
    learner: Any = agent._learner
    agent.learn(1)
    # always alike, never smooth enough
    learner.searches.score_rule = ScoreSearch.starting(1e9, 1e-9, 0.1, 0.1)
    agent.learn(4, callback=lambda agent, row: rows.append(row))
    weights = [round(row["lambda_policy"], 6) for row in rows]
    assert weights == [0.1, 0.1, 0.1, 0.125]  # evaluated after 2, while it waits, and after 4
    assert rows[-1]["next_lambda_policy"] == pytest.approx(0.125)  # and after 5, which is the end


@pytest.mark.parametrize(
    "settings", [{"lambda_policy": 0.2}, {"penalty": ("cats=1.0",)}, {"smoothness_target": 0.4}]
)
def test_a_weight_or_target_of_the_users_own_ends_the_search(settings: dict[str, Any]) -> None:
    config = with_user_settings(default_config("spacil", TASK), settings)
    assert config.policy_penalty.penalty_weight == "fixed"
    assert config.cost_penalty.cost_weight == "by-pairs"


def test_a_cost_weight_of_the_users_own_is_used() -> None:
    config = with_user_settings(default_config("spacil", TASK), {"lambda_cost": 0.5})
    assert (config.cost_penalty.cost_weight, config.cost_penalty.lambda_cost) == ("fixed", 0.5)
    assert config.policy_penalty.penalty_weight == "auto"


def test_the_gail_of_ratios_differs_in_penalties_alone() -> None:
    rule, gail = (
        flat_settings(default_config("spacil", "Hopper-v4", preset))
        for preset in ("none", "gail-like")
    )
    assert {name: gail[name] for name in rule if rule[name] != gail[name]} == {
        "penalty": [],
        "penalty_weight": "fixed",
        "anchor_weight": 0.0,
    }
