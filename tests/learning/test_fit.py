"""The hand-written gradient of a fit is autograd's, and each penalty does what it says."""

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.learning import DistilConfig
from spacil.engine.adam import Adam
from spacil.errors import ConfigError, DivergedError
from spacil.learning.fit import Units, Weights, fit, fit_spread, given_weights
from spacil.learning.labelled_states import TrainingRows
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.metric import local_lipschitz

UNITS = Units(torch.tensor([-1.0, -2.0]), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))


class Rows(TrainingRows):
    """Rows given by hand."""

    def __init__(self, states: torch.Tensor, labels: torch.Tensor, width: int) -> None:
        self.states, self.labels = states, labels
        self.successors = (torch.arange(len(states)) + width).clamp_max(len(states) - 1)
        self.share_followed = 0.9


def case(label_size: float = 1.0) -> tuple[GaussianPolicy, Rows]:
    generator = torch.Generator().manual_seed(0)
    student = GaussianPolicy(3, [-1.0, -2.0], [1.0, 2.0], [16, 16], generator=generator)
    student.log_std.requires_grad_(False)
    with torch.no_grad():  # large outputs, so that some lie beyond the bounds
        student.mean_net.layers[-1].weight.mul_(60)
    states = torch.randn(200, 3, generator=generator)
    labels = label_size * torch.randn(200, 2, generator=generator)
    return student, Rows(states, labels, 4)


def settings(**changes: float) -> DistilConfig:
    return with_settings(default_config("smooth", "Reacher-v4"), changes).distil


def test_the_gradient_of_error_and_change_is_that_of_autograd() -> None:
    from spacil.learning.fit import _error_and_change

    student, rows = case()
    optimizer = Adam(student.mean_net, 1e-3)
    batch = torch.arange(50)
    error, change = _error_and_change(student, optimizer, rows, batch, 0.7, UNITS)
    by_hand = optimizer.gradient.clone()

    mean = student.mean_of_normalized(rows.states[batch])
    after = student.mean_of_normalized(rows.states[rows.successors[batch]])
    assert bool((mean.abs() > UNITS.high).any()) and bool((mean.abs() < UNITS.high).any())
    moved = (after.clamp(UNITS.low, UNITS.high) - mean.clamp(UNITS.low, UNITS.high)) / UNITS.high
    labels = rows.labels[batch]
    is_same = ((mean > UNITS.high) & (labels > UNITS.high)) | (
        (mean < UNITS.low) & (labels < UNITS.low)
    )
    errors = (mean - labels.clamp(UNITS.low, UNITS.high)) / UNITS.high * ~is_same
    assert bool(is_same.any())
    expected = errors.square().sum(-1).mean(), 0.7 / 0.9 * moved.square().sum(-1).mean()
    slopes = torch.autograd.grad(sum(expected), list(student.mean_net.parameters()))
    assert float(error) == pytest.approx(expected[0].item(), rel=1e-5)
    assert float(change) == pytest.approx(expected[1].item(), rel=1e-5)
    flat = torch.cat([slope.flatten() for slope in slopes])
    assert torch.allclose(by_hand, flat, rtol=1e-3, atol=1e-5)


def fitted(weights: Weights) -> tuple[GaussianPolicy, Rows, dict[str, float]]:
    student, rows = case()
    optimizer = Adam(student.mean_net, 1e-2)
    changes = settings(fit_steps=150, fit_minibatch=64, fit_learning_rate=0.01)
    return (
        student,
        rows,
        fit(student, optimizer, rows, weights, UNITS, changes, 1, Streams.from_seed(0)),
    )


def test_each_penalty_lowers_what_it_counts() -> None:
    plain, rows, losses = fitted(Weights(0.0, 0.0))
    in_space, _, _ = fitted(Weights(1.0, 0.0))
    in_time, _, _ = fitted(Weights(0.0, 5.0))
    assert losses["penalty_exact"] == losses["penalty_cats"] == 0

    def slope(student: GaussianPolicy) -> float:
        return float(local_lipschitz(student.mean_of_normalized, rows.states).mean())

    def change(student: GaussianPolicy) -> float:
        with torch.no_grad():
            executed = student.clip(student.mean_of_normalized(rows.states))
        return float((executed[rows.successors] - executed).abs().mean())

    assert slope(in_space) < 0.7 * slope(plain)
    assert change(in_time) < 0.7 * change(plain)


def test_the_spread_becomes_that_of_the_errors_within_its_limits() -> None:
    student, rows = case()
    with torch.no_grad():
        exact = student.mean(rows.states).clamp(UNITS.low, UNITS.high)
    fit_spread(student, rows.states, exact, UNITS)
    assert student.log_std.exp().tolist() == pytest.approx([0.001, 0.002])
    fit_spread(student, rows.states, exact + 9, UNITS)
    assert student.log_std.exp().tolist() == pytest.approx([0.3, 0.6])


def test_other_penalties_than_exact_and_cats_are_refused() -> None:
    config = default_config("smooth", "Reacher-v4")
    assert given_weights(config.policy_penalty) == Weights(0.05, 0.3)
    only_cats = with_settings(config, {"penalty": ("cats=2",)})
    assert given_weights(only_cats.policy_penalty) == Weights(0.0, 2.0)
    other = with_settings(config, {"penalty": ("lcp=1",)})
    with pytest.raises(ConfigError, match="lcp: smooth takes exact"):
        given_weights(other.policy_penalty)


def test_a_loss_that_is_not_finite_is_named() -> None:
    student, rows = case(label_size=float("nan"))
    with pytest.raises(DivergedError, match="--fit-learning-rate"):
        fit(
            student,
            Adam(student.mean_net, 1e-3),
            rows,
            Weights(0.0, 0.0),
            UNITS,
            settings(fit_steps=2, fit_minibatch=8),
            1,
            Streams.from_seed(0),
        )
