"""How good what was played is: rewards of the adversary or the env, advantages by the critic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.engine.recorder import Recorder
from spacil.errors import ConfigError
from spacil.functional.returns import standardize
from spacil.learning.advantages import Advantages, estimate_advantages, values_outside
from spacil.learning.adversary import Adversary, AgentBatch, imitation_reward
from spacil.learning.policy_step import PolicyBatch
from spacil.nets.policy import GaussianPolicy
from spacil.nets.value import ValueNet
from spacil.types import RolloutBatch

RewardTerm = Callable[[RolloutBatch], Tensor]
"""A batch -> rewards [T, N]"""


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
    reward_terms: Sequence[RewardTerm] = (),
) -> JudgedBatch:
    """Without an adversary the policy learns from the env's own reward.

    `reward_terms` are added to either.
    """
    added = sum_of_terms(reward_terms, rollout) if reward_terms else None
    outside = values_outside(rollout, policy, value)
    next_states = None
    if adversary is not None and adversary.reads_next_states:
        next_states = policy.normalize(true_next_states(rollout))
    lasting = (policy, value, adversary, config)
    batch = rollout.without_final_states()
    return recorder("judge", _judge, lasting, batch, outside, next_states, added)


def _judge(
    policy: GaussianPolicy,
    value: ValueNet,
    adversary: Adversary | None,
    config: TrainConfig,
    rollout: RolloutBatch,
    outside: Tensor,
    next_states: Tensor | None,
    added: Tensor | None,
) -> JudgedBatch:
    states = policy.normalize(rollout.flat_states)
    agent = AgentBatch(states, rollout.flat_actions, next_states, rollout.terminated.flatten())
    rewards = rollout.env_rewards.to(states)
    if adversary is not None:
        logits = adversary.logits_agent_is_high(agent)
        rewards = imitation_reward(config.discriminator.imitation_reward, logits)
        rewards = rewards.view(rollout.env_rewards.shape)
    if added is not None:
        rewards = rewards + added.to(rewards)
    estimates = estimate_advantages(rollout, rewards, states, outside, value, config.returns)
    batch = PolicyBatch(states, rollout.flat_actions, standardize(estimates.advantages))
    return JudgedBatch(rollout, rewards, estimates, batch, agent)


@torch.no_grad()
def sum_of_terms(terms: Sequence[RewardTerm], rollout: RolloutBatch) -> Tensor:
    """The rewards of all terms together, [T, N]."""
    rewards = [torch.as_tensor(term(rollout)) for term in terms]
    for term, reward in zip(terms, rewards, strict=True):
        if reward.shape != rollout.env_rewards.shape:
            raise ConfigError(
                f"reward_terms: {getattr(term, '__name__', term)!r} returned the shape "
                f"{tuple(reward.shape)}, expected one reward per step and env, "
                f"{tuple(rollout.env_rewards.shape)}"
            )
    return torch.stack(rewards).sum(0)


@torch.no_grad()
def true_next_states(rollout: RolloutBatch) -> Tensor:
    """[B, S] raw: what followed each step, also where its episode was cut.

    After a termination it is the start of the next episode, which nothing may read.
    """
    following = torch.cat([rollout.states[1:], rollout.last_states.unsqueeze(0)])
    following[rollout.truncated] = rollout.final_states
    return following.flatten(0, 1)
