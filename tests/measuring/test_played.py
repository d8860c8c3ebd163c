"""Numbers of episodes, by hand."""

import pytest
import torch
from torch import Tensor

from spacil.envs.episodes import Trajectory
from spacil.measuring.played import action_spread
from spacil.policies.policy import Policy

# Executed actions: the first alternates between -1 and 1 (std 1), the second rests at 3.
ALTERNATING = torch.tensor([[1.0, 3.0], [-1.0, 3.0], [1.0, 3.0], [-1.0, 3.0]])
BOUNDS = torch.tensor([-2.0, -4.0]), torch.tensor([2.0, 4.0])


def alternating(states: Tensor) -> Tensor:
    return ALTERNATING.repeat(len(states) // 4, 1)


SOURCE = Policy("alternating", "callable", alternating)


def episode(actions: Tensor) -> Trajectory:
    return Trajectory(torch.zeros(len(actions), 2), actions, torch.zeros(len(actions)).double())


def test_the_spread_is_a_root_mean_square_over_dims_in_half_ranges() -> None:
    # std (1, 0) over half ranges (2, 4): the root of (1/4 + 0) / 2
    found = action_spread([episode(ALTERNATING)], SOURCE, torch.zeros(0, 2), BOUNDS)
    assert found == pytest.approx((0.25 / 2) ** 0.5)


def test_an_open_bound_counts_as_a_half_range_of_one() -> None:
    bounds = BOUNDS[0], torch.tensor([torch.inf, 4.0])
    found = action_spread([episode(ALTERNATING)], SOURCE, torch.zeros(0, 2), bounds)
    assert found == pytest.approx(0.5**0.5)
    assert action_spread([episode(ALTERNATING)], SOURCE, torch.zeros(0, 2), None) == found


def test_where_nothing_was_played_clipped_mean_actions_count() -> None:
    bounds = torch.tensor([-0.5, -4.0]), torch.tensor([0.5, 4.0])
    found = action_spread([], SOURCE, torch.zeros(8, 2), bounds)
    assert found == pytest.approx(0.5**0.5)  # clipped to half a unit, of a half range of as much


def test_the_spread_is_that_of_all_episodes_together() -> None:
    resting = [episode(torch.full((4, 1), value)) for value in (-1.0, 1.0)]
    assert action_spread(resting, SOURCE, torch.zeros(0, 2), None) == pytest.approx(1.0)
