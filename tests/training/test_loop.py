"""The loop's own sums, by hand; and what an iteration must leave alone."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from spacil.config import ReturnsConfig
from spacil.data.demo_file import load_demos
from spacil.data.rollout import one_torch_thread, torch_threads
from spacil.nets.policy import GaussianPolicy
from spacil.settings import default_config, with_settings
from spacil.training import loop
from spacil.training.learner import Learner
from spacil.types import RolloutBatch

HALVES = ReturnsConfig(gamma=0.5, gae_lambda=0.5)


def batch(
    states: list[list[float]],
    last_states: list[float],
    terminated: list[tuple[int, int]] = (),
    truncated: list[tuple[int, int]] = (),
    final_states: list[float] = (),
) -> RolloutBatch:
    """A batch [T, N] of one-number states; ends are given as (time, env)."""
    shape = (len(states), len(states[0]))
    flags = {name: torch.zeros(shape, dtype=torch.bool) for name in ("terminated", "truncated")}
    for name, places in (("terminated", terminated), ("truncated", truncated)):
        for place in places:
            flags[name][place] = True
    return RolloutBatch(
        states=torch.tensor(states).unsqueeze(-1),
        actions=torch.zeros(*shape, 1),
        env_rewards=torch.zeros(shape, dtype=torch.float64),
        final_states=torch.tensor(final_states).reshape(-1, 1),
        last_states=torch.tensor(last_states).unsqueeze(-1),
        **flags,
    )


def advantages_of(rollout: RolloutBatch, rewards: list[list[float]]) -> Tensor:
    """With V(s) = s; also checks that targets are advantages plus values."""
    policy = GaussianPolicy(1, [-1.0], [1.0], (2,))  # its normaliser is still the identity
    value: Any = lambda states: states[:, 0]  # noqa: E731
    advantages, targets, values = loop.estimate_advantages(
        rollout, torch.tensor(rewards), rollout.flat_states, policy, value, HALVES
    )
    assert torch.equal(values, rollout.states.flatten())
    assert torch.equal(targets, advantages.flatten() + values)
    return advantages


def test_the_end_of_the_batch_bootstraps_from_the_state_each_env_is_in() -> None:
    rollout = batch([[1.0], [2.0], [3.0]], last_states=[4.0])
    # residuals 1 + 2/2 - 1, 1 + 3/2 - 2, 1 + 4/2 - 3; each carries a quarter of the next sum
    expected = [[1 + 0.25 * 0.5], [0.5], [0.0]]
    assert advantages_of(rollout, [[1.0], [1.0], [1.0]]).tolist() == expected


def test_a_termination_does_not_bootstrap_and_cuts_the_sum() -> None:
    rollout = batch([[1.0], [2.0], [3.0]], last_states=[4.0], terminated=[(1, 0)])
    # residuals 1 + 2/2 - 1, 1 + 0 - 2, 0
    assert advantages_of(rollout, [[1.0], [1.0], [1.0]]).tolist() == [[0.75], [-1.0], [0.0]]


def test_a_truncation_bootstraps_from_its_final_state_and_cuts_the_sum() -> None:
    rollout = batch(
        [[1.0], [2.0], [3.0]], last_states=[4.0], truncated=[(1, 0)], final_states=[8.0]
    )
    # residuals 1 + 2/2 - 1, 1 + 8/2 - 2, 0: the next episode's state, 3, plays no part
    assert advantages_of(rollout, [[1.0], [1.0], [1.0]]).tolist() == [[1.75], [3.0], [0.0]]


def test_an_episode_that_ends_and_is_cut_at_once_has_ended() -> None:
    rollout = batch(
        *([[1.0], [2.0]], [4.0]), terminated=[(0, 0)], truncated=[(0, 0)], final_states=[8.0]
    )
    assert advantages_of(rollout, [[1.0], [1.0]])[0].item() == 0.0  # 1 + 0 - 1


def test_final_states_belong_to_their_truncations_in_time_major_order() -> None:
    rollout = batch(
        *([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [0.0, 0.0]),
        truncated=[(0, 1), (1, 0), (2, 0), (2, 1)],
        final_states=[2.0, 4.0, 6.0, 8.0],
    )
    # Half the final value; a quarter of the sum of the step after where the episode goes on.
    expected = [[0.25 * 2.0, 1.0], [2.0, 0.25 * 4.0], [3.0, 4.0]]
    assert advantages_of(rollout, [[0.0, 0.0]] * 3).tolist() == expected


@pytest.fixture
def learner(tiny: Callable[..., dict[str, Any]]) -> Iterator[Learner]:
    config = with_settings(default_config("gail", "Reacher-v4"), tiny())
    learner = Learner(config, "Reacher-v4", load_demos("Reacher-v4").first(3))
    with one_torch_thread():
        yield learner
    learner.close()


def test_evaluation_touches_nothing_that_training_reads(learner: Learner) -> None:
    for _ in range(2):
        loop.run_iteration(learner)
    before = learner.tensors()
    metrics = loop.evaluate_if_due(learner)
    assert metrics["num_episodes"] == learner.eval_env.num_envs == 2
    assert learner.best is not None and metrics["is_best"]
    after = learner.tensors()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_evaluations_come_at_their_interval_and_at_the_end_each_from_its_own_starts(
    learner: Learner,
) -> None:
    rows: list[dict[str, Any]] = []
    loop.train(learner, rows.append)
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    assert ["average_return" in row for row in rows] == [False, True, True]
    # The same policy on the starts of another evaluation.
    learner.counters.iteration = 2
    again = loop.evaluate_if_due(learner)
    assert again["average_return"] != rows[2]["average_return"]
    assert again["average_return"] != rows[1]["average_return"]


def test_the_env_of_training_and_the_one_of_evaluation_start_apart(learner: Learner) -> None:
    starts = learner.env.reset(), learner.eval_env.reset()
    assert not set(map(bytes, starts[0])) & set(map(bytes, starts[1]))


def test_iterations_count_steps_and_gather_the_returns_of_whole_episodes(
    learner: Learner,
) -> None:
    # Ten envs of 50-step episodes, 20 steps each: nothing ends, nothing, then everything does.
    rows = [loop.run_iteration(learner) for _ in range(3)]
    assert [row["env_steps"] for row in rows] == [200, 400, 600]
    assert [row["episodes_finished"] for row in rows] == [0, 0, 10]
    assert rows[0]["train_return"] is None and rows[2]["train_length"] == 50
    assert -100 < rows[2]["train_return"] < 0
    assert learner.open_lengths.tolist() == [10] * 10


def test_the_normaliser_moves_once_at_the_end_of_an_iteration(learner: Learner) -> None:
    count = learner.policy.normalizer.count
    assert count == 0
    loop.run_iteration(learner)
    assert count == 200
    loop.run_iteration(learner)
    assert count == 400


def test_imitation_never_reads_the_envs_reward(learner: Learner) -> None:
    step = learner.env.step

    def bribed(*arguments: Any) -> Any:
        result = step(*arguments)
        result.rewards[:] = 1e6
        return result

    plain = Learner(learner.config, "Reacher-v4", learner.demonstrations)
    learner.env.step = bribed  # type: ignore[method-assign]
    rows = [(loop.run_iteration(plain), loop.run_iteration(learner)) for _ in range(3)]
    assert rows[2][1]["train_return"] > 1e6 > rows[2][0]["train_return"]
    assert all(first["reward_mean"] == second["reward_mean"] for first, second in rows)
    for name, parameter in plain.policy.named_parameters():
        assert torch.equal(parameter, learner.policy.get_parameter(name))
    plain.close()


def test_training_gives_the_threads_back(learner: Learner) -> None:
    with torch_threads(2):
        seen: list[int] = []
        loop.train(learner, lambda metrics: seen.append(torch.get_num_threads()))
        assert set(seen) == {learner.config.run.torch_threads} == {1}
        assert torch.get_num_threads() == 2
