"""What one iteration says about itself, and the counts that go on to the next."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from spacil.engine.torch_threads import one_torch_thread
from spacil.errors import DivergedError
from spacil.learning.adversary import DiscriminatorReport
from spacil.learning.policy_step import StepReport
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


def policy_metrics(counters: Counters, report: StepReport) -> Metrics:
    """The step's report; a policy that has not moved for too long ends the run."""
    counters.failed_steps_in_row = counters.failed_steps_in_row + 1 if report.refusal else 0
    if counters.failed_steps_in_row > MAX_FAILED_STEPS:
        raise DivergedError(
            f"the line search failed {counters.failed_steps_in_row} times in a row "
            f"(last reason: {report.refusal}); the policy no longer learns"
        )
    metrics = asdict(report)  # type: ignore[call-overload]  # a StepReport is a dataclass
    metrics |= {f"loss_{name}": value for name, value in metrics.pop("summands").items()}
    metrics["warn_line_search"] = counters.failed_steps_in_row > WARN_FAILED_STEPS
    return dict(metrics)


def cost_metrics(counters: Counters, report: DiscriminatorReport | None) -> Metrics:
    """The adversary's report; none without one."""
    if report is None:
        return {}
    counters.saturated_in_row = counters.saturated_in_row + 1 if report.is_saturated else 0
    return {**asdict(report), "warn_saturated": counters.saturated_in_row > WARN_SATURATED}
