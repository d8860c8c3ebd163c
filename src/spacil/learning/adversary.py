"""The seam for adversaries: what the loop asks of whatever rewards the policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacil.engine.adam import Adam
from spacil.engine.recorder import Recorder
from spacil.learning.descent import DiscriminatorReport
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost_metric import CostFunction
from spacil.types import ExpertBatch

RewardForm = Literal["positive", "negative", "logit"]


@dataclass(frozen=True)
class AgentBatch:
    """What the agent did in one batch, on the device."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] raw"""
    next_states: Tensor | None
    """[B, S] normalised, the true successors; None for an adversary that does not read them"""
    terminated: Tensor
    """[B] bool"""


class Adversary(Protocol):
    """Tells agent from demonstrator, and so holds the learned cost."""

    network: nn.Module
    optimizer: Adam
    expert: ExpertBatch
    reads_next_states: bool

    def logits_agent_is_high(self, batch: AgentBatch) -> Tensor:
        """x [B] with D = sigmoid(x) -> 1 on the agent, without a graph."""
        ...

    def cost(self, normalized_states: Tensor, actions: Tensor) -> Tensor:
        """The learned cost c(s, a) [B] whose smoothness is measured; low where it is good."""
        ...

    @staticmethod
    def saved_cost(
        settings: Mapping[str, Any], policy: GaussianPolicy, tensors: Mapping[str, Tensor]
    ) -> CostFunction:
        """`cost` of a finished run: its settings by flat name, its policy, its network's tensors.

        They come from a file: what does not fit raises KeyError, TypeError, ValueError or
        RuntimeError.
        """
        ...

    def train(
        self, batch: AgentBatch, num_steps: int, streams: Streams, recorder: Recorder
    ) -> DiscriminatorReport:
        """A few steps of telling the batch from the demonstrations."""
        ...


@torch.no_grad()
def imitation_reward(form: RewardForm, logits_agent_is_high: Tensor) -> Tensor:
    """What the policy is paid, from x with D = sigmoid(x) high on the agent.

    positive  -log D >= 0, the paper's: pays for every step, so it favours staying alive
    negative  log(1 - D) <= 0: charges for every step, so it favours ending early
    logit     log(1 - D) - log D = -x, of either sign: AIRL's
    """
    return _FORMS[form](logits_agent_is_high)


_FORMS: dict[RewardForm, Callable[[Tensor], Tensor]] = {
    "positive": lambda x: -F.logsigmoid(x),
    "negative": lambda x: F.logsigmoid(-x),
    "logit": torch.neg,
}
