"""Behaviour cloning: the policy's mean regressed on demonstrated actions. No env is needed.

The loss is the squared error of the mean action, and the spread is fitted to the residuals after
each epoch. The likelihood with a learned spread clones as well, but its weight on the error is
1 / std^2: it grows by hundreds as the fit improves, and a smoothness penalty beside it fades
away. Beside the squared error a penalty weight keeps its meaning from the first epoch to the last.

Whole episodes are held out, because the steps of one episode are too alike to tell a policy that
generalises from one that remembers. The policy handed out is the one that did best on them.
"""

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.penalty_terms import POLICY_PENALTIES, PenaltyKind, WeightedTerm
from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.selection import episode_of_step
from spacil.engine.adam import Adam
from spacil.engine.device import resolve_device
from spacil.envs.vector_env import EnvSpec
from spacil.errors import DivergedError
from spacil.learning.objectives import total, with_penalties
from spacil.learning.pairs import (
    Pairs,
    demonstrated_pairs,
    held_out_episodes,
    refuse_misfits,
)
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams, stream
from spacil.smoothness.policy_terms import PenaltyRows, build_terms, draw_terms, refuse_undiscounted
from spacil.smoothness.weights import terms_at

Terms = Sequence[WeightedTerm]

SPREAD_FLOOR = 1e-3
"""Smallest fitted spread: the logarithm of a perfect fit's would be infinite."""


@dataclass
class CloneCounters:
    """Plain numbers that a resumed run must find again."""

    iteration: int = 0
    """Epochs done"""
    env_steps: int = 0
    """Cloning takes none; here because every run reports them"""
    chosen_iteration: int = 0
    """The epoch that the policy handed out comes from"""
    chosen_loss: float | None = None
    """Its held-out loss; None before the first epoch, or with nothing held out"""


@dataclass(frozen=True)
class CloneReport:
    """One epoch; `heldout_loss` is None when no episode is held out."""

    loss_imitation: float
    """Mean over the epoch's minibatches, E|a - mu|^2"""
    loss_policy_penalty: float
    """The same, of the weighted penalty"""
    heldout_imitation: float | None
    heldout_loss: float | None
    """With the penalty at its full weight: what early stopping looks at"""
    chosen_iteration: int
    lambda_policy: float
    policy_std: float


class Cloner:
    """What changes while cloning: a student in training, and the best policy it has been."""

    def __init__(self, config: TrainConfig, spec: EnvSpec, demonstrations: Demonstrations) -> None:
        refuse_undiscounted(config.policy_penalty)
        refuse_misfits(demonstrations, spec)
        self.config = config
        self.demonstrations = demonstrations
        self.streams = Streams.from_seed(config.run.seed)
        self.counters = CloneCounters()
        device = resolve_device(config.run.device)
        nets = config.nets
        self.student = GaussianPolicy(
            spec.num_states,
            spec.action_low,
            spec.action_high,
            nets.policy_hidden,
            nets.init,
            nets.initial_log_std,
            self.streams.init,
        )
        self.student.normalizer.merge(demonstrations.states)
        self.policy = copy.deepcopy(self.student).requires_grad_(False)
        self.student.to(device)
        # The spread has a closed form: it is fitted after each epoch, never by gradient.
        self.student.log_std.requires_grad_(False)
        self.optimizer = Adam(self.student.mean_net, config.bc.clone_learning_rate)
        is_heldout = held_out_episodes(
            demonstrations.num_episodes,
            config.bc.holdout_fraction,
            stream(config.run.seed, "holdout"),
        )[episode_of_step(demonstrations.episode_lengths)].to(device)
        pairs = demonstrated_pairs(self.student, demonstrations, config)
        self.taught, self.heldout = pairs.pick(~is_heldout), pairs.pick(is_heldout)

    @property
    def has_heldout(self) -> bool:
        return len(self.heldout.actions) > 0

    @property
    def is_done(self) -> bool:
        """All epochs done, or the held-out loss has not improved for too long."""
        epochs_in_vain = self.counters.iteration - self.counters.chosen_iteration
        return (
            self.counters.iteration >= self.config.run.iterations
            or epochs_in_vain >= self.config.bc.clone_patience
        )


def clone(
    demonstrations: Demonstrations, spec: EnvSpec, config: TrainConfig | None = None
) -> GaussianPolicy:
    """The demonstrator as cloned: a policy of its own on the CPU, no run folder and no env steps.

    `config` is one of `default_config("bc", task)`, with a seed or a penalty of your choice.
    """
    cloner = Cloner(config or default_config("bc", spec.task), spec, demonstrations)
    while not cloner.is_done:
        run_epoch(cloner)
    return cloner.policy


def run_epoch(cloner: Cloner) -> dict[str, Any]:
    """One pass over the taught pairs; then fit the spread, and keep the student if it did best."""
    started = time.perf_counter()
    terms = terms_at(cloner.config.policy_penalty, cloner.counters.iteration)
    losses = _fit_epoch(cloner, terms)
    fit_spread(cloner)
    cloner.counters.iteration += 1
    heldout = _heldout_losses(cloner) if cloner.has_heldout else None
    heldout_loss = None if heldout is None else sum(heldout.values())
    keep_if_best(cloner, heldout_loss)
    report = CloneReport(
        loss_imitation=losses["imitation"],
        loss_policy_penalty=sum(loss for name, loss in losses.items() if name != "imitation"),
        heldout_imitation=None if heldout is None else heldout["imitation"],
        heldout_loss=heldout_loss,
        chosen_iteration=cloner.counters.chosen_iteration,
        lambda_policy=cloner.config.policy_penalty.first_weight_among(terms),
        policy_std=float(cloner.student.log_std.detach().exp().mean()),
    )
    return {
        "iteration": cloner.counters.iteration,
        "env_steps": cloner.counters.env_steps,
        **asdict(report),
        "seconds_epoch": time.perf_counter() - started,
    }


@dataclass(frozen=True)
class CloningLoss:
    """E|a - mu(s)|^2 over demonstrated pairs."""

    actions: Tensor
    """[B, A]"""

    def __call__(self, mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        del log_std  # fitted apart
        return {"imitation": (mean - self.actions).square().sum(-1).mean()}


def _fit_epoch(cloner: Cloner, terms: Terms) -> dict[str, float]:
    """Adam on shuffled minibatches; the mean of each summand of the loss."""
    taught, size = cloner.taught, len(cloner.taught.actions)
    sums: dict[str, Tensor] = {}
    order = torch.randperm(size, generator=cloner.streams.minibatch).to(taught.actions.device)
    for rows in order.split(cloner.config.bc.clone_minibatch):
        summands = losses_on(cloner, taught.pick(rows), cloner.config, terms)
        cloner.optimizer.zero_grad()
        total(summands).backward()
        cloner.optimizer.step()
        for name, value in summands.items():
            sums[name] = sums.get(name, 0) + value.detach() * len(rows)
    return finite_losses({name: float(value) / size for name, value in sums.items()})


@torch.no_grad()
def _heldout_losses(cloner: Cloner) -> dict[str, float]:
    """Each summand on the held-out pairs, the penalty at its full weight and on all of them.

    At the ramp's weight the first epochs, hardly penalised, would look best and be kept; on a
    subset of the states chance would choose among the others.
    """
    config = with_settings(cloner.config, {"penalty_state_fraction": 1.0})
    terms = tuple(term for term in config.policy_penalty.terms if term.weight > 0)
    summands = losses_on(cloner, cloner.heldout, config, terms)
    return finite_losses({name: float(value) for name, value in summands.items()})


def losses_on(cloner: Cloner, pairs: Pairs, config: TrainConfig, terms: Terms) -> dict[str, Tensor]:
    """The summands of the loss on some pairs, with the penalties composed onto it."""
    student = cloner.student
    mean = student.mean_of_normalized(pairs.rows.states)

    def rows_for(kind: PenaltyKind) -> PenaltyRows:
        if kind is not POLICY_PENALTIES["lcp"]:
            return pairs.rows
        # It averages over the policy's own actions, and demonstrated ones are not those.
        noise = torch.randn(mean.shape, generator=cloner.streams.action).to(mean)
        return replace(pairs.rows, actions=(mean + student.log_std.exp() * noise).detach())

    drawn = draw_terms(terms, rows_for, student, config, cloner.streams)
    penalties = build_terms(student, drawn, config)
    loss = with_penalties(CloningLoss(pairs.actions), penalties, drawn.weights)
    return loss(mean, student.log_std)


@torch.no_grad()
def fit_spread(cloner: Cloner) -> None:
    """The spread of greatest likelihood given the mean, on pairs the mean was not fitted to."""
    pairs = cloner.heldout if cloner.has_heldout else cloner.taught
    residuals = pairs.actions - cloner.student.mean_of_normalized(pairs.rows.states)
    std = residuals.square().mean(0).sqrt().clamp_min(SPREAD_FLOOR)
    cloner.student.log_std.copy_(std.log())


def keep_if_best(cloner: Cloner, heldout_loss: float | None) -> None:
    """Hand out the student of this epoch; with nothing held out the newest is the best known."""
    counters = cloner.counters
    lowest = counters.chosen_loss
    if heldout_loss is None or lowest is None or heldout_loss < lowest:
        counters.chosen_iteration, counters.chosen_loss = counters.iteration, heldout_loss
        cloner.policy.load_state_dict(cloner.student.state_dict())


def finite_losses(losses: dict[str, float]) -> dict[str, float]:
    if not all(math.isfinite(value) for value in losses.values()):
        raise DivergedError(
            f"cloning: the loss is {losses}; a smaller --clone-learning-rate may help"
        )
    return losses
