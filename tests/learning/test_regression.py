"""The one regression: its gradient is autograd's, and its penalties are those of the table."""

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.penalty_terms import parse_terms
from spacil.errors import DivergedError
from spacil.learning.regression import LabelledRows, Regression
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.metric import local_lipschitz
from spacil.smoothness.policy_terms import PenaltyRows

UNIT = torch.tensor([1.0, 2.0])


def regression(minibatch: int = 200, rate: float = 1e-3) -> Regression:
    student = GaussianPolicy(
        3, [-1, -2], [1, 2], [16, 16], generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        student.mean_net.layers[-1].weight.mul_(30)
    config = default_config("bc", "Line-v0")
    return Regression(config, student, Streams.from_seed(0), rate, minibatch, unit=UNIT)


def labelled() -> LabelledRows:
    """Some labels may be exceeded, and the last row of ten has no successor."""
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(200, 3, generator=generator)
    labels = torch.randn(200, 2, generator=generator)
    has_successor = torch.arange(200) % 10 != 9
    rows = PenaltyRows(states, successors=states.roll(-1, 0))
    return LabelledRows(rows, labels, labels.where(labels < 1, torch.inf), has_successor)


@pytest.mark.parametrize("interval", [1, 4])
def test_the_gradient_is_that_of_autograd_and_a_rare_penalty_counts_more(interval: int) -> None:
    ours, data = regression(), labelled()
    student, parameters = ours.student, list(ours.student.mean_net.parameters())
    mean = student.mean_of_normalized(data.rows.states)
    is_fine = (mean > data.lowest) & data.highest.isinf()
    assert bool(is_fine.any()) and not bool(is_fine.all())
    error = ((mean - data.lowest) / UNIT * ~is_fine).square().sum(-1).mean()
    assert data.has_successor is not None and data.rows.successors is not None
    after = student.mean_of_normalized(data.rows.successors)
    executed = [student.clip(actions) / UNIT for actions in (mean, after)]
    assert not torch.equal(executed[0] * UNIT, mean)
    change = (executed[1] - executed[0])[data.has_successor].square().sum(-1).mean()
    expected = torch.autograd.grad(error + interval * 0.7 * change, parameters)
    losses = ours._step(data, parse_terms(("cats=0.7",)), interval)
    torch.testing.assert_close(
        losses, {"penalty_cats": interval * 0.7 * change, "imitation": error}
    )
    flat = torch.cat([slope.flatten() for slope in expected])
    assert torch.allclose(ours.optimizer.gradient, flat, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("interval", [1, 8])
def test_each_penalty_lowers_what_it_counts(interval: int) -> None:
    data = labelled()

    def fitted(*penalty: str) -> GaussianPolicy:
        ours = regression(minibatch=64, rate=0.01)
        terms = parse_terms(penalty)
        losses = ours.fit(data, terms, 150, penalty_interval=interval, last_rate=0.02)
        assert losses.keys() == {"imitation", *(f"penalty_{term.name}" for term in terms)}
        return ours.student

    def slope(student: GaussianPolicy) -> float:
        return float(local_lipschitz(student.mean_of_normalized, data.rows.states).mean())

    def change(student: GaussianPolicy) -> float:
        assert data.rows.successors is not None
        ends = [student.mean_of_normalized(s) for s in (data.rows.states, data.rows.successors)]
        return float((ends[1] - ends[0]).detach().abs().mean())

    plain = fitted()
    assert slope(fitted("linear=1")) < 0.7 * slope(plain)
    assert change(fitted("cats=5")) < 0.7 * change(plain)


def test_the_spread_becomes_that_of_the_errors_within_its_limits() -> None:
    ours, data = regression(), labelled()
    with torch.no_grad():
        mean = ours.student.mean_of_normalized(data.rows.states)
    ours.fit_spread(LabelledRows(data.rows, mean, mean), ceiling=0.3)
    assert ours.student.log_std.exp().tolist() == pytest.approx([0.001, 0.002])
    ours.fit_spread(LabelledRows(data.rows, mean + 9, mean + 9), ceiling=0.3)
    assert ours.student.log_std.exp().tolist() == pytest.approx([0.3, 0.6])


def test_a_loss_that_is_not_finite_is_named_with_a_remedy() -> None:
    data = labelled()
    labels = torch.full_like(data.lowest, torch.nan)
    with pytest.raises(DivergedError, match="--clone-learning-rate"):
        regression().fit(LabelledRows(data.rows, labels, labels), (), 2)
