"""What an iteration counts, and what it must leave alone."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tiny_runs import tiny

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.file import load_demos
from spacil.engine.device import torch_threads
from spacil.learning.on_policy import OnPolicy
from spacil.learning.run import evaluate_if_due, train


@pytest.fixture
def learner() -> Iterator[OnPolicy]:
    config = with_settings(default_config("gail", "Reacher-v4"), tiny())
    learner = OnPolicy(config, "Reacher-v4", load_demos("Reacher-v4").first(3))
    yield learner
    learner.close()


def test_evaluation_touches_nothing_that_training_reads(learner: OnPolicy) -> None:
    for _ in range(2):
        learner.iterate()
    before = learner.state.tensors()
    metrics = evaluate_if_due(learner)
    assert metrics["num_episodes"] == learner.eval_env.num_envs == 2
    assert learner.best is not None and metrics["is_best"]
    after = learner.state.tensors()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_evaluations_come_at_their_interval_and_at_the_end_each_from_its_own_starts(
    learner: OnPolicy,
) -> None:
    rows: list[dict[str, Any]] = []
    train(learner, rows.append)
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    assert ["average_return" in row for row in rows] == [False, True, True]
    # The same policy on the starts of another evaluation.
    learner.counters.iteration = 2
    again = evaluate_if_due(learner)
    assert again["average_return"] != rows[2]["average_return"]
    assert again["average_return"] != rows[1]["average_return"]


def test_iterations_count_steps_and_gather_the_returns_of_whole_episodes(learner: OnPolicy) -> None:
    # Ten envs of 50-step episodes, 20 steps each: nothing ends, nothing, then everything does.
    rows = [learner.iterate() for _ in range(3)]
    assert [row["env_steps"] for row in rows] == [200, 400, 600]
    assert [row["episodes_finished"] for row in rows] == [0, 0, 10]
    assert rows[0]["train_return"] is None and rows[2]["train_length"] == 50
    assert -100 < rows[2]["train_return"] < 0
    assert learner.open_episodes.lengths.tolist() == [10] * 10


def test_the_normaliser_moves_once_at_the_end_of_an_iteration(learner: OnPolicy) -> None:
    count = learner.policy.normalizer.count
    assert count == 0
    learner.iterate()
    assert count == 200
    learner.iterate()
    assert count == 400


def test_training_gives_the_threads_back(learner: OnPolicy) -> None:
    with torch_threads(2):
        seen: list[int] = []
        train(learner, lambda metrics: seen.append(torch.get_num_threads()))
        assert set(seen) == {learner.config.run.torch_threads} == {1}
        assert torch.get_num_threads() == 2
