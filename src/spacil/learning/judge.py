"""How good what was played is: rewards of the adversary or the env, advantages by the critic."""

from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.engine.recorder import Recorder
from spacil.functional.returns import standardize
from spacil.learning.advantages import Advantages, estimate_advantages, values_outside
from spacil.learning.adversary import Adversary, AgentBatch, imitation_reward
from spacil.learning.policy_step import PolicyBatch
from spacil.nets.policy import GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.types import RolloutBatch


@dataclass(frozen=True)
class JudgedBatch:
    """A batch on the device, and what each learner reads of it."""

    rollout: RolloutBatch
    rewards: Tensor
    """[T, N]"""
    estimates: Advantages
    for_policy: PolicyBatch
    for_adversary: AgentBatch


def judge(
    rollout: RolloutBatch,
    policy: GaussianPolicy,
    value: ValueNet,
    adversary: Adversary | None,
    config: TrainConfig,
    recorder: Recorder,
) -> JudgedBatch:
    """Without an adversary the policy learns from the env's own reward."""
    outside = values_outside(rollout, policy, value)
    next_states = None
    if adversary is not None and adversary.reads_next_states:
        next_states = policy.normalize(true_next_states(rollout))
    lasting = (policy, value, adversary, config)
    batch = rollout.without_final_states()
    return recorder("judge", _judge, lasting, batch, outside, next_states)


def _judge(
    policy: GaussianPolicy,
    value: ValueNet,
    adversary: Adversary | None,
    config: TrainConfig,
    rollout: RolloutBatch,
    outside: Tensor,
    next_states: Tensor | None,
) -> JudgedBatch:
    states = policy.normalize(rollout.flat_states)
    agent = AgentBatch(states, rollout.flat_actions, next_states, rollout.terminated.flatten())
    rewards = rollout.env_rewards.to(states)
    if adversary is not None:
        logits = adversary.logits_agent_is_high(agent)
        rewards = imitation_reward(config.discriminator.imitation_reward, logits)
        rewards = rewards.view(rollout.env_rewards.shape)
    estimates = estimate_advantages(rollout, rewards, states, outside, value, config.returns)
    batch = PolicyBatch(states, rollout.flat_actions, standardize(estimates.advantages))
    return JudgedBatch(rollout, rewards, estimates, batch, agent)


@torch.no_grad()
def true_next_states(rollout: RolloutBatch) -> Tensor:
    """[B, S] raw: what followed each step, also where its episode was cut.

    After a termination it is the start of the next episode, which nothing may read.
    """
    following = torch.cat([rollout.states[1:], rollout.last_states.unsqueeze(0)])
    following[rollout.truncated] = rollout.final_states
    return following.flatten(0, 1)
