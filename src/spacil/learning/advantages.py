"""From rewards to what the policy and the value network learn from."""

from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.learning import ReturnsConfig
from spacil.functional.returns import gae
from spacil.nets.policy import GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.types import RolloutBatch


@dataclass(frozen=True)
class Advantages:
    """Estimates on one batch, [B] each in its time-major order."""

    advantages: Tensor
    value_targets: Tensor
    old_values: Tensor
    """What the value network said, from which the other two were made"""


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
    normalized_states: Tensor,
    outside: Tensor,
    value: ValueNet,
    config: ReturnsConfig,
) -> Advantages:
    """Generalised advantage estimation over a batch with ends, all tensors on one device.

    A terminated step does not bootstrap; a truncated one does, from its final state; the end of
    the batch does, from the state each env is in. All three cut the sum. `outside` has the values
    of states that are not in the batch (`values_outside`).
    """
    values = value(normalized_states).view(rewards.shape)
    next_values = torch.cat([values[1:], outside[-1:]])
    next_values = torch.where(rollout.truncated, outside[:-1], next_values)
    next_values.masked_fill_(rollout.terminated, 0)
    is_cut = rollout.terminated | rollout.truncated
    advantages = gae(rewards, values, next_values, is_cut, config.gamma, config.gae_lambda)
    return Advantages(advantages.flatten(), (advantages + values).flatten(), values.flatten())
