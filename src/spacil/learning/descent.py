"""The adversary's step: D -> 1 on the agent, D -> 0 on the demonstrations (eq:cost_opti)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spacil.engine.adam import Adam
from spacil.engine.host_reads import read_together
from spacil.errors import DivergedError

SATURATED_LOGIT, SATURATED_LOSS = 50.0, 0.01
"""Chance has a loss of 1.39. Plain GAIL that learned Walker2d stayed at 0.04 for 100 iterations; on
Ant, which it did not learn, it was below 0.01 from iteration 30 on, with rewards of 0.002"""
PENALTY = "cost_penalty"


@dataclass(frozen=True)
class DiscriminatorReport:
    disc_loss: float
    disc_acc: float
    disc_acc_agent: float
    disc_acc_expert: float
    max_abs_logit: float
    is_saturated: bool
    """All or nearly all pairs told apart for certain: the reward carries little signal"""
    cost_penalty: float | None
    """Weighted penalty summand; None without a cost penalty"""


def gail_loss(agent_logits: Tensor, expert_logits: Tensor) -> dict[str, Tensor]:
    """-E_agent[log D] - E_expert[log(1 - D)], from logits: no saturation to infinity."""
    return {
        "agent": F.softplus(-agent_logits).mean(),
        "expert": F.softplus(expert_logits).mean(),
    }


def descend(
    network: nn.Module,
    optimizer: Adam,
    logits: Callable[[], tuple[Tensor, Tensor]],
    penalty: Callable[[], Tensor] | None,
    num_steps: int,
) -> dict[str, Tensor]:
    """Full-batch Adam steps on the loss and, where there is one, the weighted cost penalty.

    `logits` are those on the agent [B] and on the demonstrations [M]. Returned is what `report`
    needs, one number each; it describes the network that rewarded this batch, before its first
    step.
    """
    measured: dict[str, Tensor] = {}
    for _ in range(max(num_steps, 1)):
        agent_logits, expert_logits = logits()
        summands = gail_loss(agent_logits, expert_logits)
        if penalty is not None:
            summands[PENALTY] = penalty()
        measured = measured or _measure(agent_logits.detach(), expert_logits.detach(), summands)
        if num_steps == 0:
            break
        optimizer.zero_grad()
        torch.stack(list(summands.values())).sum().backward()
        optimizer.step()
    parameters = torch.cat([p.detach().flatten() for p in network.parameters()])
    return {**measured, "is_finite": parameters.isfinite().all()}


def report(
    network: nn.Module, measured: dict[str, Tensor], num_agent: int, num_expert: int
) -> DiscriminatorReport:
    """What `descend` measured; a discriminator that is no longer finite is refused."""
    numbers = dict(zip(measured, read_together(*measured.values()), strict=True))
    summands = {name: numbers[name] for name in numbers if name in ("agent", "expert", PENALTY)}
    remedy = "a smaller --discriminator-learning-rate may help"
    if not sum(summands.values()) < float("inf"):
        loss = sum(summands.values())
        raise DivergedError(f"discriminator step: loss is {loss} ({summands}); {remedy}")
    if not numbers["is_finite"]:
        name = next(n for n, p in network.named_parameters() if not bool(p.isfinite().all()))
        raise DivergedError(f"discriminator step: {name} is not finite after it; {remedy}")
    accuracies, sizes = (numbers["acc_agent"], numbers["acc_expert"]), (num_agent, num_expert)
    num_right = [accuracy * size for accuracy, size in zip(accuracies, sizes, strict=True)]
    # In whole pairs: a device that multiplies by 1 / size makes a mean of ones a bit less than 1.
    is_perfect = [round(right) for right in num_right] == list(sizes)
    largest, loss = numbers["max_abs_logit"], numbers["agent"] + numbers["expert"]
    return DiscriminatorReport(
        disc_loss=loss,
        disc_acc=sum(num_right) / sum(sizes),
        disc_acc_agent=accuracies[0],
        disc_acc_expert=accuracies[1],
        max_abs_logit=largest,
        is_saturated=is_perfect or largest > SATURATED_LOGIT or loss < SATURATED_LOSS,
        cost_penalty=numbers.get(PENALTY),
    )


@torch.no_grad()
def _measure(
    agent_logits: Tensor, expert_logits: Tensor, summands: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Numbers of the network that rewarded the batch."""
    return {
        **{name: value.detach() for name, value in summands.items()},
        "acc_agent": (agent_logits > 0).float().mean(),
        "acc_expert": (expert_logits < 0).float().mean(),
        "max_abs_logit": torch.maximum(agent_logits.abs().max(), expert_logits.abs().max()),
    }
