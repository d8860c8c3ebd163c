"""A critic in the units of its targets: the units move, what it says does not."""

import pytest
import torch

from spacil.config.settings import ValueConfig
from spacil.engine.mlp_passes import Adam
from spacil.engine.recorder import Recorder
from spacil.learning.critic import ValueBatch, fit_value
from spacil.nets.mlp import MIN_TARGET_STD, TARGET_SHARE, ValueNet


@pytest.fixture
def value() -> ValueNet:
    return ValueNet(3, (5,), generator=torch.Generator().manual_seed(0), standardizes=True)


@pytest.fixture
def states() -> torch.Tensor:
    return torch.randn(20, 3, generator=torch.Generator().manual_seed(1))


def test_the_first_targets_set_the_units(value: ValueNet) -> None:
    value.follow_targets(torch.tensor([90.0, 110.0]))
    assert (float(value.target_mean), float(value.target_std)) == (100, 10)
    assert bool(value.has_seen_targets)


def test_an_untrained_critic_says_the_mean_of_its_first_targets(value: ValueNet) -> None:
    value.follow_targets(torch.tensor([490.0, 510.0]))
    assert value(torch.zeros(1, 3)).item() == pytest.approx(500, abs=10)


def test_later_targets_move_the_units_by_a_tenth_of_a_mixture(value: ValueNet) -> None:
    value.follow_targets(torch.tensor([-1.0, 1.0]))  # mean 0, variance 1
    value.follow_targets(torch.tensor([8.0, 12.0]))  # mean 10, variance 4
    assert TARGET_SHARE == 0.1
    assert float(value.target_mean) == pytest.approx(1.0)
    # second moment .9 * 1 + .1 * (4 + 100) = 11.3, less the mean's square
    assert float(value.target_std) == pytest.approx(10.3**0.5)


def test_first_targets_of_mean_0_and_spread_1_count_as_seen(value: ValueNet) -> None:
    value.follow_targets(torch.tensor([-1.0, 1.0]))
    value.follow_targets(torch.tensor([90.0, 110.0]))
    assert float(value.target_mean) == pytest.approx(10.0)


def test_new_units_leave_every_value_as_it_was(value: ValueNet, states: torch.Tensor) -> None:
    value.follow_targets(torch.tensor([5.0, 9.0]))
    before = value(states)
    value.follow_targets(torch.tensor([-300.0, 500.0]))
    torch.testing.assert_close(value(states), before, rtol=1e-4, atol=1e-4)


def test_equal_targets_have_a_spread_that_can_be_divided_by(value: ValueNet) -> None:
    value.follow_targets(torch.full((4,), 7.0))
    assert float(value.target_std) == pytest.approx(MIN_TARGET_STD)


def fit(states: torch.Tensor, learning_rate: float, *, standardizes: bool) -> tuple[float, float]:
    """The loss a fit reports, and the mean squared error after it, both in the targets' units."""
    targets = 500 + 20 * states[:, 0]
    generator = torch.Generator().manual_seed(0)
    value = ValueNet(3, (20,), generator=generator, standardizes=standardizes)
    optimizer = Adam(value, learning_rate)
    config = ValueConfig(value_epochs=100, value_minibatch=10)
    batch = ValueBatch(states, targets, targets)
    report = fit_value(value, optimizer, config, 100, batch, generator, Recorder())
    return report.value_loss, float((value(states).detach() - targets).square().mean())


def test_a_fit_reaches_large_targets_that_a_raw_one_does_not(states: torch.Tensor) -> None:
    assert fit(states, 1e-2, standardizes=True)[1] < 40  # their variance is about 400
    assert fit(states, 1e-2, standardizes=False)[1] > 4_000


def test_the_loss_is_reported_in_the_units_of_the_targets(states: torch.Tensor) -> None:
    reported, found = fit(states, 1e-9, standardizes=True)
    assert reported == pytest.approx(found, rel=1e-3)


def test_raw_values_keep_no_units() -> None:
    value = ValueNet(3, (5,))
    value.follow_targets(torch.tensor([90.0, 110.0]))
    assert [name for name, _ in value.named_buffers()] == []
    assert value.in_network_units(torch.tensor([4.0])).tolist() == [4]


def test_the_units_move_from_wherever_they_are(value: ValueNet) -> None:
    value.follow_targets(torch.tensor([99.0, 101.0]))  # mean 100, variance 1
    value.follow_targets(torch.tensor([108.0, 112.0]))  # mean 110, variance 4
    assert float(value.target_mean) == pytest.approx(101)
    # .9 * 1 + .1 * 4, and .1 * .9 of the squared way between the means
    assert float(value.target_std) == pytest.approx((1.3 + 0.09 * 100) ** 0.5)
