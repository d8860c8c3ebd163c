"""GAIL's adversary: one network on (s, a), or on what `--discriminator-inputs` names.

c = log D is its cost, which SPaCIL's penalty keeps smooth (eq:cost_opti).
"""

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.learning.adversary import Adversary, AgentBatch, Logits
from spacil.nets.discriminator import Discriminator
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost import DrawnPairs, cost_penalty, cost_weight, draw_pairs
from spacil.types import ExpertBatch


class GailAdversary(Adversary):
    """The discriminator of GAIL and SPaCIL; they differ in the weight of the cost penalty."""

    network: Discriminator

    def __init__(
        self,
        config: TrainConfig,
        policy: GaussianPolicy,
        expert: ExpertBatch,
        init: torch.Generator,
    ) -> None:
        super().__init__(config, policy, expert, init)
        self.cost_weight = cost_weight(config.cost_penalty, len(expert.states))
        self.reads_next_states = "next_states" in self.network.reads

    @staticmethod
    def make_network(
        config: TrainConfig, policy: GaussianPolicy, init: torch.Generator | None = None
    ) -> Discriminator:
        settings = config.discriminator
        return Discriminator(
            policy.num_states,
            policy.num_actions,
            settings.discriminator_hidden,
            settings.discriminator_activation,
            config.nets.init,
            init,
            settings.discriminator_inputs,
        )

    def logits(self, batch: AgentBatch) -> Tensor:
        return self.network.logits_agent_is_high(*self._inputs(batch))

    def both_logits(self, agent: AgentBatch, expert: AgentBatch) -> Logits:
        """Both sides in one pass."""
        sizes, sides = (
            [len(agent.states), len(expert.states)],
            (self._inputs(agent), self._inputs(expert)),
        )
        pairs = [torch.cat(parts) for parts in zip(*sides, strict=True)]

        def logits() -> tuple[Tensor, Tensor]:
            on_agent, on_expert = self.network.logits_agent_is_high(*pairs).split(sizes)
            return on_agent, on_expert

        return logits

    def draw(self, agent: AgentBatch, expert: AgentBatch, streams: Streams) -> DrawnPairs | None:
        if self.cost_weight == 0:
            return None
        ours, theirs = ((side.states, side.actions) for side in (agent, expert))
        return draw_pairs(self.network, self.policy, ours, theirs, self.config, streams)

    def penalty(self, drawn: DrawnPairs) -> Tensor:
        return self.cost_weight * cost_penalty(self.network, self.policy, drawn, self.config)

    def _inputs(self, batch: AgentBatch) -> list[Tensor]:
        """States, actions and, where they are read, next states.

        After a termination nothing follows: the state counts as its own successor.
        """
        inputs = [batch.states, batch.actions]
        if self.reads_next_states:
            assert batch.next_states is not None
            is_end = batch.terminated.unsqueeze(-1)
            inputs.append(torch.where(is_end, batch.states, batch.next_states))
        return inputs
