"""The seam for adversaries: what rewards the policy, and how it learns to tell agent from expert.

A new adversary says what its network is and what its logit is; the rest is here. D = sigmoid(x) is
high on the agent: D -> 1 there, D -> 0 on the demonstrations (eq:cost_opti).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from spacil.config.train_config import TrainConfig
from spacil.engine.adam import Adam
from spacil.engine.recorder import Recorder
from spacil.learning.descent import DiscriminatorReport, descend, report
from spacil.nets.discriminator import CostNet
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost import CostFunction
from spacil.smoothness.cost_terms import on_live_dims
from spacil.types import ExpertBatch

RewardForm = Literal["positive", "negative", "logit"]


@dataclass(frozen=True)
class AgentBatch:
    """One side of the comparison, on the device."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] raw"""
    next_states: Tensor | None
    """[B, S] normalised, the true successors; None for an adversary that does not read them"""
    terminated: Tensor
    """[B] bool"""


Logits = Callable[[], tuple[Tensor, Tensor]]
"""x on the agent [B] and on the demonstrations [M], by the network as it is now"""


class Adversary:
    """Tells agent from demonstrator, and so holds the learned cost."""

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
        self.network = self.make_network(config, policy, init).to(policy.log_std.device)
        if settings.discriminator_actions == "executed":
            self.network.read_actions_clipped(policy.action_low, policy.action_high)
        if settings.standardize_actions:
            self.network.read_actions_standardized(expert.actions)
        self.optimizer = Adam(self.network, settings.discriminator_learning_rate)

    @staticmethod
    def make_network(
        config: TrainConfig, policy: GaussianPolicy, init: torch.Generator | None = None
    ) -> CostNet:
        """The network of these settings, also that of a saved run."""
        raise NotImplementedError

    def logits(self, batch: AgentBatch) -> Tensor:
        """x [B], high on the agent, with a graph."""
        raise NotImplementedError

    def both_logits(self, agent: AgentBatch, expert: AgentBatch) -> Logits:
        """x on both sides, for all steps of an update."""
        return lambda: (self.logits(agent), self.logits(expert))

    def draw(self, agent: AgentBatch, expert: AgentBatch, streams: Streams) -> Any:
        """All that is random about the penalty of an update; None: without penalty."""
        return None

    def penalty(self, drawn: Any) -> Tensor:
        """The weighted penalty on the cost, at what was drawn."""
        raise NotImplementedError

    @property
    def cost(self) -> CostFunction | None:
        """The learned cost c(s, a), low where it is good; None for one that reads next states."""
        if not self.network.has_cost:
            return None
        return on_live_dims(self.network.cost, self.policy.normalizer.mask)

    @torch.no_grad()
    def logits_agent_is_high(self, batch: AgentBatch) -> Tensor:
        """x [B] without a graph."""
        return self.logits(batch)

    def train(
        self, batch: AgentBatch, num_steps: int, streams: Streams, recorder: Recorder
    ) -> DiscriminatorReport:
        """Take a few steps of telling the batch from the demonstrations."""
        demonstrated, normalize = self.expert, self.policy.normalize
        expert = AgentBatch(
            normalize(demonstrated.states),
            demonstrated.actions,
            normalize(demonstrated.next_states) if self.reads_next_states else None,
            demonstrated.terminated,
        )
        drawn = self.draw(batch, expert, streams)
        measured = recorder("discriminator", self._descend, (num_steps, batch), expert, drawn)
        return report(self.network, measured, len(batch.states), len(expert.states))

    def _descend(
        self, num_steps: int, agent: AgentBatch, expert: AgentBatch, drawn: Any
    ) -> dict[str, Tensor]:
        penalty = None if drawn is None else lambda: self.penalty(drawn)
        logits = self.both_logits(agent, expert)
        return descend(self.network, self.optimizer, logits, penalty, num_steps)


@torch.no_grad()
def imitation_reward(form: RewardForm, logits_agent_is_high: Tensor) -> Tensor:
    """What the policy is paid, from x with D = sigmoid(x) high on the agent.

    positive  -log D >= 0, the paper's: pays for every step, so it favours staying alive
    negative  log(1 - D) <= 0: charges for every step, so it favours ending early
    logit     log(1 - D) - log D = -x, of either sign: AIRL's
    """
    return _FORMS[form](logits_agent_is_high)


_FORMS: Mapping[RewardForm, Callable[[Tensor], Tensor]] = {
    "positive": lambda x: -F.logsigmoid(x),
    "negative": lambda x: F.logsigmoid(-x),
    "logit": torch.neg,
}
