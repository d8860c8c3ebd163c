"""The seam for learners: what the loop, the run folder and the Python face ask of one."""

from typing import Any, Protocol

import torch

from spacil.config.algorithms import ALGORITHMS, from_table
from spacil.config.settings import NetsConfig
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.device import resolve_device
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv
from spacil.errors import ConfigError
from spacil.learning.metrics import Metrics
from spacil.measuring.evaluate import Best, Evaluation, expected_length, num_evaluation_envs
from spacil.nets.policy import GaussianPolicy
from spacil.runs.state import State


class HasProgress(Protocol):
    """The counters every learner has."""

    iteration: int
    env_steps: int


class Learner(Protocol):
    """One run in memory: it can iterate, be evaluated, taken apart and put together again."""

    config: TrainConfig
    best: Best | None
    common_frame: CommonFrame | None
    """Units of J"""
    state: State
    """All that a checkpoint keeps"""

    @property
    def counters(self) -> HasProgress: ...

    @property
    def demonstrations(self) -> Demonstrations | None: ...

    @property
    def eval_env(self) -> VectorEnv: ...

    @property
    def policy(self) -> GaussianPolicy:
        """What learns; of the sizes of what is handed out."""
        ...

    @property
    def evaluated_policy(self) -> GaussianPolicy:
        """What is evaluated, on the CPU."""
        ...

    @property
    def final_policy(self) -> GaussianPolicy:
        """What a user gets: the policy just evaluated, or a better one of before."""
        ...

    @property
    def is_done(self) -> bool: ...

    def prepare(self) -> None:
        """Before a new run's folder changes: look up what it needs, refuse what it cannot do."""
        ...

    def iterate(self) -> Metrics:
        """One iteration; returns what it has to report."""
        ...

    def where(self) -> str:
        """The iteration under way, for an error message."""
        ...

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Hear how good and smooth the policy is; returns what else is known now."""
        ...

    def close(self) -> None: ...


def make_learner(
    config: TrainConfig,
    env_source: Any,
    demonstrations: Demonstrations | None,
    common_frame: CommonFrame | None = None,
) -> Learner:
    """The learner of the config's algorithm, before its first iteration.

    `env_source` is what `make_vector_env` takes: a task name, an env, or a factory.
    `common_frame` is that of the demonstrations before they were edited, where they were.
    """
    row = ALGORITHMS[config.algorithm]
    if row.needs_demonstrations and demonstrations is None:
        raise ConfigError(f"{config.algorithm} learns from demonstrations: pass --demos")
    learner: Learner = from_table(row.learner)(config, env_source, demonstrations, common_frame)
    return learner


def make_policy(spec: EnvSpec, nets: NetsConfig, generator: torch.Generator) -> GaussianPolicy:
    """An untrained policy of the env's sizes."""
    return GaussianPolicy(
        spec.num_states,
        spec.action_low,
        spec.action_high,
        nets.policy_hidden,
        nets.init,
        nets.initial_log_std,
        generator,
    )


def make_run_env(config: TrainConfig, env_source: Any, num_envs: int, stream: str) -> VectorEnv:
    """The env of a run; `stream` names its start states: env, eval, evaluate."""
    run = config.run
    seeds = ResetSeeds(run.seed, stream)
    options = (run.simulation_threads, run.env_timeout, str(resolve_device(run.device)))
    return make_vector_env(env_source, num_envs, seeds, *options)


def make_eval_env(
    config: TrainConfig,
    env_source: Any,
    spec: EnvSpec,
    demonstrations: Demonstrations | None = None,
) -> VectorEnv:
    """The env of the evaluations during a run: one whole episode in each copy."""
    length = expected_length(spec.horizon, demonstrations)
    num_envs = num_evaluation_envs(config.evaluation.evaluation_steps, length)
    return make_run_env(config, env_source, num_envs, "eval")
