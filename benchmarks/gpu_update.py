"""The update alone and the whole iteration, on a GPU and on the CPU.

The update is everything an iteration does after its simulation, which is always on the CPU.

Advantages, conjugate gradient on all states, exact penalty on all states, line search, value fit
and discriminator, on one batch that was played once. The device is waited for around each stage;
the `total` is measured apart, with one wait at the end, as training runs it. Learners start from
the same seed, and every repeat is an update of the same batch; whole iterations play their own.

    python benchmarks/gpu_update.py --device cuda --repeats 30
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from measuring import make_learner, medians, num_cores, record, stage_seconds
from spacil.envs.episodes import collect
from spacil.learning.learner import Stopwatch
from spacil.learning.on_policy import OnPolicy
from spacil.types import RolloutBatch

DEFAULT_TASKS = ("Hopper-v4", "Ant-v4")
WARM_UPS = 3


class WaitingStopwatch(Stopwatch):
    """Seconds of each stage until the device has done it."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        wait(self._device)
        with super().__call__(stage):
            yield
            wait(self._device)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def update_once(learner: OnPolicy, rollout: RolloutBatch, clock: Stopwatch) -> None:
    """An iteration whose batch has been played."""
    played = (rollout, learner.env_states)
    module = "spacil.learning.on_policy"
    with (
        mock.patch(f"{module}.collect", lambda *args: played),
        mock.patch(f"{module}.Stopwatch", lambda: clock),
    ):
        learner.iterate()


def measure(task: str, device: str, repeats: int, settings: dict[str, Any]) -> dict[str, Any]:
    learner = make_learner("spacil", task, {"device": device, **settings})
    try:
        rollout = _play(learner)
        for _ in range(WARM_UPS):
            update_once(learner, rollout, Stopwatch())
        split = []
        for _ in range(repeats):
            clock = WaitingStopwatch(learner.device)
            update_once(learner, rollout, clock)
            split.append(stage_seconds(clock.seconds))
        totals = [{"total": _total(learner, rollout)} for _ in range(repeats)]
        iterations = [{"whole iteration": _iteration(learner)} for _ in range(repeats // 3 + 1)]
        return {
            "task": task,
            "device": device,
            "batch": rollout.num_steps,
            "settings": settings,
            "threads": learner.config.run.torch_threads,
            "milliseconds": _in_milliseconds(
                {**medians(split), **medians(totals), **medians(iterations)}
            ),
            "num_waits": _num_waits(learner, rollout),
            "fastest_total": 1e3 * min(total["total"] for total in totals),
        }
    finally:
        learner.close()


def _play(learner: OnPolicy) -> RolloutBatch:
    steps = learner.config.sampling.steps_per_iteration
    rollout, _ = collect(
        learner.env, learner.rollout_policy, learner.env_states, steps, learner.streams.action
    )
    return rollout


def _total(learner: OnPolicy, rollout: RolloutBatch) -> float:
    """By events where there are any: they measure the device's time, launches included."""
    if learner.device.type != "cuda":
        began = time.perf_counter()
        update_once(learner, rollout, Stopwatch())
        return time.perf_counter() - began
    began_event, ended_event = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize(learner.device)
    began_event.record()
    update_once(learner, rollout, Stopwatch())
    ended_event.record()
    torch.cuda.synchronize(learner.device)
    milliseconds: float = began_event.elapsed_time(ended_event)
    return milliseconds / 1e3


def _iteration(learner: OnPolicy) -> float:
    began = time.perf_counter()
    learner.iterate()
    wait(learner.device)
    return time.perf_counter() - began


def _num_waits(learner: OnPolicy, rollout: RolloutBatch) -> int | None:
    """How often one update waits for the device, by torch's own count."""
    if learner.device.type != "cuda":
        return None
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            update_once(learner, rollout, Stopwatch())
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in caught)


def _in_milliseconds(times: dict[str, float]) -> dict[str, float]:
    return {stage: 1e3 * value for stage, value in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=list(DEFAULT_TASKS))
    parser.add_argument("--device", nargs="+", default=["cuda"], help="cuda, cpu, or both")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, default=num_cores())
    parser.add_argument("--steps", type=int, help="another batch than the paper's")
    parser.add_argument("--penalty-share", type=float, default=1.0, help="of the states")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    settings: dict[str, Any] = {
        "penalty_state_fraction": arguments.penalty_share,
        "torch_threads": arguments.threads,
        "simulation_threads": arguments.threads,
    }
    if arguments.steps:
        settings["steps_per_iteration"] = arguments.steps
    rows = []
    for task in arguments.tasks:
        for device in arguments.device:
            row = measure(task, device, arguments.repeats, settings)
            rows.append(row)
            times = {stage: round(value, 2) for stage, value in row["milliseconds"].items()}
            waits = "" if row["num_waits"] is None else f", {row['num_waits']} waits"
            print(f"{task} {row['batch']} on {device}, ms: {times}{waits}", flush=True)
    record("gpu_update", rows, arguments.json)


if __name__ == "__main__":
    main()
