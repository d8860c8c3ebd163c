"""Numbers of episodes, by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from spacil.envs.episodes import Trajectory
from spacil.measuring.evaluate import mean_interval, return_statistics
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


OPEN = torch.tensor([torch.inf, 4.0])
NARROW = torch.tensor([-0.5, -4.0]), torch.tensor([0.5, 4.0])


@pytest.mark.parametrize(
    ("is_played", "bounds", "square"),
    [
        (True, BOUNDS, 0.25 / 2),  # std (1, 0) over half ranges (2, 4)
        (True, (BOUNDS[0], OPEN), 0.5),  # an open bound counts as a half range of one
        (True, None, 0.5),
        (False, NARROW, 0.5),  # mean actions, clipped to half a unit, of a half range of as much
    ],
)
def test_the_spread_is_a_root_mean_square_over_dims_in_half_ranges(
    is_played: bool, bounds: tuple[Tensor, Tensor] | None, square: float
) -> None:
    played = [episode(ALTERNATING)] if is_played else []
    found = action_spread(played, SOURCE, torch.zeros(8, 2), bounds)
    assert found == pytest.approx(square**0.5)


def test_the_spread_is_that_of_all_episodes_together() -> None:
    resting = [episode(torch.full((4, 1), value)) for value in (-1.0, 1.0)]
    assert action_spread(resting, SOURCE, torch.zeros(0, 2), None) == pytest.approx(1.0)


# --- returns


def test_the_spread_of_returns_is_that_of_a_sample() -> None:
    found = return_statistics(np.array([1.0, 2.0, 6.0]))
    assert (found.average_return, found.num_episodes) == (3.0, 3)
    assert found.return_std == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2
    assert 1.0 <= found.return_low < 3.0 < found.return_high <= 6.0
    one = return_statistics(np.array([3.0]))
    assert (one.return_low, one.average_return, one.return_high) == (3.0, 3.0, 3.0)
    assert one.return_std == 0.0


def test_the_interval_covers_the_mean_and_repeats() -> None:
    values = np.random.default_rng(0).normal(5.0, 1.0, size=400)
    low, high = mean_interval(values)
    assert (low, high) == mean_interval(values)
    standard_error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * standard_error, abs=0.3 * standard_error)
    assert high == pytest.approx(values.mean() + 1.96 * standard_error, abs=0.3 * standard_error)
    assert mean_interval(np.array([3.0])) == (3.0, 3.0)
