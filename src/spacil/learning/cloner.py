"""Behaviour cloning: the policy's mean regressed on demonstrated actions. No env is needed.

The loss is the squared error of the mean action, and the spread is fitted to the residuals after
each epoch. The likelihood with a learned spread clones as well, but its weight on the error is
1 / std^2: it grows by hundreds as the fit improves, and a smoothness penalty beside it fades
away. Beside the squared error a penalty weight keeps its meaning from the first epoch to the last.

Whole episodes are held out, because the steps of one episode are too alike to tell a policy that
generalises from one that remembers. The policy handed out is the one that did best on them.
"""

import copy
import logging
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.device import resolve_device
from spacil.envs.vector_env import EnvSpec, require_dims
from spacil.errors import DataError
from spacil.learning.learner import make_policy
from spacil.learning.regression import LabelledRows, Regression
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams, stream
from spacil.smoothness.policy_terms import PenaltyRows, refuse_undiscounted
from spacil.smoothness.temporal_penalty import discount_weights
from spacil.smoothness.weights import terms_at

PENALTY_INTERVAL = 8
"""Minibatches from one that carries the penalty to the next, when cloning is counted in steps."""
CHECK_INTERVAL = 100
"""Steps between two measurements of the held-out loss."""

_logger = logging.getLogger(__name__)


@dataclass
class CloneCounters:
    """Plain numbers that a resumed run must find again."""

    iteration: int = 0
    """Epochs done; counted in steps, measurements of the held-out loss"""
    env_steps: int = 0
    """Env steps, always 0: every run reports them"""
    chosen_iteration: int = 0
    """Epoch of the policy handed out"""
    chosen_loss: float | None = None
    """Its held-out loss; None before the first epoch, or with nothing held out"""


class Cloner:
    """A student in training, and the best policy it has been."""

    def __init__(self, config: TrainConfig, spec: EnvSpec, demonstrations: Demonstrations) -> None:
        refuse_undiscounted(config.policy_penalty)
        if demonstrations.num_steps == 0:
            raise DataError(f"{demonstrations.source}: no steps to clone")
        sizes = (demonstrations.num_states, demonstrations.num_actions)
        require_dims(demonstrations.source, sizes, (spec.num_states, spec.num_actions), spec.task)
        self.config = config
        self.demonstrations = demonstrations
        self.streams = Streams.from_seed(config.run.seed)
        self.counters = CloneCounters()
        self.student = make_policy(spec, config.nets, self.streams.init)
        self.student.normalizer.merge(demonstrations.states)
        self.policy = copy.deepcopy(self.student).requires_grad_(False)
        self.student.to(resolve_device(config.run.device))
        self.regression = Regression(
            config,
            self.student,
            self.streams,
            config.bc.clone_learning_rate,
            config.bc.clone_minibatch,
            config.penalty_states.penalty_state_fraction,
        )
        self.optimizer = self.regression.optimizer
        labelled = demonstrated_rows(self.student, demonstrations, config)
        is_heldout = held_out_episodes(
            demonstrations.num_episodes,
            config.bc.holdout_fraction,
            stream(config.run.seed, "holdout"),
        )[demonstrations.episode_of_step].to(labelled.lowest.device)
        self.taught, self.heldout = labelled.pick(~is_heldout), labelled.pick(is_heldout)

    @property
    def is_done(self) -> bool:
        """All epochs done, or the held-out loss has not improved for too long."""
        epochs_without_improvement = self.counters.iteration - self.counters.chosen_iteration
        return (
            self.counters.iteration >= self.config.run.iterations
            or epochs_without_improvement >= self.config.bc.clone_patience
        )

    def run_epoch(self) -> dict[str, Any]:
        """One pass over the taught pairs; returns its metrics."""
        started = time.perf_counter()
        terms = terms_at(self.config.policy_penalty, self.counters.iteration)
        num_steps = -(-len(self.taught) // self.config.bc.clone_minibatch)
        losses = self.regression.fit(self.taught, terms, num_steps)
        heldout = self.check()
        return {
            "iteration": self.counters.iteration,
            "env_steps": self.counters.env_steps,
            "loss_imitation": losses.pop("imitation"),
            "loss_policy_penalty": sum(losses.values()),
            "heldout_imitation": heldout.get("imitation"),
            "heldout_loss": sum(heldout.values()) if heldout else None,
            "chosen_iteration": self.counters.chosen_iteration,
            "lambda_policy": self.config.policy_penalty.first_weight_among(terms),
            "policy_std": float(self.student.log_std.exp().mean()),
            "seconds_epoch": time.perf_counter() - started,
        }

    def run_steps(self, num_steps: int) -> GaussianPolicy:
        """So many Adam steps, however few the pairs; returns the best policy, on the CPU.

        An epoch of 300 pairs is three steps, and forty of them clone nothing.
        """
        terms = tuple(term for term in self.config.policy_penalty.terms if term.weight > 0)
        self.regression.fit(
            self.taught,
            terms,
            num_steps,
            penalty_interval=PENALTY_INTERVAL,
            check_interval=CHECK_INTERVAL,
            on_check=self.check,
        )
        return self.policy

    def check(self) -> dict[str, float]:
        """Fit the spread, and keep the student if its held-out loss is the lowest so far.

        Penalties count with their full weight: at the ramp's the first epochs, hardly penalised,
        would look best. With nothing held out the newest student is the best known.
        """
        terms = tuple(term for term in self.config.policy_penalty.terms if term.weight > 0)
        self.regression.fit_spread(self.heldout if len(self.heldout) else self.taught)
        counters = self.counters
        counters.iteration += 1
        losses = self.regression.losses(self.heldout, terms) if len(self.heldout) else {}
        loss = sum(losses.values()) if losses else None
        if loss is None or counters.chosen_loss is None or loss < counters.chosen_loss:
            counters.chosen_iteration, counters.chosen_loss = counters.iteration, loss
            self.policy.load_state_dict(self.student.state_dict())
        return losses


def clone(
    demonstrations: Demonstrations, spec: EnvSpec, config: TrainConfig | None = None
) -> GaussianPolicy:
    """Clone the demonstrator, without run folder and env steps; returns a policy on the CPU.

    `config` is one of `default_config("bc", task)`, with a seed or a penalty of your choice.
    """
    cloner = Cloner(config or default_config("bc", spec.task), spec, demonstrations)
    while not cloner.is_done:
        cloner.run_epoch()
    return cloner.policy


def held_out_episodes(num_episodes: int, fraction: float, generator: torch.Generator) -> Tensor:
    """[E] bool, a random share of the episodes: at least one, never all. Of one episode, none."""
    is_heldout = torch.zeros(num_episodes, dtype=torch.bool)
    if fraction == 0:
        return is_heldout
    num_heldout = min(max(1, round(fraction * num_episodes)), num_episodes - 1)
    if num_heldout == 0:
        _logger.warning("one demonstrated episode: nothing is held out, and nothing stops early")
    is_heldout[torch.randperm(num_episodes, generator=generator)[:num_heldout]] = True
    return is_heldout


def demonstrated_rows(
    policy: GaussianPolicy, demonstrations: Demonstrations, config: TrainConfig
) -> LabelledRows:
    """All pairs on the policy's device, states normalised.

    The labels are the expert's raw mean actions where the file has them: beyond the bounds they
    still say how the expert leans, where the executed ones are all alike.
    """
    device = policy.log_std.device
    actions = demonstrations.actions
    labels = (demonstrations.executed_actions if actions is None else actions).float().to(device)
    states = policy.normalize(demonstrations.states.to(device))
    successors = policy.normalize(demonstrations.next_states.to(device))
    weights = None
    if discount := config.policy_penalty.penalty_discount:
        ages = demonstrations.step_in_episode
        weights = discount_weights(ages, discount).to(states)
    return LabelledRows(PenaltyRows(states, successors=successors, weights=weights), labels, labels)
