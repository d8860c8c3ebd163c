"""The seam for policy steps: a loss of summands that compose, and what moves the policy on it.

A policy loss maps the candidate's mean actions and log std on the batch to its summands by name;
their sum is the loss. Losses and penalties are records of what they froze, so that an update can
be recorded and replayed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from spacil.engine.mlp_passes import Adam
from spacil.engine.recorder import Recorder
from spacil.functional.policy_gradient import log_prob
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import Penalty
from spacil.smoothness.policy_terms import DrawnTerms

PolicyLoss = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""mean [B, A], log_std [A] -> summands, all minimised"""
DrawPenalties = Callable[[], DrawnTerms]
"""The policy penalties of this iteration, on rows drawn anew with each call"""


@dataclass(frozen=True)
class PolicyBatch:
    """What a policy step learns from, on the device."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] raw"""
    advantages: Tensor
    """[B] standardised"""


class StepReport(Protocol):
    """A frozen record, logged as it is: `kl`, the loss by `summands` before the step, and more."""

    @property
    def refusal(self) -> str:
        """Why the policy did not move; empty when it did."""
        ...


class PolicyStep(Protocol):
    """Moves a policy on a batch."""

    @property
    def optimizer(self) -> Adam | None:
        """Memory that a checkpoint must keep; None without one."""
        ...

    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> StepReport:
        """Move the policy."""
        ...

    def stay(self) -> StepReport:
        """The report of an iteration that leaves the policy as it is."""
        ...


@dataclass(frozen=True)
class SurrogateLoss:
    """-E[pi(a | s) / pi_old(a | s) * A], the first term of eq:final_policy_opti."""

    actions: Tensor
    """[B, A]"""
    advantages: Tensor
    """[B]"""
    old_log_probs: Tensor
    """[B]"""
    clip: float | None = None
    """PPO: the ratio counts within 1 +- this, where that lowers what is gained"""

    def __call__(self, mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        ratio = (log_prob(self.actions, mean, log_std) - self.old_log_probs).exp()
        gained = ratio * self.advantages
        if self.clip is not None:
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip) * self.advantages
            gained = torch.minimum(gained, clipped)
        return {"surrogate": -gained.mean()}


def surrogate_loss(
    actions: Tensor, advantages: Tensor, old_mean: Tensor, old_log_std: Tensor
) -> SurrogateLoss:
    """The surrogate at a policy's own mean actions [B, A] and log std [A]."""
    return SurrogateLoss(actions, advantages, log_prob(actions, old_mean, old_log_std))


@dataclass(frozen=True)
class PenalizedLoss:
    """loss + sum of weight * R^pi (eq:final_policy_opti)"""

    loss: PolicyLoss
    penalties: Mapping[str, Penalty]
    weights: Sequence[float | Tensor]

    def __call__(self, mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        summands = self.loss(mean, log_std)
        for (name, penalty), weight in zip(self.penalties.items(), self.weights, strict=True):
            summands[f"penalty_{name}"] = weight * penalty()
        return summands


def with_penalties(
    loss: PolicyLoss, penalties: Mapping[str, Penalty], weights: Sequence[float | Tensor]
) -> PolicyLoss:
    """The loss with its penalties; without any, the loss itself."""
    return PenalizedLoss(loss, penalties, weights) if penalties else loss


def total(summands: Mapping[str, Tensor]) -> Tensor:
    """The loss: the sum of its summands."""
    return torch.stack(list(summands.values())).sum()
