"""What a batch earned: rewards and advantages, and the fit of the value network to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.settings import ValueConfig
from spacil.config.train_config import TrainConfig
from spacil.engine.device import Recorder, read_together
from spacil.engine.mlp_passes import Adam, add_parameter_cotangent, forward_trace
from spacil.errors import ConfigError, DivergedError
from spacil.functional.policy_gradient import explained_variance, gae, standardize
from spacil.learning.adversary import Adversary, AgentBatch, imitation_reward
from spacil.learning.policy_step import PolicyBatch, shuffled_orders
from spacil.nets.mlp import ValueNet
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch

RewardTerm = Callable[[RolloutBatch], Tensor]
"""A batch -> rewards [T, N]"""


@dataclass(frozen=True)
class ValueBatch:
    """What the value network is fitted to, [B] each."""

    states: Tensor
    """[B, S] normalised"""
    targets: Tensor
    old_values: Tensor
    """Predictions before the fit"""


@dataclass(frozen=True)
class ScoredBatch:
    """A batch with its rewards and advantages, as each update reads it."""

    rollout: RolloutBatch
    rewards: Tensor
    """[T, N]"""
    for_policy: PolicyBatch
    for_value: ValueBatch
    for_adversary: AgentBatch


def compute_rewards_and_advantages(
    rollout: RolloutBatch,
    policy: GaussianPolicy,
    value: ValueNet,
    adversary: Adversary | None,
    config: TrainConfig,
    recorder: Recorder,
    reward_terms: Sequence[RewardTerm] = (),
) -> ScoredBatch:
    """Reward by the adversary, or without one by the env; `reward_terms` are added to either."""
    added = None
    if reward_terms:
        with torch.no_grad():
            each = [torch.as_tensor(term(rollout)) for term in reward_terms]
        if any(term.shape != rollout.env_rewards.shape for term in each):
            raise ConfigError(
                f"reward_terms: returned the shapes {[tuple(term.shape) for term in each]}, "
                f"expected one reward per step and env, {tuple(rollout.env_rewards.shape)}"
            )
        added = torch.stack(each).sum(0)
    outside = values_outside(rollout, policy, value)
    next_states = None
    if adversary is not None and adversary.reads_next_states:
        next_states = policy.normalize(true_next_states(rollout))
    lasting = (policy, value, adversary, config)
    batch = rollout.without_final_states()
    return recorder("advantages", _score, lasting, batch, outside, next_states, added)


def _score(
    policy: GaussianPolicy,
    value: ValueNet,
    adversary: Adversary | None,
    config: TrainConfig,
    rollout: RolloutBatch,
    outside: Tensor,
    next_states: Tensor | None,
    added: Tensor | None,
) -> ScoredBatch:
    states = policy.normalize(rollout.flat_states)
    agent = AgentBatch(states, rollout.flat_actions, next_states, rollout.terminated.flatten())
    rewards = rollout.env_rewards.to(states)
    if adversary is not None:
        logits = adversary.logits_agent_is_high(agent)
        rewards = imitation_reward(config.discriminator.imitation_reward, logits)
        rewards = rewards.view(rollout.env_rewards.shape)
    if added is not None:
        rewards = rewards + added.to(rewards)
    gamma, gae_lambda = config.value.gamma, config.value.gae_lambda
    with torch.no_grad():
        values = value(states).view(rewards.shape)
        advantages = estimate_advantages(rollout, rewards, values, outside, gamma, gae_lambda)
    batch = PolicyBatch(states, rollout.flat_actions, standardize(advantages.flatten()))
    critic = ValueBatch(states, (advantages + values).flatten(), values.flatten())
    return ScoredBatch(rollout, rewards, batch, critic, agent)


@torch.no_grad()
def values_outside(rollout: RolloutBatch, policy: GaussianPolicy, value: ValueNet) -> Tensor:
    """What the batch bootstraps from, [T + 1, N].

    The value of the final state where a step was truncated, zeros elsewhere, and below them the
    value of the state each env is in.
    """
    num_envs, num_truncated = len(rollout.last_states), len(rollout.final_states)
    outside = policy.normalize(torch.cat([rollout.last_states, rollout.final_states]))
    after_batch, after_truncation = value(outside).split([num_envs, num_truncated])
    values: Tensor = after_batch.new_zeros(len(rollout.truncated) + 1, num_envs)
    values[:-1].masked_scatter_(rollout.truncated, after_truncation)
    values[-1] = after_batch
    return values


@torch.no_grad()
def estimate_advantages(
    rollout: RolloutBatch,
    rewards: Tensor,
    values: Tensor,
    outside: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimation over a batch with ends, [T, N], all on one device.

    A terminated step does not bootstrap; a truncated one does, from its final state; the end of
    the batch does, from the state each env is in. All three cut the sum. `outside` has the values
    of states that are not in the batch (`values_outside`).
    """
    next_values = torch.cat([values[1:], outside[-1:]])
    next_values = torch.where(rollout.truncated, outside[:-1], next_values)
    next_values.masked_fill_(rollout.terminated, 0)
    is_cut = rollout.terminated | rollout.truncated
    return gae(rewards, values, next_values, is_cut, gamma, gae_lambda)


@torch.no_grad()
def true_next_states(rollout: RolloutBatch) -> Tensor:
    """[B, S] raw: what followed each step, also where its episode was cut.

    After a termination it is the start of the next episode, which nothing may read.
    """
    following = torch.cat([rollout.states[1:], rollout.last_states.unsqueeze(0)])
    following[rollout.truncated] = rollout.final_states
    return following.flatten(0, 1)


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
    layers = value.net.weights_and_biases
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
