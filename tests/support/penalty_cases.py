"""A small policy, random rows and small settings on which both penalties are tried."""

from typing import Any

import torch
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.config.train_config import TrainConfig
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.policy_terms import PenaltyRows

POLICY_PENALTIES = ("exact", "pgd", "frobenius", "lcp", "cats", "caps")


def make_config(**settings: Any) -> TrainConfig:
    return with_user_settings(default_config("spacil", "Reacher-v4", "plain"), settings)


def make_policy(initial_log_std: float = 0.0) -> GaussianPolicy:
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(
        4, [-1.0] * 2, [1.0] * 2, (16, 8), "fan-in", initial_log_std, generator
    ).double()
    with torch.no_grad():
        policy.mean_net.weights_and_biases[-1][0].mul_(30)
    return policy


def make_rows(size: int = 60) -> PenaltyRows:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(size, 4, generator=generator, dtype=torch.float64)
    actions = torch.randn(size, 2, generator=generator, dtype=torch.float64)
    return PenaltyRows(states, actions, states.roll(-1, 0))


def assert_unbiased(estimates: Tensor, truth: float) -> None:
    standard_error = float(estimates.std()) / len(estimates) ** 0.5
    assert 0 < standard_error < 0.1 * truth
    assert abs(float(estimates.mean()) - truth) < 3 * standard_error
