"""The score that needs no reward: hand-worked quantiles, distances, thresholds."""

import math

import pytest
import torch

from spacil.measuring import imitation_score as module
from spacil.measuring.imitation_score import (
    DemonstratedStates,
    imitation_score,
    marginal_distance,
    quantiles,
    score_threshold,
)


def spread(num: int, scale: float = 1.0, shift: float = 0.0) -> torch.Tensor:
    """[num, 1] evenly spaced in [0, scale], shuffled."""
    order = torch.randperm(num, generator=torch.Generator().manual_seed(0))
    return shift + scale * torch.linspace(0, 1, num)[order].unsqueeze(1)


def test_quantiles_lie_between_the_ordered_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NUM_LEVELS", 4)
    # levels 1/8, 3/8, 5/8, 7/8 of two values are at places -1/4, 1/4, 3/4, 5/4
    values = torch.tensor([[2.0], [1.0]])
    torch.testing.assert_close(quantiles(values), torch.tensor([[1.0], [1.25], [1.75], [2.0]]))


def test_the_distance_is_a_root_mean_square_over_dims_in_their_units() -> None:
    first = torch.zeros(64, 2)
    second = torch.tensor([[3.0, 8.0]]).expand(64, 2)
    found = marginal_distance(first, second, torch.tensor([1.0, 2.0]))
    assert found == pytest.approx(math.sqrt((3**2 + 4**2) / 2))


def test_half_the_spread_around_the_same_mean_is_some_way_off() -> None:
    # Quantiles q of the narrower are q / 2: on average half the mean distance from 0, in std 1.
    wide = torch.linspace(-1, 1, 64).unsqueeze(1)
    found = marginal_distance(wide / 2, wide, torch.ones(1))
    assert found == pytest.approx(float(wide.abs().mean()) / 2)


def test_the_demonstrations_themselves_score_0() -> None:
    states = spread(1_000)
    assert imitation_score(states, 0.0, DemonstratedStates.of(states, 0.0)) == pytest.approx(0)


def test_a_shift_by_one_standard_deviation_scores_1() -> None:
    states = spread(1_000)
    shifted = states + states.std(0, correction=0)
    found = imitation_score(shifted, 0.0, DemonstratedStates.of(states, 0.0))
    assert found == pytest.approx(1, abs=1e-4)


def test_a_dim_that_never_varied_is_not_compared() -> None:
    states = torch.cat([spread(100), torch.full((100, 1), 5.0)], dim=1)
    elsewhere = torch.cat([spread(100), torch.full((100, 1), 99.0)], dim=1)
    demonstrated = DemonstratedStates.of(states, 0.0)
    assert imitation_score(elsewhere, 0.0, demonstrated) == pytest.approx(0)


def test_only_early_ends_beyond_the_demonstrators_count() -> None:
    states = spread(100)
    demonstrated = DemonstratedStates.of(states, early_fraction=0.25)
    found = [imitation_score(states, early, demonstrated) for early in (0.0, 0.25, 0.75)]
    assert found == pytest.approx([0, 0, 0.5])


def test_the_threshold_of_equal_episodes_is_the_tolerance_alone() -> None:
    episode = spread(2_000)
    states, episodes = torch.cat([episode] * 4), torch.arange(4).repeat_interleave(2_000)
    found = score_threshold(states, episodes, torch.Generator().manual_seed(0))
    assert found == pytest.approx(0.1, abs=2e-3)


def test_the_threshold_grows_with_the_distance_between_episodes() -> None:
    # Two episodes, 0 and 1 apart: the halves are 1 apart, of std 1/2; half of 2 is 1.
    states = torch.cat([torch.zeros(1_000, 1), torch.ones(1_000, 1)])
    episodes = torch.arange(2).repeat_interleave(1_000)
    found = score_threshold(states, episodes, torch.Generator().manual_seed(0))
    assert found == pytest.approx(math.hypot(0.1, 1.3))


def test_one_episode_is_halved_by_steps_alone_and_few_steps_raise_the_threshold() -> None:
    thresholds = [
        score_threshold(spread(num), torch.zeros(num).long(), torch.Generator().manual_seed(1))
        for num in (50, 5_000)
    ]
    assert thresholds[0] > 1.2 * thresholds[1] > 1.2 * 0.1
    assert thresholds[1] < 0.11
