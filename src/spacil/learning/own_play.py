"""Labels for demonstrations without actions, by own play.

Own play are the steps that an inverse model learns from, nearer to the demonstrations each round.
Round 0 acts at random. From then on a clone of the labels found so far acts, under noise of a
different scale in each env, and every round ends with a better model and better labels. Later the
run's own batches refresh model and labels, which costs no further steps.

    demonstrated          found by own play
    pairs (s, s')         actions
    some columns of both  actions, and the other columns
    single states         actions that lead from each to another one, and which one that is
"""

import contextlib
import functools
import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.episodes import Actor, collect_around
from spacil.envs.vector_env import EnvSpec
from spacil.learning.cloning import Cloner, cloning_config
from spacil.learning.critic import true_next_states
from spacil.learning.inverse_model import (
    ForwardModel,
    InverseModel,
    OwnSteps,
    towards_each_other,
)
from spacil.learning.learner import Metrics, make_run_env
from spacil.runs.state import State
from spacil.seeding import stream
from spacil.types import RolloutBatch

NUM_ENVS, NUM_ROUNDS, STEPS_PER_ENV = 20, 6, 500
NOISES = (0.0, 0.1, 0.3, 0.6)
"""Of the actor in env 0, 1, 2, 3, 4, ...: in half ranges of the actions"""
FIT_STEPS, CLONE_STEPS = 800, 600
LEARNING_RATE = 1e-3
REFRESH_INTERVAL, REFRESH_STEPS, REFRESH_RATE = 5, 300, 5e-4
"""Iterations from one refreshment to the next; its Adam steps and their size"""
MOST_KEPT = 60_000
"""Newest own steps that are learned from"""

_logger = logging.getLogger(__name__)


def reads_labels(config: TrainConfig, demonstrations: Demonstrations | None) -> bool:
    """Whether a run needs actions that its demonstrations do not hold."""
    if demonstrations is None or demonstrations.num_actions:
        return False
    wish, is_auto = config.wish, config.policy_penalty.penalty_weight == "auto"
    is_target = wish.smoothness_target > 0 or wish.fluctuation_target > 0
    return config.warm_start.is_on or config.imitation.anchor_weight > 0 or is_auto or is_target


class Labels:
    """Actions of demonstrations that hold none, and how far they can be trusted."""

    def __init__(self, config: TrainConfig, spec: EnvSpec, given: Demonstrations) -> None:
        self.config, self.spec, self.given = config, spec, given
        self.generator = stream(config.run.seed, "own play")
        low, high = self.bounds = spec.bounds_on(torch.device("cpu"))
        self.model = InverseModel(given.is_known, low, high, self.generator)
        self.forward: ForwardModel | None = None
        """Of single states, whose successors are not known either"""
        if not given.has_successors:
            self.forward = ForwardModel(spec.num_states, spec.num_actions, self.generator)
        self.models = [model for model in (self.model, self.forward) if model is not None]
        self.own = OwnSteps.none(spec.num_states, spec.num_actions)
        self.found = {
            "actions": torch.zeros(given.num_steps, spec.num_actions),
            "trust": torch.zeros(spec.num_actions),
            "error": torch.zeros(()),
        }
        if given.columns:
            self.found |= {"states": given.states.clone(), "next_states": given.next_states.clone()}
        self.next_states, self.certainty = given.next_states, torch.ones(spec.num_actions)

    def register(self, state: State) -> None:
        """Keep model, own steps and labels in checkpoints."""
        state.register("inverse_model", self.model)
        if self.forward is not None:
            state.register("forward_model", self.forward)
        state.register("stream.own_play", self.generator)
        state.register("labels", self.found)

        def load(saved: Mapping[str, Tensor]) -> None:
            self.own = OwnSteps(**saved)

        state.register_tensors("own_steps", lambda: vars(self.own), load, grows=True)

    @property
    def demonstrations(self) -> Demonstrations:
        """The demonstrations with the labels as they are now."""
        labelled = self.given.with_actions(self.found["actions"].clone())
        if not self.given.columns:
            return labelled
        return labelled.completed(self.found["states"].clone(), self.found["next_states"].clone())

    @property
    def is_found(self) -> bool:
        return len(self.own) > 0

    @property
    def num_played(self) -> int:
        """Env steps of own play."""
        return NUM_ROUNDS * NUM_ENVS * STEPS_PER_ENV

    @property
    def metrics(self) -> Metrics:
        """The labels' held-out error, RMS in units of the actions, and their mean trust."""
        error, trust = float(self.found["error"]), float(self.found["trust"].mean())
        return {"label_error_held_out": error, "label_trust": trust}

    def play(self, env_source: Any, common_frame: CommonFrame | None = None) -> int:
        """Play, learn what actions do, and label; returns the number of env steps."""
        _logger.info(
            "no actions demonstrated: looking for them in %d steps of own play", self.num_played
        )
        env = make_run_env(self.config, env_source, NUM_ENVS, "own play", common_frame)
        low, high = self.bounds
        half_range = ((high - low) / 2).nan_to_num(posinf=1.0)
        centre = ((high + low) / 2).nan_to_num()
        num_envs = env.num_envs  # a simulator of a user's own may have fewer
        scales = torch.tensor(NOISES).repeat(num_envs)[:num_envs, None] * half_range
        shape = (STEPS_PER_ENV, num_envs, len(low))
        noise = half_range * (2 * torch.rand(shape, generator=self.generator) - 1)
        mean: Actor = functools.partial(_everywhere, centre)
        with contextlib.closing(env):
            observations = env.reset()
            for number in range(NUM_ROUNDS):
                acting = functools.partial(_elsewhere, mean)
                played, observations = collect_around(
                    env, acting, noise.to(env.device), observations
                )
                self._take(played, acting, number)
                for model in self.models:
                    model.standardize(self.own)
                weights = (3 / (1 + number - self.own.rounds.float())).clamp_min(1.0)
                self._fit(weights, FIT_STEPS, LEARNING_RATE)
                self._label()
                mean = self._clone()
                noise = scales * torch.randn(shape, generator=self.generator)
        self._judge()
        quality = "labels of own play: held-out error %.3f, trust %.2f"
        _logger.info(quality, *self.metrics.values())
        return self.num_played

    def refresh(self, played: RolloutBatch, mean: Actor) -> None:
        """Learn from a batch of the run too, which `mean` acted in, and label anew."""
        number = int(self.own.rounds.max()) + 1
        self._take(played, mean, number)
        weights = torch.exp2((self.own.rounds.float() - number) / 4) + 0.1
        self._fit(weights, REFRESH_STEPS, REFRESH_RATE)
        self._label()
        self._judge()

    @torch.no_grad()
    def _take(self, played: RolloutBatch, mean: Actor, number: int) -> None:
        """Keep the steps whose successor is known: all but those that the task ended."""
        means, (low, high) = mean(played.flat_states).cpu(), self.bounds
        played = played.to(torch.device("cpu"))
        states = played.flat_states
        envs = torch.arange(played.states.shape[1]).expand(played.states.shape[:2]).flatten()
        steps = OwnSteps(
            states,
            true_next_states(played),
            played.flat_actions.clamp(low, high),
            means.clamp(low, high),
            envs,
            torch.full_like(envs, number),
        ).pick(torch.nonzero(~played.terminated.flatten())[:, 0])
        self.own = OwnSteps.together([self.own, steps]).newest(MOST_KEPT)

    def _fit(self, weights: Tensor, num_steps: int, learning_rate: float) -> None:
        for model in self.models:
            model.fit(self.own, weights, num_steps, learning_rate, self.generator)

    def _label(self) -> None:
        states, actions = self.given.states, self.found["actions"]
        if self.forward is None:
            found = self.model.actions(states, self.next_states)
        else:
            known = (self.model, self.forward, states, actions)
            found, self.next_states, self.certainty = towards_each_other(*known)
        if self.given.columns:
            whole = self.model.completed(states, self.next_states)
            for name, tensor in zip(("states", "next_states"), whole, strict=True):
                self.found[name].copy_(tensor)
        actions.copy_(found)

    def _judge(self) -> None:
        known = (self.own, self.given.states, self.next_states, self.generator)
        error, trust = self.model.quality(*known)
        self.found["error"].copy_(error)
        self.found["trust"].copy_(trust * self.certainty)

    def _clone(self) -> Actor:
        """The mean action of a clone of the labels, without penalty."""
        unpenalized = self.config
        if unpenalized.algorithm != "bc":
            settings = {"penalty": (), "penalty_weight": "fixed"}
            unpenalized = cloning_config(with_settings(unpenalized, settings))
        return Cloner(unpenalized, self.spec, self.demonstrations).run(CLONE_STEPS).mean


def _elsewhere(mean: Actor, states: Tensor) -> Tensor:
    """Act on the CPU, whatever the device of the states."""
    return mean(states.cpu()).to(states)


def _everywhere(action: Tensor, states: Tensor) -> Tensor:
    return action.expand(len(states), -1)
