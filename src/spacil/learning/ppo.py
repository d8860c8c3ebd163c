"""The PPO step: epochs of Adam on the clipped surrogate (Schulman et al. 2017), penalties included.

Each minibatch carries its part of the penalty's rows, with the worst directions found anew at the
parameters of that moment: a stochastic gradient of the same penalised loss that TRPO minimises.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.engine.device import read_together
from spacil.engine.mlp_passes import Adam
from spacil.engine.recorder import Recorder
from spacil.errors import DivergedError
from spacil.functional.policy_gradient import kl_old_new, log_prob
from spacil.learning.critic import shuffled_orders
from spacil.learning.policy_step import (
    DrawPenalties,
    PenalizedLoss,
    PolicyBatch,
    PolicyStep,
    StepReport,
    SurrogateLoss,
    total,
)
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import DrawnTerms, build_terms


@dataclass(frozen=True)
class PPOReport(StepReport):
    ppo_epochs_done: int = 0
    """Fewer than asked for when the KL passed its target"""
    clipped_fraction: float = 0.0
    """Of the states, whose probability ratio ended outside the clip range"""


class ClippedStep(PolicyStep):
    """A few epochs of Adam on shuffled minibatches, until the KL passes its target."""

    def __init__(self, policy: GaussianPolicy, config: TrainConfig) -> None:
        super().__init__(policy, config)
        self.optimizer = Adam(policy, config.ppo.ppo_learning_rate)

    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> PPOReport:
        settings, device = self.config.ppo, batch.states.device
        old = recorder("old policy", _evaluate, (self.policy, batch))
        lasting = (self.policy, self.optimizer, self.config, batch, old)
        summands: dict[str, float] = {}
        kl = clipped = 0.0
        num_epochs = 0
        while num_epochs < settings.ppo_epochs and kl <= settings.ppo_target_kl:
            (order,) = shuffled_orders(len(batch.states), 1, streams.minibatch)
            drawn, rows = draw_penalties().on(device), []
            for each in drawn.rows:  # in a random order, so that every part is like the whole
                chosen = torch.randperm(len(each.states), generator=streams.subset)
                rows.append(each.pick(chosen.to(device)))
            drawn = replace(drawn, rows=tuple(rows))
            *found, losses = recorder("epoch", _run_epoch, lasting, order.to(device), drawn)
            kl, clipped, is_finite, *values = read_together(*found, *losses.values())
            summands = summands or dict(zip(losses, values, strict=True))
            num_epochs += 1
            if not is_finite or not math.isfinite(kl):
                raise DivergedError(
                    f"policy step: not finite in epoch {num_epochs} (KL {kl}, losses {summands}); "
                    "a smaller --ppo-learning-rate may help"
                )
        return PPOReport(kl, summands, num_epochs, clipped)

    def stay(self) -> PPOReport:
        return PPOReport()


@torch.no_grad()
def _evaluate(policy: GaussianPolicy, batch: PolicyBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Mean actions, log std and log likelihoods before the step, on the whole batch."""
    mean, log_std = policy.mean_of_normalized(batch.states), policy.log_std.detach().clone()
    return mean, log_std, log_prob(batch.actions, mean, log_std)


def _run_epoch(
    policy: GaussianPolicy,
    optimizer: Adam,
    config: TrainConfig,
    batch: PolicyBatch,
    old: tuple[Tensor, Tensor, Tensor],
    order: Tensor,
    drawn: DrawnTerms,
) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
    """One pass over the batch in a given order: KL, clipped fraction, whether finite, losses."""
    settings, (old_mean, old_log_std, old_log_probs) = config.ppo, old
    minibatches = order.split(settings.ppo_minibatch)
    sums: dict[str, Tensor] = {}
    for i, rows in enumerate(minibatches):
        parts = []
        for each in drawn.rows:  # every so manieth row of each term, from row i on
            size = len(each.states)
            every = torch.arange(i % max(size, 1), size, len(minibatches), device=rows.device)
            parts.append(replace(each.pick(every), num_meant=each.num_meant or size))
        part = replace(drawn, rows=tuple(parts))
        surrogate = SurrogateLoss(
            batch.actions[rows], batch.advantages[rows], old_log_probs[rows], settings.ppo_clip
        )
        loss = PenalizedLoss(surrogate, build_terms(policy, part, config), part.weights)
        summands = loss(policy.mean_of_normalized(batch.states[rows]), policy.log_std)
        optimizer.zero_grad()
        total(summands).backward()
        optimizer.step()
        for name, value in summands.items():
            sums[name] = sums.get(name, 0) + value.detach() / len(minibatches)
    with torch.no_grad():
        mean = policy.mean_of_normalized(batch.states)
        kl = kl_old_new(old_mean, old_log_std, mean, policy.log_std).mean()
        ratio = (log_prob(batch.actions, mean, policy.log_std) - old_log_probs).exp()
        is_clipped = (ratio - 1).abs() > settings.ppo_clip
        is_finite = optimizer.vector.isfinite().all()
        return kl, is_clipped.float().mean(), is_finite, sums
