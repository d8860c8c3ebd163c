"""Numbers of episodes, by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from spacil.measuring.evaluate import return_statistics
from spacil.measuring.played import action_spread, share_of_return

# Executed actions: the first alternates between -1 and 1 (std 1), the second rests at 3.
ALTERNATING = torch.tensor([[1.0, 3.0], [-1.0, 3.0], [1.0, 3.0], [-1.0, 3.0]])
BOUNDS = torch.tensor([-2.0, -4.0]), torch.tensor([2.0, 4.0])


OPEN = torch.tensor([torch.inf, 4.0])
NARROW = torch.tensor([-0.5, -4.0]), torch.tensor([0.5, 4.0])


@pytest.mark.parametrize(
    ("bounds", "square"),
    [
        (BOUNDS, 0.25 / 2),  # std (1, 0) over half ranges (2, 4)
        ((BOUNDS[0], OPEN), 0.5),  # an open bound counts as a half range of one
        (None, 0.5),
        (NARROW, 0.5),  # clipped to half a unit, of a half range of as much
    ],
)
def test_the_spread_is_a_root_mean_square_over_dims_in_half_ranges(
    bounds: tuple[Tensor, Tensor] | None, square: float
) -> None:
    assert action_spread(ALTERNATING, bounds) == pytest.approx(square**0.5)


def test_the_spread_of_returns_is_that_of_a_sample() -> None:
    found = return_statistics(np.array([1.0, 2.0, 6.0]))
    assert (found.average_return, found.num_episodes) == (3.0, 3)
    assert found.return_std == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2
    assert 1.0 <= found.return_low < 3.0 < found.return_high <= 6.0
    one = return_statistics(np.array([3.0]))
    assert (one.return_low, one.average_return, one.return_high) == (None, 3.0, None)
    assert one.return_std is None


def test_the_interval_covers_the_mean_and_repeats() -> None:
    values = np.random.default_rng(0).normal(5.0, 1.0, size=400)
    found = return_statistics(values)
    assert found == return_statistics(values)
    half = 1.96 * values.std() / 20
    assert found.return_low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert found.return_high == pytest.approx(values.mean() + half, abs=0.15 * half)


@pytest.mark.parametrize(
    ("reference", "share"), [(100.0, 0.5), (0.0, None), (-100.0, None), (float("nan"), None)]
)
def test_a_share_is_of_what_a_reference_earns_above_random(
    reference: float, share: float | None
) -> None:
    assert share_of_return(50.0, 0.0, reference) == share
