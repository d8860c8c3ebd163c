"""Labelled states know which row follows which, across rounds and ends of episodes."""

import numpy as np
import pytest
import torch

from spacil.envs.episodes import EpisodeTotals
from spacil.errors import StorageError
from spacil.learning.labelled_states import LabelledStates, TrainingRows
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


def played(length: int, width: int, first: float, cut: tuple[int, int] | None) -> RolloutBatch:
    """States that count up; `cut` is the step and env whose episode is truncated."""
    states = first + torch.arange(length * width, dtype=torch.float32).view(length, width, 1)
    truncated = torch.zeros(length, width, dtype=torch.bool)
    if cut is not None:
        truncated[cut] = True
    return RolloutBatch(
        states=states,
        actions=torch.zeros(length, width, 1),
        env_rewards=torch.zeros(length, width),
        terminated=torch.zeros(length, width, dtype=torch.bool),
        truncated=truncated,
        final_states=torch.zeros(int(truncated.sum()), 1),
        last_states=torch.zeros(width, 1),
    )


def two_rounds() -> LabelledStates:
    data = LabelledStates.none(1, 1)
    for first, cut in ((0.0, None), (100.0, (0, 1))):
        data = data.with_round(played(3, 2, first, cut), torch.full((6, 1), first))
    return data


def test_a_row_is_followed_within_its_round_and_its_episode_only() -> None:
    rows = TrainingRows(two_rounds(), GaussianPolicy(1, [-1.0], [1.0], [4]))
    # Rows 4, 5 and 10, 11 end their rounds; row 7 ends an episode: they stand for themselves.
    assert rows.successors.tolist() == [2, 3, 4, 5, 4, 5, 8, 7, 10, 11, 10, 11]
    assert rows.share_followed == pytest.approx(7 / 12)
    assert rows.labels.flatten().tolist() == [0.0] * 6 + [100.0] * 6


def test_episodes_of_several_lengths_follow_each_other_step_by_step() -> None:
    lengths = np.array([3, 1, 4])
    # Three go on in the first step, then the first and the last, then the last alone.
    states = torch.tensor([[0.0], [10.0], [20.0], [1.0], [21.0], [2.0], [22.0], [23.0]])
    episodes = EpisodeTotals(np.zeros(3), lengths, states, np.zeros(3), np.zeros(3, dtype=bool))
    data = LabelledStates.none(1, 1).with_episodes(episodes, -states)
    successors = torch.arange(8) + data.ahead
    followed = {
        float(states[row]): float(states[to]) for row, to in enumerate(successors) if to != row
    }
    assert followed == {0.0: 1.0, 1.0: 2.0, 20.0: 21.0, 21.0: 22.0, 22.0: 23.0}
    assert torch.equal(data.labels, -states)


def test_they_survive_a_checkpoint_and_refuse_one_of_other_shapes() -> None:
    data, nothing = two_rounds(), LabelledStates.none(1, 1)
    restored = LabelledStates.restored(data.tensors(), nothing)
    assert all(torch.equal(value, vars(restored)[name]) for name, value in vars(data).items())
    with pytest.raises(StorageError, match=r"labelled states should be .* \(12, 2\)"):
        LabelledStates.restored(data.tensors(), LabelledStates.none(2, 1))
    shorter = data.tensors() | {"labels": data.labels[1:]}
    with pytest.raises(StorageError, match=r"labelled labels should be .* \(12, 1\)"):
        LabelledStates.restored(shorter, nothing)
    with pytest.raises(StorageError, match="missing"):
        LabelledStates.restored({}, nothing)
