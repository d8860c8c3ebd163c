"""Regression of the value network on the returns the batch suggests."""

from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config import ValueConfig
from spacil.errors import DivergedError
from spacil.functional.returns import explained_variance
from spacil.nets.value import ValueNet


@dataclass(frozen=True)
class ValueReport:
    value_loss: float
    """Mean squared error of the last epoch"""
    explained_variance: float
    """Of the targets, by the network before this fit"""


def step(
    value: ValueNet,
    optimizer: torch.optim.Optimizer,
    normalized_states: Tensor,
    targets: Tensor,
    old_values: Tensor,
    config: ValueConfig,
    minibatch_generator: torch.Generator,
) -> ValueReport:
    """A few epochs of Adam on shuffled minibatches."""
    size = len(targets)
    loss_sum = torch.zeros((), device=targets.device)
    for _ in range(config.value_epochs):
        loss_sum.zero_()
        order = torch.randperm(size, generator=minibatch_generator).to(targets.device)
        for rows in order.split(config.value_minibatch):
            loss = (value(normalized_states[rows]) - targets[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.detach() * len(rows)
    value_loss = float(loss_sum) / size
    if not value_loss < float("inf"):
        raise DivergedError(
            f"value fit: loss is {value_loss} on targets up to {float(targets.abs().max()):.3g}; "
            "a smaller --value-learning-rate may help, or rewards nearer to 1 "
            "(in imitation: a smaller --discriminator-learning-rate)"
        )
    return ValueReport(value_loss, explained_variance(old_values, targets))
