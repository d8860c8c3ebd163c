"""Own play: the steps that an inverse model learns from, nearer to the demonstrations each round.

Round 0 acts at random. From then on a clone of the labels found so far acts, under noise of a
different scale in each env, and every round ends with a better model and better labels.
"""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.rollout import collect_around
from spacil.envs.vector_env import EnvSpec
from spacil.learning.cloning import Cloner, cloning_config
from spacil.learning.critic import true_next_states
from spacil.learning.inverse_model import InverseModel, OwnSteps
from spacil.learning.learner import make_run_env
from spacil.seeding import stream
from spacil.types import RolloutBatch

NUM_ENVS, NUM_ROUNDS, STEPS_PER_ENV = 20, 6, 500
NOISES = (0.0, 0.1, 0.3, 0.6)
"""Of the actor in env 0, 1, 2, 3, 4, ...: in half ranges of the actions"""
FIT_STEPS, CLONE_STEPS = 800, 600
_SHAPE = (STEPS_PER_ENV, NUM_ENVS)


@dataclass(frozen=True)
class Labels:
    """What own play found out about demonstrations without actions."""

    model: InverseModel
    actions: Tensor
    """[M, A]"""
    trust: Tensor
    """[A], 0 to 1"""
    env_steps: int


def label(config: TrainConfig, env_source: Any, demonstrations: Demonstrations) -> Labels:
    """Play, learn what the actions do, and find the demonstrated ones."""
    generator = stream(config.run.seed, "own play")
    env = make_run_env(config, env_source, NUM_ENVS, "own play")
    with contextlib.closing(env), torch.no_grad():
        spec, (low, high) = env.spec, env.spec.bounds_on(env.device)
        half_range = ((high - low) / 2).nan_to_num(posinf=1.0)
        centre = ((high + low) / 2).nan_to_num()
        model = InverseModel(spec.num_states, low, high, generator)
        states, successors = demonstrations.states, demonstrations.next_states
        scales = torch.tensor(NOISES).repeat(NUM_ENVS)[:NUM_ENVS, None] * half_range
        mean: Callable[[Tensor], Tensor] = functools.partial(_everywhere, centre)
        noise = half_range * (2 * torch.rand(_SHAPE + low.shape, generator=generator) - 1)
        observations, parts = env.reset(), list[OwnSteps]()
        for number in range(NUM_ROUNDS):
            played, observations = collect_around(env, mean, noise, observations)
            parts.append(own_steps(played, mean, low, high, number))
            own = OwnSteps.together(parts)
            with torch.enable_grad():
                model.fit(own, FIT_STEPS, generator)
            actions = model.actions(states, successors)
            labelled = with_actions(demonstrations, actions)
            with torch.enable_grad():
                mean = clone_of(labelled, config, spec)
            noise = scales * torch.randn(_SHAPE + low.shape, generator=generator)
    trust = model.trust(own, states, successors, generator)
    return Labels(model, actions, trust, NUM_ROUNDS * NUM_ENVS * STEPS_PER_ENV)


def _everywhere(action: Tensor, states: Tensor) -> Tensor:
    return action.expand(len(states), -1)


def own_steps(
    played: RolloutBatch, mean: Callable[[Tensor], Tensor], low: Tensor, high: Tensor, number: int
) -> OwnSteps:
    """The steps of a batch whose successor is known: all but those that the task ended."""
    envs = torch.arange(played.states.shape[1]).expand(played.states.shape[:2]).flatten()
    states = played.flat_states
    steps = OwnSteps(
        states,
        true_next_states(played),
        played.flat_actions.clamp(low, high),
        mean(states).clamp(low, high),
        envs,
        torch.full_like(envs, number),
    )
    return steps.pick(torch.nonzero(~played.terminated.flatten())[:, 0])


def with_actions(demonstrations: Demonstrations, actions: Tensor) -> Demonstrations:
    """The demonstrations with these executed actions [M, A]."""
    parts = actions.split(demonstrations.episode_lengths.tolist())
    episodes = tuple(
        episode.with_tensors(executed_actions=part, actions=None)
        for episode, part in zip(demonstrations.episodes, parts, strict=True)
    )
    return replace(demonstrations, episodes=episodes)


def clone_of(
    labelled: Demonstrations, config: TrainConfig, spec: EnvSpec
) -> Callable[[Tensor], Tensor]:
    """The mean action of a clone without penalty."""
    unpenalized = with_settings(config, {"penalty": (), "penalty_weight": "fixed"})
    return Cloner(cloning_config(unpenalized), spec, labelled).run_steps(CLONE_STEPS).mean
