"""A critic in the units of its targets: the units move, what it says does not."""

import pytest
import torch

from spacil.config.settings import ValueConfig
from spacil.engine.device import Recorder
from spacil.engine.mlp_passes import Adam
from spacil.learning.critic import ValueBatch, fit_value
from spacil.nets.mlp import MIN_TARGET_STD, TARGET_SHARE, ValueNet


@pytest.fixture
def value() -> ValueNet:
    return ValueNet(3, (5,), generator=torch.Generator().manual_seed(0), standardizes=True)


@pytest.fixture
def states() -> torch.Tensor:
    return torch.randn(20, 3, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("first", "later", "mean", "variance"),
    [
        ([90.0, 110.0], [], 100, 100),
        # a tenth of a mixture: second moment .9 * 1 + .1 * (4 + 100), less the mean's square
        ([-1.0, 1.0], [8.0, 12.0], 1, 10.3),
        # .9 * 1 + .1 * 4, and .1 * .9 of the squared way between the means
        ([99.0, 101.0], [108.0, 112.0], 101, 1.3 + 0.09 * 100),
        ([7.0, 7.0], [], 7, MIN_TARGET_STD**2),  # a spread that can be divided by
    ],
)
def test_targets_move_the_units(
    value: ValueNet, first: list[float], later: list[float], mean: float, variance: float
) -> None:
    assert TARGET_SHARE == 0.1
    for targets in filter(None, (first, later)):
        value.follow_targets(torch.tensor(targets))
    assert float(value.target_mean) == pytest.approx(mean)
    assert float(value.target_std) == pytest.approx(variance**0.5)


def test_an_untrained_critic_says_the_mean_of_its_first_targets(value: ValueNet) -> None:
    value.follow_targets(torch.tensor([490.0, 510.0]))
    assert value(torch.zeros(1, 3)).item() == pytest.approx(500, abs=10)


def test_new_units_leave_every_value_as_it_was(value: ValueNet, states: torch.Tensor) -> None:
    value.follow_targets(torch.tensor([5.0, 9.0]))
    before = value(states)
    value.follow_targets(torch.tensor([-300.0, 500.0]))
    torch.testing.assert_close(value(states), before, rtol=1e-4, atol=1e-4)


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
