"""States visited know which one follows, across rounds and ends of episodes."""

import numpy as np
import torch

from spacil.learning.dagger import VisitedStates, ahead_in_wave
from spacil.nets.policy import GaussianPolicy

BOUNDS = np.full(1, -1.0, dtype=np.float32), np.full(1, 1.0, dtype=np.float32)


def test_a_row_is_followed_across_rounds_and_a_label_beyond_a_bound_by_any_beyond_it() -> None:
    """Two rounds of three steps in two envs; in the second one an episode ends at once."""
    first, second = [2, 2, 2, 2, 0, 0], [2, 0, 2, 2, 0, 0]
    rounds = [
        VisitedStates(start + torch.arange(6.0).unsqueeze(1), torch.full((6, 1), label), ahead)
        for start, label, ahead in ((0, -2.0, torch.tensor(first)), (6, 0.5, torch.tensor(second)))
    ]
    policy = GaussianPolicy(1, *BOUNDS, [4])
    rows = (rounds[0] + rounds[1]).for_fit(policy)
    assert rows.has_successor is not None and rows.rows.successors is not None
    assert (rows.has_successor.nonzero().flatten().tolist()) == [0, 1, 2, 3, 6, 8, 9]
    followed = rows.rows.successors[rows.has_successor]
    expected = torch.tensor([[2.0, 3, 4, 5, 8, 10, 11]]).T
    assert torch.equal(followed, policy.normalize(expected))
    assert rows.lowest.flatten().tolist() == [-np.inf] * 6 + [0.5] * 6
    assert rows.highest.flatten().tolist() == [-1.0] * 6 + [0.5] * 6


def test_episodes_of_several_lengths_follow_each_other_step_by_step() -> None:
    # Three go on in the first step, then the first and the last, then the last alone.
    states = torch.tensor([0, 10, 20, 1, 21, 2, 22, 23])
    ahead = ahead_in_wave(torch.tensor([3, 1, 4]))
    followed = dict(zip(states.tolist(), states[torch.arange(8) + ahead].tolist(), strict=True))
    assert followed == {0: 1, 1: 2, 2: 2, 10: 10, 20: 21, 21: 22, 22: 23, 23: 23}
