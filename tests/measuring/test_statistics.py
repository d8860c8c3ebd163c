"""Return statistics by hand, and the bootstrap beside the normal approximation."""

import numpy as np
import pytest

from spacil.measuring.evaluate import mean_interval, return_statistics


def test_the_spread_of_three_returns_is_that_of_a_sample() -> None:
    found = return_statistics(np.array([1.0, 2.0, 6.0]))
    assert (found.average_return, found.num_episodes) == (3.0, 3)
    assert found.return_std == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2
    assert 1.0 <= found.return_low < 3.0 < found.return_high <= 6.0


def test_one_episode_has_no_spread() -> None:
    found = return_statistics(np.array([3.0]))
    assert (found.return_low, found.average_return, found.return_high) == (3.0, 3.0, 3.0)
    assert found.return_std == 0.0


def test_the_interval_covers_the_mean_and_repeats() -> None:
    values = np.random.default_rng(0).normal(5.0, 1.0, size=400)
    low, high = mean_interval(values)
    assert (low, high) == mean_interval(values)
    standard_error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * standard_error, abs=0.3 * standard_error)
    assert high == pytest.approx(values.mean() + 1.96 * standard_error, abs=0.3 * standard_error)
    assert mean_interval(np.array([3.0])) == (3.0, 3.0)
