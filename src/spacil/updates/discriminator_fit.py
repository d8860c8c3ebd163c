"""The adversary's step: D -> 1 on the agent, D -> 0 on the demonstrations (eq:cost_opti)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from spacil.errors import DivergedError
from spacil.nets.discriminator import Discriminator

SATURATED_LOGIT = 50.0

CostLoss = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""logits on the agent [B], logits on the demonstrations [M] -> summands, all minimised"""


@dataclass(frozen=True)
class DiscriminatorReport:
    disc_loss: float
    disc_acc: float
    disc_acc_agent: float
    disc_acc_expert: float
    max_abs_logit: float
    is_saturated: bool
    """Every pair told apart, or a logit beyond 50: the reward carries little signal."""
    cost_penalty: float | None
    """Weighted penalty summand; None without a cost penalty"""


def gail_loss(agent_logits: Tensor, expert_logits: Tensor) -> dict[str, Tensor]:
    """-E_agent[log D] - E_expert[log(1 - D)], from logits: no saturation to infinity."""
    return {
        "agent": F.softplus(-agent_logits).mean(),
        "expert": F.softplus(expert_logits).mean(),
    }


def with_cost_penalty(loss: CostLoss, penalty: Callable[[], Tensor], weight: float) -> CostLoss:
    """loss + weight * R^c (eq:final_cost_opti); with weight 0, the loss itself."""
    if weight == 0:
        return loss

    def penalized(agent_logits: Tensor, expert_logits: Tensor) -> dict[str, Tensor]:
        return {**loss(agent_logits, expert_logits), "cost_penalty": weight * penalty()}

    return penalized


def step(
    discriminator: Discriminator,
    optimizer: torch.optim.Optimizer,
    agent: tuple[Tensor, Tensor],
    expert: tuple[Tensor, Tensor],
    loss: CostLoss,
    num_steps: int,
) -> DiscriminatorReport:
    """Full-batch Adam steps on (normalised states, actions) of both sides.

    The report describes the discriminator that judged this batch, before its first step.
    """
    report: DiscriminatorReport | None = None
    for _ in range(max(num_steps, 1)):
        agent_logits = discriminator.logits_agent_is_high(*agent)
        expert_logits = discriminator.logits_agent_is_high(*expert)
        summands = loss(agent_logits, expert_logits)
        report = report or _report(
            agent_logits.detach(), expert_logits.detach(), _detached(summands)
        )
        if num_steps == 0:
            break
        optimizer.zero_grad()
        torch.stack(list(summands.values())).sum().backward()
        optimizer.step()
    assert report is not None
    for name, parameter in discriminator.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise DivergedError(
                f"discriminator step: {name} is not finite after it; "
                "a smaller --discriminator-learning-rate may help"
            )
    return report


def _detached(summands: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in summands.items()}


def _report(
    agent_logits: Tensor, expert_logits: Tensor, summands: dict[str, Tensor]
) -> DiscriminatorReport:
    loss = float(torch.stack(list(summands.values())).sum())
    if not loss < float("inf"):
        raise DivergedError(
            f"discriminator step: loss is {loss} "
            f"({ {name: float(value) for name, value in summands.items()} }); "
            "a smaller --discriminator-learning-rate may help"
        )
    acc_agent = float((agent_logits > 0).float().mean())
    acc_expert = float((expert_logits < 0).float().mean())
    size_agent, size_expert = len(agent_logits), len(expert_logits)
    accuracy = (acc_agent * size_agent + acc_expert * size_expert) / (size_agent + size_expert)
    largest = float(torch.maximum(agent_logits.abs().max(), expert_logits.abs().max()))
    penalty = summands.get("cost_penalty")
    return DiscriminatorReport(
        disc_loss=float(summands["agent"] + summands["expert"]),
        disc_acc=accuracy,
        disc_acc_agent=acc_agent,
        disc_acc_expert=acc_expert,
        max_abs_logit=largest,
        is_saturated=accuracy == 1.0 or largest > SATURATED_LOGIT,
        cost_penalty=None if penalty is None else float(penalty),
    )
