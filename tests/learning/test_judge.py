"""What a batch is worth: the reward that a change of the action costs."""

import pytest
import torch

from spacil.learning.judge import squared_action_changes
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


def batch(actions: list[list[float]], cut_after: int | None = None) -> RolloutBatch:
    """One env, two actions a step; the episode may be truncated after a step."""
    steps = torch.zeros(len(actions), 1)
    truncated = steps.bool()
    if cut_after is not None:
        truncated[cut_after] = True
    states = steps.unsqueeze(-1)
    return RolloutBatch(
        states,
        torch.tensor(actions).unsqueeze(1),
        steps.double(),
        steps.bool(),
        truncated,
        states[0, :0],
        states[0],
    )


@pytest.fixture
def policy() -> GaussianPolicy:
    return GaussianPolicy(1, [-1.0, -1.0], [1.0, 1.0], hidden=(4,))


def test_a_change_is_that_of_the_executed_action(policy: GaussianPolicy) -> None:
    # 2 is executed as 1: from (1, 0) to (1, 1) is a step of length 1, whatever was wanted.
    played = batch([[1.0, 0.0], [2.0, 1.0], [-1.0, 1.0]])
    assert squared_action_changes(played, policy).flatten().tolist() == [0.0, 1.0, 4.0]


def test_a_new_episode_begins_without_a_change(policy: GaussianPolicy) -> None:
    played = batch([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], cut_after=1)
    assert squared_action_changes(played, policy).flatten().tolist() == [0.0, 1.0, 0.0, 1.0]
