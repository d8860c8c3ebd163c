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
    PolicyBatch,
    SurrogateLoss,
    total,
    with_penalties,
)
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import DrawnTerms, build_terms


@dataclass(frozen=True)
class PPOReport:
    """What the step did; logged as it is."""

    kl: float
    """Mean KL(old, new) over all states of the batch, after the last epoch"""
    ppo_epochs_done: int
    """Fewer than asked for when the KL passed its target"""
    clipped_fraction: float
    """Of the states, whose probability ratio ended outside the clip range"""
    summands: dict[str, float]
    """The loss by name, mean over the first epoch's minibatches"""

    @property
    def refusal(self) -> str:
        """PPO always moves."""
        return ""


@dataclass(frozen=True)
class _OldPolicy:
    """The policy before its step, on the whole batch."""

    mean: Tensor
    log_std: Tensor
    log_probs: Tensor


@dataclass(frozen=True)
class _Epoch:
    """What one pass over the batch did, numbers on the device."""

    kl: Tensor
    clipped: Tensor
    is_finite: Tensor
    summands: dict[str, Tensor]


class ClippedStep:
    """A few epochs of Adam on shuffled minibatches, until the KL passes its target."""

    def __init__(self, policy: GaussianPolicy, config: TrainConfig) -> None:
        self.policy, self.config = policy, config
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
            drawn = _shuffled(draw_penalties().on(device), streams)
            epoch = recorder("epoch", _run_epoch, lasting, order.to(device), drawn)
            names = list(epoch.summands)
            kl, clipped, is_finite, *losses = read_together(
                epoch.kl, epoch.clipped, epoch.is_finite, *epoch.summands.values()
            )
            summands = summands or dict(zip(names, losses, strict=True))
            num_epochs += 1
            if not is_finite or not math.isfinite(kl):
                raise DivergedError(
                    f"policy step: not finite in epoch {num_epochs} (KL {kl}, losses {summands}); "
                    "a smaller --ppo-learning-rate may help"
                )
        return PPOReport(kl, num_epochs, clipped, summands)

    def stay(self) -> PPOReport:
        """What an iteration reports that leaves the policy as it is."""
        return PPOReport(0.0, 0, 0.0, {})


@torch.no_grad()
def _evaluate(policy: GaussianPolicy, batch: PolicyBatch) -> _OldPolicy:
    mean, log_std = policy.mean_of_normalized(batch.states), policy.log_std.detach().clone()
    return _OldPolicy(mean, log_std, log_prob(batch.actions, mean, log_std))


def _run_epoch(
    policy: GaussianPolicy,
    optimizer: Adam,
    config: TrainConfig,
    batch: PolicyBatch,
    old: _OldPolicy,
    order: Tensor,
    drawn: DrawnTerms,
) -> _Epoch:
    """One pass over the batch in a given order."""
    settings = config.ppo
    minibatches = order.split(settings.ppo_minibatch)
    sums: dict[str, Tensor] = {}
    for i, rows in enumerate(minibatches):
        part = _part(drawn, i, len(minibatches))
        surrogate = SurrogateLoss(
            batch.actions[rows], batch.advantages[rows], old.log_probs[rows], settings.ppo_clip
        )
        loss = with_penalties(surrogate, build_terms(policy, part, config), part.weights)
        summands = loss(policy.mean_of_normalized(batch.states[rows]), policy.log_std)
        optimizer.zero_grad()
        total(summands).backward()
        optimizer.step()
        for name, value in summands.items():
            sums[name] = sums.get(name, 0) + value.detach() / len(minibatches)
    with torch.no_grad():
        mean = policy.mean_of_normalized(batch.states)
        kl = kl_old_new(old.mean, old.log_std, mean, policy.log_std).mean()
        ratio = (log_prob(batch.actions, mean, policy.log_std) - old.log_probs).exp()
        is_clipped = (ratio - 1).abs() > settings.ppo_clip
        is_finite = optimizer.vector.isfinite().all()
        return _Epoch(kl, is_clipped.float().mean(), is_finite, sums)


def _shuffled(drawn: DrawnTerms, streams: Streams) -> DrawnTerms:
    """The rows of each term in a random order, so that every part is like the whole."""
    rows = []
    for each in drawn.rows:
        order = torch.randperm(len(each.states), generator=streams.subset)
        rows.append(each.pick(order.to(each.states.device)))
    return DrawnTerms(drawn.names, tuple(rows), drawn.weights)


def _part(drawn: DrawnTerms, index: int, count: int) -> DrawnTerms:
    """Every `count`-th row of each term, from row `index` on."""
    parts = []
    for rows in drawn.rows:
        size = len(rows.states)
        every = torch.arange(index % max(size, 1), size, count, device=rows.states.device)
        parts.append(replace(rows.pick(every), num_meant=rows.num_meant or size))
    return DrawnTerms(drawn.names, tuple(parts), drawn.weights)
