"""What one iteration says about itself, and the counts that go on to the next."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from spacil.errors import DivergedError
from spacil.training.learner import Learner
from spacil.types import RolloutBatch
from spacil.updates.discriminator_fit import DiscriminatorReport
from spacil.updates.trust_region import TrustRegionReport

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


def count_iteration(learner: Learner, rollout: RolloutBatch) -> Metrics:
    """Count, and gather the returns of the episodes that ended in this batch."""
    learner.counters.iteration += 1
    learner.counters.env_steps += rollout.num_steps
    finished_returns: list[float] = []
    finished_lengths: list[int] = []
    is_cut = (rollout.terminated | rollout.truncated).numpy()
    for rewards, cut in zip(rollout.env_rewards.numpy(), is_cut, strict=True):
        learner.open_returns += rewards
        learner.open_lengths += 1
        if cut.any():
            finished_returns += learner.open_returns[cut].tolist()
            finished_lengths += learner.open_lengths[cut].tolist()
            learner.open_returns[cut] = 0
            learner.open_lengths[cut] = 0
    return {
        "iteration": learner.counters.iteration,
        "env_steps": learner.counters.env_steps,
        "episodes_finished": len(finished_returns),
        "train_return": float(np.mean(finished_returns)) if finished_returns else None,
        "train_length": float(np.mean(finished_lengths)) if finished_lengths else None,
    }


def policy_metrics(learner: Learner, report: TrustRegionReport) -> Metrics:
    """The step's report; a policy that has not moved for too long ends the run."""
    counters = learner.counters
    counters.failed_steps_in_row = 0 if report.is_accepted else counters.failed_steps_in_row + 1
    if counters.failed_steps_in_row > MAX_FAILED_STEPS:
        raise DivergedError(
            f"the line search failed {counters.failed_steps_in_row} times in a row "
            f"(last reason: {report.line_search_reason}); the policy no longer learns"
        )
    metrics = asdict(report)
    metrics |= {f"loss_{name}": value for name, value in metrics.pop("summands").items()}
    metrics["warn_line_search"] = counters.failed_steps_in_row > WARN_FAILED_STEPS
    return metrics


def cost_metrics(learner: Learner, report: DiscriminatorReport | None) -> Metrics:
    """The adversary's report; none without one."""
    if report is None:
        return {}
    counters = learner.counters
    counters.saturated_in_row = counters.saturated_in_row + 1 if report.is_saturated else 0
    return {**asdict(report), "warn_saturated": counters.saturated_in_row > WARN_SATURATED}
