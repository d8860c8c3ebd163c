"""What the smoothness penalties add to the time of a GAIL iteration.

One learner per variant, in one process, one iteration of each in turn: what slows the machine
meanwhile slows all of them. A variant's overhead is the median over the rounds of its iteration
time over GAIL's in the same round, minus one. Beside it, for machines that do other things too,
the same in processor time, and the time added to the two stages that hold the penalties (policy and
discriminator) as a share of GAIL's iteration.

    python benchmarks/penalty_cost.py --tasks Hopper-v4 Walker2d-v4 Ant-v4 --rounds 9
"""

import argparse
import statistics
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from measuring import demonstrations_or_noise, record
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.learning.on_policy import OnPolicy

DEFAULT_TASKS = ("Hopper-v4", "Walker2d-v4", "Ant-v4")
WITHOUT_RAMP = {"penalty_ramp_iterations": 0}
VARIANTS: dict[str, dict[str, Any]] = {
    "gail": {"penalty": (), "lambda_cost": 0.0},
    "policy": {"lambda_cost": 0.0},
    "policy-all-states": {"lambda_cost": 0.0, "penalty_state_fraction": 1.0},
    "cost": {"penalty": ()},
    "both": {},
    "both-with-target": {"smoothness_target": 1.0},
}


@dataclass(frozen=True)
class Round:
    """Seconds of one iteration."""

    iteration: float
    processor: float
    """All threads together"""
    stages: float
    """Of the policy and the discriminator step"""


@dataclass(frozen=True)
class Overhead:
    """What one variant adds, as shares of a GAIL iteration."""

    task: str
    variant: str
    seconds: float
    """Median of its own iterations"""
    of_iteration: float
    of_processor_time: float
    of_stages: float


def measure(task: str, variants: list[str], num_rounds: int, threads: int) -> list[Overhead]:
    """Some variants of a task beside GAIL; a first round warms up and is not counted."""
    names = ["gail", *variants]
    demonstrations = demonstrations_or_noise(task)
    with ExitStack() as stack:
        learners = {}
        common = {"torch_threads": threads, "simulation_threads": threads, **WITHOUT_RAMP}
        for name in names:
            settings = {**common, **VARIANTS[name]}
            config = with_settings(default_config("spacil", task, "plain"), settings)
            learners[name] = OnPolicy(config, task, demonstrations)
            stack.callback(learners[name].close)
        rounds: dict[str, list[Round]] = {name: [] for name in names}
        for number in range(num_rounds + 1):
            for name, learner in learners.items():
                timed = _timed_iteration(learner)
                if number:
                    rounds[name].append(timed)
    return [_overhead(task, name, rounds[name], rounds["gail"]) for name in names]


def _timed_iteration(learner: OnPolicy) -> Round:
    started, processor_started = time.perf_counter(), time.process_time()
    metrics = learner.iterate()
    return Round(
        iteration=time.perf_counter() - started,
        processor=time.process_time() - processor_started,
        stages=metrics["seconds_policy"] + metrics["seconds_discriminator"],
    )


def _overhead(task: str, variant: str, ours: list[Round], gail: list[Round]) -> Overhead:
    pairs = list(zip(ours, gail, strict=True))
    return Overhead(
        task,
        variant,
        statistics.median(mine.iteration for mine in ours),
        statistics.median(mine.iteration / theirs.iteration for mine, theirs in pairs) - 1,
        statistics.median(mine.processor / theirs.processor for mine, theirs in pairs) - 1,
        statistics.median(
            (mine.stages - theirs.stages) / theirs.iteration for mine, theirs in pairs
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=list(DEFAULT_TASKS))
    others = [name for name in VARIANTS if name != "gail"]
    parser.add_argument("--variants", nargs="+", default=others, choices=others)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    found: list[Overhead] = []
    columns = ("s/iter", "of iteration", "processor", "stages")
    print(f"{'task':<14}{'variant':<20}" + "".join(f"{column:>14}" for column in columns))
    for task in arguments.tasks:
        for row in measure(task, arguments.variants, arguments.rounds, arguments.threads):
            found.append(row)
            print(
                f"{row.task:<14}{row.variant:<20}{row.seconds:>14.2f}{row.of_iteration:>+14.1%}"
                f"{row.of_processor_time:>+14.1%}{row.of_stages:>+14.1%}",
                flush=True,
            )
    record("penalty_cost", [asdict(row) for row in found], arguments.json)


if __name__ == "__main__":
    main()
