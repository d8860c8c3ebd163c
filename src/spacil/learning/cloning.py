"""Behaviour cloning: the policy's mean regressed on demonstrated actions. No env is needed.

The loss is the squared error of the mean action, and the spread is fitted to the residuals after
each epoch. The likelihood with a learned spread clones as well, but its weight on the error is
1 / std^2: it grows by hundreds as the fit improves, and a smoothness penalty beside it fades
away. Beside the squared error a penalty weight keeps its meaning from the first epoch to the last.

Whole episodes are held out, because the steps of one episode are too alike to tell a policy that
generalises from one that remembers. The policy handed out is the one that did best on them.

Counted in steps instead of epochs, it is the warm start of an imitator: the adversarial loop
repairs and smooths what it got.
"""

import copy
import logging
import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.algorithms import BCConfig
from spacil.config.defaults import default_config
from spacil.config.settings import ScheduledPenaltyConfig
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.device import resolve_device
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.vector_env import EnvSpec, require_dims
from spacil.errors import DataError
from spacil.learning.learner import (
    Counters,
    Learner,
    Metrics,
    make_eval_env,
    make_policy,
    make_run_env,
)
from spacil.learning.regression import LabelledRows, Regression
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import frame_of_run
from spacil.measuring.imitation_score import DemonstratedStates
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import derived_seed, stream
from spacil.smoothness.policy_terms import PenaltyRows, terms_at

PENALTY_INTERVAL = 8
"""Minibatches from one that carries the penalty to the next, when cloning is counted in steps."""
CHECK_INTERVAL = 100
"""Steps between two measurements of the held-out loss."""
WARM_START_FRACTION = 1 / 30
"""Share of the penalties' weights in a warm start. At the loop's own weight no return survives:
nothing tells cloning what a smaller slope costs (docs/results/fast.md)."""

PAST_NOISE, NOISY_COPIES = 0.4, 16
"""Noise on what is shown of the past, in its standard deviations, and draws of it per pair. A clone
that sees its last commands as they were repeats them: with 300 pairs it earns 60 on Hopper under
two steps, with the noise 330, without delay 400 (docs/results/delay_learning.md)."""

_logger = logging.getLogger(__name__)


@dataclass
class CloneCounters(Counters):
    """An iteration is an epoch or, counted in steps, a measurement of the held-out loss."""

    chosen_iteration: int = 0
    """Epoch of the policy handed out"""
    chosen_loss: float | None = None
    """Its held-out loss; None before the first epoch, or with nothing held out"""


class Cloner(Learner):
    """A student in training, and `policy`: the best that it has been on episodes held out."""

    counters: CloneCounters

    def __init__(self, config: TrainConfig, spec: EnvSpec, demonstrations: Demonstrations) -> None:
        if demonstrations.num_steps == 0:
            raise DataError(f"{demonstrations.source}: no steps to clone")
        require_dims(
            demonstrations.source,
            demonstrations.dims,
            (spec.num_states, spec.num_actions),
            spec.task,
        )
        super().__init__(config, CloneCounters(), demonstrations)
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
        self.terms = tuple(term for term in config.policy_penalty.terms if term.weight > 0)
        labelled = demonstrated_rows(self.student, demonstrations)
        is_heldout = held_out_episodes(
            demonstrations.num_episodes,
            config.bc.holdout_fraction,
            stream(config.run.seed, "holdout"),
        )[demonstrations.episode_of_step].to(labelled.lowest.device)
        self.taught, self.heldout = labelled.pick(~is_heldout), labelled.pick(is_heldout)
        self.num_taught = len(self.taught)
        if spec.num_sensors is not None and spec.num_sensors < spec.num_states:
            self.taught = self.taught.pick(torch.arange(self.num_taught).repeat(NOISY_COPIES))
            past = self.taught.rows.states[:, spec.num_sensors :]
            draws = stream(config.run.seed, "noise on the past")
            past += PAST_NOISE * torch.randn(past.shape, generator=draws).to(past)
        self.state.register("policy", self.policy)
        self.state.register("student", self.student)
        self.state.register("optimizer.student", self.regression.optimizer.state)

    @property
    def is_done(self) -> bool:
        """All epochs done, or the held-out loss has not improved for too long."""
        epochs_without_improvement = self.counters.iteration - self.counters.chosen_iteration
        return super().is_done or epochs_without_improvement >= self.config.bc.clone_patience

    def iterate(self) -> Metrics:
        """One epoch: one pass over the taught pairs."""
        started = time.perf_counter()
        terms = terms_at(self.config.policy_penalty, self.counters.iteration)
        num_steps = -(-self.num_taught // self.config.bc.clone_minibatch)
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

    def run(self, num_steps: int = 0) -> GaussianPolicy:
        """Clone for so many Adam steps, or for all epochs; returns the best policy, on the CPU.

        An epoch of 300 pairs is three steps, and forty of them clone nothing.
        """
        while not num_steps and not self.is_done:
            self.iterate()
        if num_steps:
            self.regression.fit(
                self.taught,
                self.terms,
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
        counters, losses, loss = self.counters, dict[str, float](), None
        self.regression.fit_spread(self.heldout if len(self.heldout) else self.taught)
        counters.iteration += 1
        if len(self.heldout):
            losses = self.regression.losses(self.heldout, self.terms)
            loss = sum(losses.values())
        if loss is None or counters.chosen_loss is None or loss < counters.chosen_loss:
            counters.chosen_iteration, counters.chosen_loss = counters.iteration, loss
            self.policy.load_state_dict(self.student.state_dict())
        return losses

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """The best is the policy of the lowest held-out loss, whatever it earns.

        That is the one evaluated, so it is new where it was chosen after the last best evaluation.
        """
        is_best = self.best is None or self.counters.chosen_iteration > self.best.iteration
        if is_best:
            self.best = Best(evaluation.average_return, self.counters.iteration)
        return {"is_best": is_best}


class CloningLearner(Cloner):
    """Cloning as a run: what is evaluated is the policy with the lowest held-out loss so far.

    The student in training is saved beside it: a stopped run needs no step back to its best epoch.
    """

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        demonstrations: Demonstrations,
        common_frame: CommonFrame | None = None,
    ) -> None:
        """`env_source` is what `make_vector_env` takes: a task name, an env, or a factory.

        `common_frame`: that of the demonstrations before they were edited, where they were.
        """
        # The horizon decides how many envs an evaluation takes, and only an env knows it.
        probe = make_run_env(config, env_source, 1, "eval", common_frame)
        probe.close()
        labelled, num_played = demonstrations, 0
        if not demonstrations.num_actions:
            from spacil.learning.own_play import Labels  # which clones, too

            labels = Labels(config, probe.spec, demonstrations)
            num_played = labels.play(env_source, common_frame)
            labelled = labels.demonstrations
        super().__init__(config, probe.spec, labelled)
        self.demonstrations, self.counters.env_steps = demonstrations, num_played
        self.demonstrated = DemonstratedStates.by(demonstrations)
        self.eval_env = make_eval_env(config, env_source, probe.spec, demonstrations, common_frame)
        self.common_frame = frame_of_run(common_frame, demonstrations, probe.spec)
        if labelled.columns and self.common_frame is not None:
            self.common_frame = self.common_frame.with_columns_of(labelled)

    def iterate(self) -> Metrics:
        metrics, patience = super().iterate(), self.config.bc.clone_patience
        if self.is_done and self.counters.iteration < self.config.run.iterations:
            _logger.info(
                "stopped after epoch %d: the held-out loss has not fallen for %d epochs "
                "(--clone-patience); the policy of epoch %d is handed out",
                *(self.counters.iteration, patience, self.counters.chosen_iteration),
            )
        return metrics


def clone(
    demonstrations: Demonstrations, spec: EnvSpec, config: TrainConfig | None = None
) -> GaussianPolicy:
    """Clone the demonstrator, without run folder and env steps; returns a policy on the CPU.

    `config` is one of `default_config("bc", task)`, with a seed or a penalty of your choice.
    """
    return Cloner(config or default_config("bc", spec.task), spec, demonstrations).run()


def start_from_clone(
    policy: GaussianPolicy,
    config: TrainConfig,
    spec: EnvSpec,
    demonstrations: Demonstrations,
    first_weight: float | None = None,
) -> None:
    """Put a clone in the place of the untrained policy; draws from none of the run's streams.

    A clone that is simply handed to the loop is unlearned within a few iterations: its first steps
    follow a critic and a discriminator that know nothing, and a normaliser that moves with the
    first batches changes the cloned function outside of any trust region. So the policy keeps the
    normaliser it was cloned with, and waits while critic and discriminator train on what it does.
    Its spread is the run's own start, not the residual's of cloning: too small a one explores
    nothing and makes the trust region tiny.

    `first_weight` is the one that a search for the weight starts from, None without a search.
    """
    cloner = Cloner(cloning_config(config, first_weight), spec, demonstrations)
    cloned = cloner.run(config.warm_start.warm_start_steps)
    policy.mean_net.load_state_dict(cloned.mean_net.state_dict())
    policy.normalizer.load_state_dict(cloned.normalizer.state_dict())
    policy.normalizer.refresh()
    _logger.debug("warm start: cloned to a held-out loss of %s", cloner.counters.chosen_loss)


def cloning_config(config: TrainConfig, first_weight: float | None = None) -> BCConfig:
    """The run's own settings as cloning reads them."""
    penalty = config.policy_penalty
    scale = 1.0 if first_weight is None else first_weight / penalty.first_weight
    factor = WARM_START_FRACTION * scale
    terms = tuple(str(replace(term, weight=factor * term.weight)) for term in penalty.terms)
    return BCConfig(
        task=config.task,
        run=replace(
            config.run,
            seed=derived_seed(config.run.seed, "warm start"),
            iterations=max(1, config.warm_start.warm_start_epochs),
        ),
        bc=config.bc,
        policy_penalty=ScheduledPenaltyConfig(terms),
        penalty_states=config.penalty_states,
        nets=config.nets,
    )


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


def demonstrated_rows(policy: GaussianPolicy, demonstrations: Demonstrations) -> LabelledRows:
    """All pairs on the policy's device, states normalised.

    The labels are the expert's raw mean actions where the file has them: beyond the bounds they
    still say how the expert leans, where the executed ones are all alike.
    """
    device = policy.log_std.device
    actions = demonstrations.actions
    labels = (demonstrations.executed_actions if actions is None else actions).float().to(device)
    states = policy.normalize(demonstrations.states.to(device))
    successors = policy.normalize(demonstrations.next_states.to(device))
    return LabelledRows(PenaltyRows(states, successors=successors), labels, labels)
