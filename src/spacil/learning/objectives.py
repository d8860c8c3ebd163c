"""What the policy step minimises, as summands that compose.

A policy loss maps the candidate's mean actions and log std on the batch to its summands by name;
their sum is the loss. Losses and penalties are records of what they froze, so that an update can
be recorded and replayed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.gaussian import log_prob
from spacil.smoothness.policy_penalty import Penalty

PolicyLoss = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""mean [B, A], log_std [A] -> summands, all minimised"""


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
    return torch.stack(list(summands.values())).sum()
