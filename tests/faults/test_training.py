"""Training that leaves the valid range ends with its reason; what was saved before stays good."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from fixture_types import Tiny, Train

import spacil as library
from spacil.errors import DivergedError
from spacil.runs import checkpoint


def last_checkpoint(run_dir: Path) -> checkpoint.Checkpoint:
    found = checkpoint.newest(run_dir / "checkpoints")
    assert found is not None
    return found


def poison(agent: Any, metrics: dict[str, Any]) -> None:
    with torch.no_grad():
        agent.policy.mean_net.layers[0].weight[3, 1] = torch.nan


def test_a_poisoned_policy_stops_before_the_env_is(tiny: Tiny) -> None:
    agent = library.TRPO("Reacher-v4", **tiny("trpo"))
    env_state: dict[str, Any] = {}

    def poison_and_look(agent: Any, metrics: dict[str, Any]) -> None:
        poison(agent, metrics)
        env_state.update(agent._learner.env.save_state())

    with pytest.raises(DivergedError, match=r"the policy's action is nan .*nothing was stepped"):
        agent.learn(callback=poison_and_look)
    for name, value in agent._learner.env.save_state().items():
        assert (value == env_state[name]).all()


def test_a_poisoned_policy_is_not_saved_over_the_last_one(tiny: Tiny, tmp_path: Path) -> None:
    agent = library.TRPO("Reacher-v4", **tiny("trpo"))
    agent.learn(1, run_dir=tmp_path / "run")
    before = last_checkpoint(tmp_path / "run").content_hash
    with pytest.raises(DivergedError, match=r"after iteration 2 policy\..* holds NaN") as caught:
        agent.learn(1, callback=poison, run_dir=tmp_path / "run")
    assert caught.value.exit_code == 70
    with pytest.raises(DivergedError, match="not saved"):
        agent.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    assert last_checkpoint(tmp_path / "run").content_hash == before
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "failed"
    library.TRPO("Reacher-v4", **tiny("trpo")).learn(2, run_dir=tmp_path / "run")
    assert last_checkpoint(tmp_path / "run").iteration == 2


def test_a_diverging_discriminator_ends_the_run_saved_before(train: Train, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "iterations": 20,
        "discriminator_learning_rate": 1e6,
        "discriminator_hidden": (100, 100),
    }
    failed = train("gail", "--run-dir", tmp_path / "run", **settings)
    assert failed.code == 70
    assert "--discriminator-learning-rate" in failed.err
    last = last_checkpoint(tmp_path / "run")
    assert 0 < last.iteration < 20
    assert f"in iteration {last.iteration + 1}: " in failed.err
    # The same command fails the same way, from the same state: nothing got lost or worse.
    again = train("gail", "--run-dir", tmp_path / "run", "--resume", **settings)
    assert again.code == 70
    assert again.err.splitlines()[-1] == failed.err.splitlines()[-1]
    assert last_checkpoint(tmp_path / "run").content_hash == last.content_hash


@pytest.mark.parametrize("estimator", ["exact", "pgd"])
def test_a_constant_policy_is_perfectly_smooth_and_learns(tiny: Tiny, estimator: str) -> None:
    agent = library.SPaCIL(
        "Reacher-v4",
        preset="plain",
        **tiny(
            "spacil",
            penalty_ramp_iterations=0,
            penalty={estimator: 0.03},
            cost_penalty_form=f"response:estimator={estimator}",
        ),
    )
    with torch.no_grad():
        agent.policy.mean_net.layers[-1].weight.zero_()
    evaluation = agent.evaluate(episodes=2)
    assert evaluation.smoothness_j == evaluation.smoothness_j_own == 0.0
    losses = []
    agent.learn(
        3, callback=lambda agent, metrics: losses.append(metrics[f"loss_penalty_{estimator}"])
    )
    assert losses[0] == 0.0
    assert all(0 <= loss < float("inf") for loss in losses)
    assert all(torch.isfinite(parameter).all() for parameter in agent.policy.parameters())
    assert agent.evaluate(episodes=2).smoothness_j_own > 0
