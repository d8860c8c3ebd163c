"""AIRL's adversary (Fu et al. 2018): D knows the policy, so that its network becomes a reward.

In the paper's convention D = exp f / (exp f + pi) is high on demonstrations; ours is high on the
agent, so the logit is x = log pi(a | s) - f(s, a, s') and the reward -x = f - log pi.

f and log pi speak of the same action, the executed one. log pi is therefore the likelihood of the
*clipped* Gaussian: its density inside the bounds, and on a bound the probability of everything
beyond it. So demonstrations that hold executed actions only (most people's) and our own, which
also hold raw ones, give the same numbers. The density of the raw Gaussian would not do: an
executed action on the bound says nothing about how far beyond it the raw one was.
"""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.engine.adam import Adam
from spacil.engine.recorder import Recorder
from spacil.functional.gaussian import clipped_log_prob
from spacil.learning import descent
from spacil.learning.adversary import AgentBatch
from spacil.learning.descent import DiscriminatorReport
from spacil.nets.policy import GaussianPolicy
from spacil.nets.shaped_reward import ShapedReward
from spacil.seeding import Streams
from spacil.smoothness.cost_metric import CostFunction
from spacil.types import ExpertBatch


class AirlAdversary:
    """f with its shaping term, against the policy's own likelihood."""

    reads_next_states = True

    def __init__(
        self,
        config: TrainConfig,
        policy: GaussianPolicy,
        expert: ExpertBatch,
        init: torch.Generator,
    ) -> None:
        """`expert` holds raw states and executed actions, on the policy's device."""
        settings = config.discriminator
        self.policy, self.expert = policy, expert
        self.network = ShapedReward(
            policy.num_states,
            policy.num_actions,
            config.returns.gamma,
            config.airl.airl_reward == "state-action",
            settings.discriminator_hidden,
            settings.discriminator_activation,
            config.nets.init,
            init,
        ).to(policy.log_std.device)
        self.network.read_actions_clipped(policy.action_low, policy.action_high)
        if settings.standardize_actions:
            self.network.read_actions_standardized(expert.actions)
        self.optimizer = Adam(self.network, settings.discriminator_learning_rate)

    @torch.no_grad()
    def logits_agent_is_high(self, batch: AgentBatch) -> Tensor:
        return _logits(self.network, batch, executed_log_prob(self.policy, batch))

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """-g: the learned reward without its shaping."""
        return _cost(self.network, self.policy, normalized_states, actions)

    @staticmethod
    def saved_cost(
        settings: Mapping[str, Any], policy: GaussianPolicy, tensors: Mapping[str, Tensor]
    ) -> CostFunction:
        network = ShapedReward(
            policy.num_states,
            policy.num_actions,
            float(settings["gamma"]),
            settings["airl_reward"] == "state-action",
            [int(width) for width in settings["discriminator_hidden"]],
            settings["discriminator_activation"],
        )
        network.load_state_dict(tensors)
        return functools.partial(_cost, network.requires_grad_(False), policy)

    def train(
        self, batch: AgentBatch, num_steps: int, streams: Streams, recorder: Recorder
    ) -> DiscriminatorReport:
        expert = AgentBatch(
            self.policy.normalize(self.expert.states),
            self.expert.actions,
            self.policy.normalize(self.expert.next_states),
            self.expert.terminated,
        )
        lasting = (self.network, self.optimizer, self.policy, num_steps)
        measured = recorder("discriminator", _descend, lasting, batch, expert)
        return descent.report(self.network, measured, len(batch.states), len(expert.states))


@torch.no_grad()
def executed_log_prob(policy: GaussianPolicy, batch: AgentBatch) -> Tensor:
    """log pi of what was executed, [B], by the policy as it is now."""
    mean = policy.mean_of_normalized(batch.states)
    low, high = policy.action_low, policy.action_high
    return clipped_log_prob(batch.actions.clamp(low, high), mean, policy.log_std, low, high)


def _cost(
    network: ShapedReward, policy: GaussianPolicy, normalized_states: Tensor, actions: Tensor
) -> Tensor:
    return -network.reward(normalized_states * policy.normalizer.mask, actions)


def _logits(network: ShapedReward, batch: AgentBatch, log_probs: Tensor) -> Tensor:
    assert batch.next_states is not None
    f: Tensor = network(batch.states, batch.actions, batch.next_states, batch.terminated)
    return log_probs - f


def _descend(
    network: ShapedReward,
    optimizer: Adam,
    policy: GaussianPolicy,
    num_steps: int,
    agent: AgentBatch,
    expert: AgentBatch,
) -> dict[str, Tensor]:
    """Steps of logistic regression; the policy's likelihoods are computed once."""
    on_agent, on_expert = executed_log_prob(policy, agent), executed_log_prob(policy, expert)

    def logits() -> tuple[Tensor, Tensor]:
        return _logits(network, agent, on_agent), _logits(network, expert, on_expert)

    return descent.descend(network, optimizer, logits, None, num_steps)
