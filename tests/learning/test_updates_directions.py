"""Every step of an update goes the right way: up in what is paid, down in what is lost."""

from typing import Any

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.penalty_terms import parse_terms
from spacil.config.settings import ValueConfig
from spacil.engine.mlp_passes import Adam
from spacil.engine.recorder import Recorder
from spacil.functional.policy_gradient import log_prob
from spacil.functional.sensitivity import batch_jacobian, top_singular
from spacil.learning.critic import ValueBatch, fit_value
from spacil.learning.policy_step import PolicyBatch, PolicyStep, TrustRegionStep
from spacil.learning.ppo import ClippedStep
from spacil.nets.mlp import ValueNet
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import DrawnTerms, PenaltyRows, draw_terms

STEPS = {"trpo": TrustRegionStep, "ppo": ClippedStep}
SEEDS = range(5)
PPO = {"ppo_learning_rate": 3e-3, "ppo_minibatch": 100}


def make(step: str, seed: int, scale: float = 1.0) -> tuple[GaussianPolicy, PolicyStep, Any]:
    draws = torch.Generator().manual_seed(seed)
    policy = GaussianPolicy(4, [-1.0] * 2, [1.0] * 2, (12, 9), generator=draws)
    with torch.no_grad():
        policy.log_std.normal_(-0.5, 0.3, generator=draws)
        policy.mean_net.weights_and_biases[-1][0].mul_(scale)
    config = with_settings(default_config("trpo", "Reacher-v4"), {"policy_step": step} | PPO)
    return policy, STEPS[step](policy, config), config


def make_batch(policy: GaussianPolicy, seed: int) -> PolicyBatch:
    draws = torch.Generator().manual_seed(100 + seed)
    states, noise = torch.randn(400, 4, generator=draws), torch.randn(400, 2, generator=draws)
    advantages = torch.randn(400, generator=draws)
    with torch.no_grad():
        actions = policy.mean_of_normalized(states) + policy.log_std.exp() * noise
    return PolicyBatch(states, actions, advantages - advantages.mean())


def weighted_log_prob(policy: GaussianPolicy, batch: PolicyBatch) -> float:
    """E[A log pi]: high where good actions have become likely and bad ones unlikely."""
    with torch.no_grad():
        mean = policy.mean_of_normalized(batch.states)
        return float((batch.advantages * log_prob(batch.actions, mean, policy.log_std)).mean())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("step", STEPS)
def test_a_policy_step_raises_the_advantage_weighted_log_probability(step: str, seed: int) -> None:
    policy, policy_step, _ = make(step, seed)
    batch = make_batch(policy, seed)
    before = weighted_log_prob(policy, batch)
    policy_step.take(batch, DrawnTerms, Streams.from_seed(seed), Recorder())
    assert weighted_log_prob(policy, batch) > before + 0.01


@pytest.mark.parametrize("step", STEPS)
def test_turned_advantages_turn_the_step_around(step: str) -> None:
    moved = []
    for sign in (1.0, -1.0):
        policy, policy_step, _ = make(step, 0)
        batch = make_batch(policy, 0)
        batch = PolicyBatch(batch.states, batch.actions, sign * batch.advantages)
        before = policy.mean_of_normalized(batch.states).detach()
        policy_step.take(batch, DrawnTerms, Streams.from_seed(0), Recorder())
        moved.append(policy.mean_of_normalized(batch.states).detach() - before)
    assert float((moved[0] * moved[1]).sum() / (moved[0].norm() * moved[1].norm())) < -0.5


@pytest.mark.parametrize("step", STEPS)
def test_a_penalty_lowers_the_largest_slope_of_the_policy(step: str) -> None:
    policy, policy_step, config = make(step, 0, scale=20.0)
    batch = make_batch(policy, 0)
    terms, rows = parse_terms(("exact=3",)), PenaltyRows(batch.states, batch.actions)

    def sigma_max() -> float:
        jacobians = batch_jacobian(policy.mean_of_normalized, batch.states)
        return float(top_singular(jacobians).sigma.mean())

    before, streams = sigma_max(), Streams.from_seed(0)
    for _ in range(5):
        policy_step.take(
            batch,
            lambda: draw_terms(terms, lambda kind: rows, policy, config, streams),
            streams,
            Recorder(),
        )
    assert sigma_max() < 0.8 * before


def test_a_value_fit_comes_closer_to_its_targets_with_every_call() -> None:
    draws = torch.Generator().manual_seed(0)
    value, states = ValueNet(4, (16,), generator=draws), torch.randn(300, 4, generator=draws)
    targets = 2 * states[:, 0] - 1
    optimizer, config = Adam(value, 0.01), ValueConfig(value_epochs=5, value_minibatch=50)
    losses, explained = [], []
    for _ in range(4):
        old_values = value(states).detach()
        batch = ValueBatch(states, targets, old_values)
        report = fit_value(value, optimizer, config, 5, batch, draws, Recorder())
        losses.append(report.value_loss)
        explained.append(report.explained_variance)
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.2 * losses[0]
    assert explained == sorted(explained) and explained[-1] > 0.8
    assert float((value(states).detach() - targets).square().mean()) < losses[-1]
