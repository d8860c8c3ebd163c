"""What the policy step minimises, as summands that compose.

A policy loss is a function of the candidate's mean actions and log std on the batch; it returns
its summands by name, and their sum is the loss.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from spacil.functional.gaussian import log_prob
from spacil.smoothness.policy_penalty import Penalty

PolicyLoss = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""mean [B, A], log_std [A] -> summands, all minimised"""


def surrogate_loss(
    actions: Tensor, advantages: Tensor, old_mean: Tensor, old_log_std: Tensor
) -> PolicyLoss:
    """-E[pi(a | s) / pi_old(a | s) * A], the first term of eq:final_policy_opti."""
    old_log_probs = log_prob(actions, old_mean, old_log_std)

    def loss(mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        ratio = (log_prob(actions, mean, log_std) - old_log_probs).exp()
        return {"surrogate": -(ratio * advantages).mean()}

    return loss


def with_policy_penalty(loss: PolicyLoss, penalty: Penalty, weight: Tensor | float) -> PolicyLoss:
    """loss + weight * R^pi (eq:final_policy_opti); with the number 0, the loss itself."""
    if not isinstance(weight, Tensor) and weight == 0:
        return loss

    def penalized(mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        return {**loss(mean, log_std), "policy_penalty": weight * penalty()}

    return penalized


def total(summands: dict[str, Tensor]) -> Tensor:
    return torch.stack(list(summands.values())).sum()
