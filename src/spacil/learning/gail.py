"""GAIL's adversary: one network on (s, a), with the smoothness penalty on its cost (eq:cost_opti).

D -> 1 on the agent, D -> 0 on the demonstrations; c = log D.
"""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.engine.adam import Adam
from spacil.engine.recorder import Recorder
from spacil.learning import descent
from spacil.learning.adversary import AgentBatch
from spacil.learning.descent import DiscriminatorReport
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost_metric import CostFunction
from spacil.smoothness.cost_terms import (
    DrawnPairs,
    StatesAndActions,
    cost_penalty,
    cost_weight,
    draw_pairs,
    on_live_dims,
)
from spacil.types import ExpertBatch


class GailAdversary:
    """The discriminator of GAIL and SPaCIL; they differ in the weight of the cost penalty."""

    reads_next_states = False

    def __init__(
        self,
        config: TrainConfig,
        policy: GaussianPolicy,
        expert: ExpertBatch,
        init: torch.Generator,
    ) -> None:
        """`expert` holds raw states and the actions to compare, on the policy's device."""
        settings = config.discriminator
        self.config, self.policy, self.expert = config, policy, expert
        self.cost_weight = cost_weight(config.cost_penalty, len(expert.states))
        self.network = Discriminator(
            policy.num_states,
            policy.num_actions,
            settings.discriminator_hidden,
            settings.discriminator_activation,
            config.nets.init,
            init,
        ).to(policy.log_std.device)
        if settings.discriminator_actions == "executed":
            self.network.read_actions_clipped(policy.action_low, policy.action_high)
        if settings.standardize_actions:
            self.network.read_actions_standardized(expert.actions)
        self.optimizer = Adam(self.network, settings.discriminator_learning_rate)

    @torch.no_grad()
    def logits_agent_is_high(self, batch: AgentBatch) -> Tensor:
        return self.network.logits_agent_is_high(batch.states, batch.actions)

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        cost = on_live_dims(self.network.cost, self.policy.normalizer.mask)
        return cost(normalized_states, actions)

    @staticmethod
    def saved_cost(
        settings: Mapping[str, Any], policy: GaussianPolicy, tensors: Mapping[str, Tensor]
    ) -> CostFunction:
        network = Discriminator(
            policy.num_states,
            policy.num_actions,
            [int(width) for width in settings["discriminator_hidden"]],
            settings["discriminator_activation"],
        )
        network.load_state_dict(tensors)
        return on_live_dims(network.requires_grad_(False).cost, policy.normalizer.mask)

    def train(
        self, batch: AgentBatch, num_steps: int, streams: Streams, recorder: Recorder
    ) -> DiscriminatorReport:
        expert = (self.policy.normalize(self.expert.states), self.expert.actions)
        agent = (batch.states, batch.actions)
        drawn = None
        if self.cost_weight > 0:
            drawn = draw_pairs(self.network, self.policy, agent, expert, self.config, streams)
        weighted = (self.config, self.cost_weight)
        lasting = (self.network, self.optimizer, self.policy, *weighted, num_steps, agent)
        measured = recorder("discriminator", _descend, lasting, expert, drawn)
        return descent.report(self.network, measured, len(agent[0]), len(expert[0]))


def _descend(
    network: Discriminator,
    optimizer: Adam,
    policy: GaussianPolicy,
    config: TrainConfig,
    cost_weight: float,
    num_steps: int,
    agent: StatesAndActions,
    expert: StatesAndActions,
    drawn: DrawnPairs | None,
) -> dict[str, Tensor]:
    """Steps on both sides' pairs; the cost penalty, where it has weight, is measured at `drawn`."""
    sizes = [len(agent[0]), len(expert[0])]
    states, actions = (torch.cat(sides) for sides in zip(agent, expert, strict=True))

    def logits() -> tuple[Tensor, Tensor]:
        on_agent, on_expert = network.logits_agent_is_high(states, actions).split(sizes)
        return on_agent, on_expert

    penalty = None
    if drawn is not None:
        penalty = functools.partial(_weighted, cost_weight, network, policy, drawn, config)
    return descent.descend(network, optimizer, logits, penalty, num_steps)


def _weighted(
    weight: float,
    network: Discriminator,
    policy: GaussianPolicy,
    drawn: DrawnPairs,
    config: TrainConfig,
) -> Tensor:
    return weight * cost_penalty(network, policy, drawn, config)
