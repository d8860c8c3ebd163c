"""Training that leaves the valid range ends with its reason; what was saved before stays good."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from demo_edits import with_tensors
from fixture_types import Tiny, Train

import spacil as library
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import save_demos
from spacil.errors import DivergedError
from spacil.runs import checkpoint


def metrics_of(run_dir: Path) -> list[dict[str, Any]]:
    """The iterations of a run, without the evaluation of the untrained policy before them."""
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()][1:]


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


def test_demonstrations_that_give_themselves_away_are_flagged_and_the_run_goes_on(
    train: Train, good_demos: Demonstrations, tmp_path: Path
) -> None:
    # The agent's actions are never all at the upper bound: every pair can be told apart.
    leaking = good_demos.executed_actions.clone().fill_(1.0)
    leaking[0] = 0.9  # actions that never change are refused
    file = tmp_path / "leaking.demos.safetensors"
    save_demos(with_tensors(good_demos, executed_actions=leaking), file)
    settings: dict[str, Any] = {
        "iterations": 30,
        "discriminator_learning_rate": 0.05,
        "discriminator_steps": 10,
        "num_envs": 4,
        "steps_per_iteration": 40,
        "evaluation_interval": 100,
        "checkpoint_interval": 100,
    }
    trained = train("gail", "--demos", file, "--run-dir", tmp_path / "run", **settings)
    assert trained.code == 0
    rows = metrics_of(tmp_path / "run")
    in_a_row = 0
    for row in rows:
        in_a_row = in_a_row + 1 if row["is_saturated"] else 0
        assert row["warn_saturated"] == (in_a_row > 20)
    assert in_a_row > 20
    # Saturated by its accuracy or by a logit beyond 50; some pairs of 290 may be on the wrong side
    # then, and which ones depends on the processor's last bits.
    assert rows[-1]["disc_acc"] > 0.9
    assert trained.result["last"]["warn_saturated"] is True


def test_failing_line_searches_warn_after_20_and_end_the_run_after_100(
    train: Train, odd_task: Callable[[str], str], tmp_path: Path
) -> None:
    # Nothing ever happens in this env, and the next state's value counts for nothing: all
    # advantages are equal, so no direction is better than another.
    failed = train(
        *("trpo", "--run-dir", tmp_path / "run"),
        task=odd_task("Nothing"),
        iterations=200,
        gamma=1e-30,
        gae_lambda=0.0,
        num_envs=2,
        steps_per_iteration=16,
        evaluation_interval=1000,
        checkpoint_interval=50,
    )
    assert failed.code == 70
    assert "the line search failed 101 times in a row (last reason: no direction)" in failed.err
    in_a_row = 0
    for row in metrics_of(tmp_path / "run"):
        in_a_row = 0 if row["is_accepted"] else in_a_row + 1
        assert row["warn_line_search"] == (in_a_row > 20)
    assert in_a_row == 100
    # Parameters that were restored a hundred times are still the same, bit for bit.
    last = last_checkpoint(tmp_path / "run")
    earlier = checkpoint.read(last.path.with_name(checkpoint.file_name(last.iteration - 50)))
    for name, tensor in last.tensors.items():
        assert torch.equal(tensor, earlier.tensors[name]) or not name.startswith("policy.mean_net")


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


def test_a_value_fit_that_overflows_names_the_settings_to_try(train: Train, tmp_path: Path) -> None:
    failed = train("trpo", "--run-dir", tmp_path / "run", value_learning_rate=1e30)
    assert failed.code == 70
    assert "value fit: loss is" in failed.err and "--value-learning-rate" in failed.err
