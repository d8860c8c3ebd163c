"""Envs that cannot be served or that misbehave, as a user of the command line meets them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Train

from spacil.runs import checkpoint

OddTask = Callable[[str], str]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("CartPole-v1", "CartPole-v1: actions are Discrete(2), expected a gymnasium.spaces.Box"),
        ("Hopper-v44", "unknown task 'Hopper-v44': did you mean Hopper-v"),
        ("no_such_module:Env-v0", "no_such_module"),
    ],
)
def test_a_task_that_cannot_be_served_is_refused_at_once_and_leaves_no_folder(
    train: Train, tmp_path: Path, task: str, message: str
) -> None:
    refusal = train("gail", "--run-dir", tmp_path / "run", task=task)
    assert refusal.code == 2
    assert message in refusal.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("Raises", "step", "ValueError: the motor is unplugged"),
        ("ExitsStep", "step, at step 5 of episode 0", "SystemExit: 0"),
        # No env of these survives to its first step, and no run begins.
        ("ExitsReset", "reset, at step 0 of episode 0", "SystemExit: 0"),
        ("ExitsInit", "is made", "SystemExit: 0"),
    ],
)
def test_an_env_that_misbehaves_ends_the_run_and_tells_how_to_replay_it(
    train: Train, odd_task: OddTask, tmp_path: Path, name: str, place: str, message: str
) -> None:
    failed = train("trpo", "--run-dir", tmp_path / "run", task=odd_task(name))
    assert failed.code == 69
    assert odd_task(name) in failed.err and message in failed.err
    assert len(failed.err) < 1_500
    if name == "ExitsInit":
        assert "is made" in failed.err
        return
    assert f"env 0 in {place}" in failed.err
    assert "of episode 0, which starts from reset(seed=" in failed.err
    if place.startswith("step"):
        status = json.loads((tmp_path / "run" / "run.json").read_text())
        assert status["status"] == "failed" and message in status["reason"]


@pytest.mark.parametrize("name", ["Constant", "Huge"])
def test_constant_and_huge_observations_train_and_measure_finite(
    train: Train, odd_task: OddTask, tmp_path: Path, name: str
) -> None:
    trained = train("trpo", "--run-dir", tmp_path / "run", task=odd_task(name))
    assert trained.code == 0
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        # What is not finite is recorded as null; no reward, loss or J of these runs may be.
        nulls = [key for key, value in json.loads(line).items() if value is None]
        assert not {"kl", "value_loss", "reward_mean", "smoothness_j_own"} & set(nulls)
    last = checkpoint.newest(tmp_path / "run" / "checkpoints")
    is_live = last.tensors["policy.normalizer.is_live"].tolist()
    assert is_live == ([True, False, False, True] if name == "Constant" else [True] * 4)


def test_a_resumed_run_on_an_env_that_cannot_be_saved_says_that_it_is_not_exact(
    train: Train, odd_task: OddTask, tmp_path: Path
) -> None:
    # Episodes of 20 steps, of which each iteration does the first half of 10 or the second.
    settings: dict[str, Any] = {"task": odd_task("Plain"), "steps_per_iteration": 100}
    assert train("trpo", "--run-dir", "run", iterations=1, **settings).code == 0
    resumed = train("trpo", "--run-dir", "run", "--resume", iterations=3, **settings)
    assert resumed.code == 0
    assert "cannot be saved within an episode" in resumed.err
    assert "not bit for bit" in resumed.err
    rows = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    # The half episodes of before the break count for nothing.
    assert [row["episodes_finished"] for row in rows[1:]] == [0, 0, 10]
    assert rows[3]["train_length"] == 20
