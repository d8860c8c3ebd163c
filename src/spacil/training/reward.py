"""What the policy is trained on: the env's reward, or minus the learned cost."""

from typing import Protocol

import torch
from torch import Tensor

from spacil.nets.discriminator import Discriminator
from spacil.types import RolloutBatch


class RewardSource(Protocol):
    def __call__(self, rollout: RolloutBatch, normalized_states: Tensor) -> Tensor:
        """Rewards [T, N] for a batch whose normalised states are [B, S]."""
        ...


def env_reward(rollout: RolloutBatch, normalized_states: Tensor) -> Tensor:
    """The task's own reward: how experts are made."""
    return rollout.env_rewards.to(normalized_states)


def imitation_reward(discriminator: Discriminator) -> RewardSource:
    """-c(s, a) = -log D >= 0, from the discriminator as it is before this iteration's step."""

    @torch.no_grad()
    def reward(rollout: RolloutBatch, normalized_states: Tensor) -> Tensor:
        actions = rollout.flat_actions.to(normalized_states.device)
        return -discriminator.cost(normalized_states, actions).view(rollout.env_rewards.shape)

    return reward
