"""The seam for learners: what the loop, the run folder and the Python face ask of one.

Beside it what learners share: their counters, their clock, and how they make envs and policies.
"""

import pkgutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from spacil.config.algorithms import ALGORITHMS
from spacil.config.settings import NetsConfig
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.demos.demonstrations import Demonstrations
from spacil.engine.device import one_torch_thread, resolve_device
from spacil.envs.conditions import under
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.on_host import on_host
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv
from spacil.errors import ConfigError, DivergedError
from spacil.learning.adversary import DiscriminatorReport
from spacil.learning.policy_step import StepReport
from spacil.measuring.evaluate import Best, Evaluation, expected_length, num_evaluation_envs
from spacil.measuring.imitation_score import DemonstratedStates
from spacil.nets.policy import GaussianPolicy
from spacil.runs.state import State
from spacil.seeding import Streams
from spacil.types import RolloutBatch

Metrics = dict[str, Any]

WARN_FAILED_STEPS = 20
MAX_FAILED_STEPS = 100
WARN_SATURATED = 20


class Stopwatch:
    """Wall-clock seconds of each stage; keys `seconds_<stage>` are left out of run hashes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[f"seconds_{stage}"] = time.perf_counter() - started


@dataclass
class Counters:
    """Plain numbers that a resumed run must find again."""

    iteration: int = 0
    """Iterations done"""
    env_steps: int = 0


@dataclass
class UpdateCounters(Counters):
    """The same of a run with a policy step and an adversary."""

    failed_steps_in_row: int = 0
    saturated_in_row: int = 0


class OpenEpisodes:
    """The live episodes' returns and lengths so far, [N] each, on the envs' device."""

    def __init__(self, num_envs: int, device: torch.device) -> None:
        self.returns = torch.zeros(num_envs, dtype=torch.float64, device=device)
        self.lengths = torch.zeros(num_envs, dtype=torch.int64, device=device)

    def count(self, rollout: RolloutBatch, steps_before: int) -> Metrics:
        """Go through a batch, begun after so many steps per env; the episodes that ended in it.

        One that is longer than the run began with a part of its time gone (`stagger`): what it
        would have earned there is not known, so it has no part in the means.
        """
        is_cut = rollout.terminated | rollout.truncated
        returns = torch.empty_like(rollout.env_rewards)
        lengths = torch.empty_like(is_cut, dtype=torch.int64)
        with one_torch_thread():
            for rewards, cut, return_now, length_now in zip(
                rollout.env_rewards, is_cut, returns, lengths, strict=True
            ):
                return_now.copy_(self.returns.add_(rewards))
                length_now.copy_(self.lengths.add_(1))
                self.returns.masked_fill_(cut, 0)
                self.lengths.masked_fill_(cut, 0)
        # From here on everything is read by the host at once.
        ended = torch.stack([returns, lengths.double()])[:, is_cut].cpu().numpy()
        time_passed = steps_before + 1 + is_cut.nonzero()[:, 0].cpu().numpy()
        finished_returns, finished_lengths = ended[:, ended[1] <= time_passed]
        is_known = len(finished_returns) > 0
        return {
            "episodes_finished": ended.shape[1],
            "train_return": float(np.mean(finished_returns)) if is_known else None,
            "train_length": float(np.mean(finished_lengths)) if is_known else None,
        }


def policy_metrics(counters: UpdateCounters, report: StepReport) -> Metrics:
    """The step's report; a policy that has not moved for too long ends the run."""
    counters.failed_steps_in_row = counters.failed_steps_in_row + 1 if report.refusal else 0
    if counters.failed_steps_in_row > MAX_FAILED_STEPS:
        raise DivergedError(
            f"the line search failed {counters.failed_steps_in_row} times in a row "
            f"(last reason: {report.refusal}); the policy no longer learns"
        )
    metrics = asdict(report)
    metrics |= {f"loss_{name}": value for name, value in metrics.pop("summands").items()}
    metrics["warn_line_search"] = counters.failed_steps_in_row > WARN_FAILED_STEPS
    return metrics


def cost_metrics(counters: UpdateCounters, report: DiscriminatorReport | None) -> Metrics:
    """The adversary's report; none without one."""
    if report is None:
        return {}
    counters.saturated_in_row = counters.saturated_in_row + 1 if report.is_saturated else 0
    return {**asdict(report), "warn_saturated": counters.saturated_in_row > WARN_SATURATED}


class Learner(ABC):
    """One run in memory: it can iterate, be evaluated, taken apart and put together again."""

    policy: GaussianPolicy
    """What learns; of the sizes of what is handed out."""
    common_frame: CommonFrame | None
    """Units of J"""
    env: VectorEnv | None = None
    """What is learned in; None for cloning"""
    eval_env: VectorEnv
    demonstrated: DemonstratedStates | None = None
    """What evaluations compare the states visited with"""

    def __init__(
        self, config: TrainConfig, counters: Counters, demonstrations: Demonstrations | None = None
    ) -> None:
        self.config, self.demonstrations = config, demonstrations
        self.counters = counters
        self.best: Best | None = None
        self.streams = Streams.from_seed(config.run.seed)
        self.state = State()
        """All that a checkpoint keeps"""
        for name, generator in vars(self.streams).items():
            self.state.register(f"stream.{name}", generator)
        self.state.register_record("counters", self, type(counters))
        self.state.register_record("best", self, Best, optional=True)

    @property
    def evaluated_policy(self) -> GaussianPolicy:
        """What is evaluated, on the CPU."""
        return self.policy

    @property
    def final_policy(self) -> GaussianPolicy:
        """What a user gets: the policy just evaluated, or a better one of before."""
        return self.policy

    @property
    def is_done(self) -> bool:
        """All iterations done."""
        return self.counters.iteration >= self.config.run.iterations

    def prepare(self) -> None:  # noqa: B027  # most have nothing to look up
        """Before a new run's folder changes: look up what it needs, refuse what it cannot do."""

    @abstractmethod
    def iterate(self) -> Metrics:
        """One iteration; returns what it has to report."""

    @abstractmethod
    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> Metrics:
        """Hear how good and smooth the policy is; returns what else is known now."""

    def close(self) -> None:
        if self.env is not None:
            self.env.close()
        self.eval_env.close()


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
    learner: Learner = pkgutil.resolve_name(row.learner)(
        config, env_source, demonstrations, common_frame
    )
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


def make_run_env(
    config: TrainConfig,
    env_source: Any,
    num_envs: int,
    stream: str,
    frame: CommonFrame | None = None,
    *,
    is_on_host: bool = False,
) -> VectorEnv:
    """The env of a run under its conditions; `stream` names its start states: env, eval, evaluate.

    `is_on_host`: for what is measured, which happens on the CPU wherever the env simulates.
    `frame`: the unit of sensor noise, by default that of the demonstrations bundled with the task.
    """
    run = config.run
    seeds = ResetSeeds(run.seed, stream)
    options = (run.simulation_threads, run.env_timeout, str(resolve_device(run.device)))
    env = make_vector_env(env_source, num_envs, seeds, *options)
    env = on_host(env) if is_on_host else env
    frame = frame or bundled_frame(config.task)
    return under(env, config.conditions, seeds, None if frame is None else frame.std)


def make_eval_env(
    config: TrainConfig,
    env_source: Any,
    spec: EnvSpec,
    demonstrations: Demonstrations | None = None,
    frame: CommonFrame | None = None,
) -> VectorEnv:
    """The env of the evaluations during a run: one whole episode in each copy."""
    length = expected_length(spec.horizon, demonstrations)
    num_envs = num_evaluation_envs(config.evaluation.evaluation_steps, length)
    return make_run_env(config, env_source, num_envs, "eval", frame, is_on_host=True)
