"""The sums an advantage is made of, by hand."""

from typing import Any

import torch
from torch import Tensor

from spacil.learning.critic import estimate_advantages, values_outside
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


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
    """With V(s) = s, and gamma and lambda of a half."""
    policy = GaussianPolicy(1, [-1.0], [1.0], (2,))  # its normaliser is still the identity
    value: Any = lambda states: states[:, 0]  # noqa: E731
    outside = values_outside(rollout, policy, value)
    values = rollout.states.squeeze(-1)
    return estimate_advantages(rollout, torch.tensor(rewards), values, outside, 0.5, 0.5)


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
