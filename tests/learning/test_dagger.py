"""States visited know which one follows, across rounds and ends of episodes."""

import numpy as np
import torch

from spacil.envs.vector_env import EnvSpec
from spacil.learning.dagger import VisitedStates, _ahead_in_batch, _ahead_in_wave
from spacil.nets.policy import GaussianPolicy

BOUNDS = np.full(1, -1.0, dtype=np.float32), np.full(1, 1.0, dtype=np.float32)
SPEC = EnvSpec("Point-v0", 1, 1, *BOUNDS, horizon=4, dt=None)


def two_rounds() -> VisitedStates:
    """Batches of 3 steps in 2 envs; in the second one an episode ends at once."""
    visited = VisitedStates.none(SPEC)
    for label, cuts in ((-2.0, ()), (0.5, (1,))):
        is_cut = torch.zeros(3, 2, dtype=torch.bool)
        is_cut.view(-1)[list(cuts)] = True
        states = len(visited) + torch.arange(6.0).unsqueeze(1)
        visited += VisitedStates(states, torch.full((6, 1), label), _ahead_in_batch(is_cut))
    return visited


def test_a_row_is_followed_within_its_round_and_its_episode_only() -> None:
    visited, policy = two_rounds(), GaussianPolicy(1, *BOUNDS, [4])
    rows = visited.for_fit(policy)
    # Rows 4, 5 and 10, 11 end their rounds; row 7 ends an episode.
    assert (rows.has_successor.nonzero().flatten().tolist()) == [0, 1, 2, 3, 6, 8, 9]
    followed = rows.rows.successors[rows.has_successor].flatten()
    assert torch.equal(
        followed, policy.normalize(torch.tensor([[2.0, 3, 4, 5, 8, 10, 11]]).T)[:, 0]
    )
    # A label beyond a bound is met by any action beyond it.
    assert rows.lowest.flatten().tolist() == [-np.inf] * 6 + [0.5] * 6
    assert rows.highest.flatten().tolist() == [-1.0] * 6 + [0.5] * 6


def test_episodes_of_several_lengths_follow_each_other_step_by_step() -> None:
    # Three go on in the first step, then the first and the last, then the last alone.
    states = torch.tensor([0, 10, 20, 1, 21, 2, 22, 23])
    ahead = _ahead_in_wave(torch.tensor([3, 1, 4]))
    followed = dict(zip(states.tolist(), states[torch.arange(8) + ahead].tolist(), strict=True))
    assert followed == {0: 1, 1: 2, 2: 2, 10: 10, 20: 21, 21: 22, 22: 23, 23: 23}
