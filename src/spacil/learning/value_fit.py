"""Regression of the value network on the returns the batch suggests."""

from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.settings import ValueConfig
from spacil.engine.adam import Adam
from spacil.engine.host_reads import read_together
from spacil.engine.mlp_passes import add_parameter_cotangent, forward_trace
from spacil.engine.recorder import Recorder
from spacil.errors import DivergedError
from spacil.functional.returns import explained_variance
from spacil.nets.value import ValueNet


@dataclass(frozen=True)
class ValueBatch:
    """What the value network is fitted to, [B] each."""

    states: Tensor
    """[B, S] normalised"""
    targets: Tensor
    old_values: Tensor
    """Predictions before the fit"""


@dataclass(frozen=True)
class ValueReport:
    value_loss: float
    """Mean squared error of the last epoch"""
    explained_variance: float
    """Share of the targets' variance that the network explained before this fit"""


@torch.no_grad()
def fit_value(
    value: ValueNet,
    optimizer: Adam,
    config: ValueConfig,
    num_epochs: int,
    batch: ValueBatch,
    generator: torch.Generator,
    recorder: Recorder,
) -> ValueReport:
    """Fit by a few epochs of Adam on shuffled minibatches."""
    size = len(batch.targets)
    orders = shuffled_orders(size, num_epochs, generator).to(batch.targets.device)
    lasting = (value, optimizer, config, batch)
    loss_sum, largest, explained = read_together(*recorder("value", _descend, lasting, orders))
    if not loss_sum < float("inf"):
        raise DivergedError(
            f"value fit: loss is {loss_sum / size} on targets up to {largest:.3g}; "
            "a smaller --value-learning-rate may help, or rewards nearer to 1 "
            "(in imitation: a smaller --discriminator-learning-rate)"
        )
    return ValueReport(loss_sum / size, explained)


@torch.no_grad()
def _descend(
    value: ValueNet,
    optimizer: Adam,
    config: ValueConfig,
    batch: ValueBatch,
    orders: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Squared errors of the last epoch, largest target, and what was explained before."""
    targets = batch.targets
    squared_errors = torch.zeros((), device=targets.device)
    value.follow_targets(targets)
    wanted = value.in_network_units(targets)
    layers = value.net.tanh_layers
    slopes = optimizer.gradients
    gradients = list(zip(slopes[::2], slopes[1::2], strict=True))
    for order in orders:
        squared_errors.zero_()
        for rows in order.split(config.value_minibatch):
            trace = forward_trace(layers, batch.states.index_select(0, rows))
            errors = trace.output.squeeze(-1) - wanted.index_select(0, rows)
            squared_errors.add_(errors.square().sum())
            optimizer.zero_grad()
            cotangent = (2 / len(rows)) * errors.unsqueeze(-1)
            add_parameter_cotangent(layers, trace, cotangent, gradients)
            optimizer.step()
    if value.standardizes:
        squared_errors.mul_(value.target_std.square())
    return squared_errors, targets.abs().max(), explained_variance(batch.old_values, targets)


def shuffled_orders(size: int, count: int, generator: torch.Generator) -> Tensor:
    """Random orders of `size` rows, [count, size]."""
    orders = torch.empty(count, size, dtype=torch.int64)
    for order in orders:
        torch.randperm(size, generator=generator, out=order)
    return orders
