"""The regression written out, against the same regression by autograd."""

import pytest
import torch

from spacil.config.settings import ValueConfig
from spacil.engine.device import Recorder
from spacil.engine.mlp_passes import Adam
from spacil.errors import DivergedError
from spacil.learning.critic import ValueBatch, fit_value
from spacil.nets.mlp import ValueNet

CONFIG = ValueConfig(value_epochs=3, value_minibatch=40)


def _problem() -> tuple[ValueNet, torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    value = ValueNet(4, (9, 8), generator=draws)
    states = torch.randn(100, 4, generator=draws)
    return value, states, states.square().sum(-1)


def test_a_fit_equals_one_by_autograd() -> None:
    value, states, targets = _problem()
    twin, _, _ = _problem()
    optimizer = Adam(value, 1e-2)
    by_graph = torch.optim.Adam(twin.parameters(), 1e-2)
    old_values = value(states).detach()
    report = fit_value(
        *(value, optimizer, CONFIG, CONFIG.value_epochs, ValueBatch(states, targets, old_values)),
        torch.Generator().manual_seed(1),
        Recorder(),
    )
    order = torch.Generator().manual_seed(1)
    for _ in range(CONFIG.value_epochs):
        loss_sum = 0.0
        for rows in torch.randperm(100, generator=order).split(CONFIG.value_minibatch):
            loss = (twin(states[rows]) - targets[rows]).square().mean()
            by_graph.zero_grad()
            loss.backward()
            by_graph.step()
            loss_sum += float(loss.detach()) * len(rows)
    for ours, theirs in zip(value.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)
    assert report.value_loss == pytest.approx(loss_sum / 100, rel=1e-4)


def test_no_epochs_leave_the_network_alone() -> None:
    value, states, targets = _problem()
    before = [p.detach().clone() for p in value.parameters()]
    optimizer = Adam(value, 1e-2)
    batch = ValueBatch(states, targets, targets)
    report = fit_value(value, optimizer, CONFIG, 0, batch, torch.Generator(), Recorder())
    assert all(torch.equal(a, b) for a, b in zip(before, value.parameters(), strict=True))
    assert report.explained_variance == 1


def test_the_report_of_a_blow_up_names_the_largest_target() -> None:
    value, states, targets = _problem()
    targets[[3, 7]] = torch.tensor([-2e30, 0.0])
    with pytest.raises(DivergedError, match=r"on targets up to 2e\+30; .*--value-learning-rate"):
        batch = ValueBatch(states, targets, targets)
        fit_value(value, Adam(value, 1e-2), CONFIG, 3, batch, torch.Generator(), Recorder())
