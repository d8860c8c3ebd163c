"""What the paper's whole sweep costs: processor time measured here, schedules worked out on paper.

    python benchmarks/sweep_cost.py --out docs/results/sweep_cost.json

120 runs: 5 tasks x (GAIL, SPaCIL, SPaCIL with the paper's weights as mean and as sum) x 6 seeds,
at their default lengths, one thread each. Iterations are measured in processor time, which
a crowded machine changes little: the first with what it does before it (a clone), the second alone.
Evaluations are priced as those of an expert, which plays whole episodes. `paper-sum` costs what
`paper-mean` does.
"""

import argparse
import heapq
import itertools
import json
import time
from pathlib import Path
from typing import Any

import torch

import spacil
from measuring import describe_machine
from spacil.config.defaults import default_config
from spacil.envs.registry import PAPER_TASKS, TASKS

KINDS: dict[str, tuple[type[Any], str]] = {
    "gail": (spacil.GAIL, "none"),
    "spacil": (spacil.SPaCIL, "none"),
    "paper-mean": (spacil.SPaCIL, "paper-mean"),
}
NUM_RUNS = {"gail": 6, "spacil": 6, "paper-mean": 12}
"""Per task; the last with those of paper-sum"""
CHECKPOINT_SECONDS = 0.03
"""Checkpoint and logging of an iteration (docs/results/speed.md)"""
START_SECONDS = 6.5
"""From the command to the first iteration (docs/results/speed.md)"""
EVALUATION_SECONDS = {
    "Reacher-v4": 1.3,
    "Hopper-v4": 4.6,
    "Walker2d-v4": 5.2,
    "HalfCheetah-v4": 3.5,
    "Ant-v4": 10.9,
}
"""20,000 steps of an expert: twice the seconds with two threads (docs/results/speed.md), which is a
bound; Reacher's was measured here, once"""
FRESH_EPISODES = 300
MACHINES = (1, 10, 100)


def measured(task: str, kind: str) -> dict[str, float]:
    """Processor seconds of a start and of an iteration."""
    make, preset = KINDS[kind]
    # After a clone the policy stays for some iterations; here it moves from the second on.
    moves = {"warm_start_iterations": 1} if kind == "spacil" else {}
    agent = make(task, seed=0, preset=preset, torch_threads=1, simulation_threads=1, **moves)
    moments = [time.process_time()]
    agent.learn(3, callback=lambda *_: moments.append(time.process_time()))
    agent.close()
    first, plain, _ = (b - a for a, b in itertools.pairwise(moments))  # the last is evaluated
    return {"start": max(first - plain, 0.0), "iteration": plain}


def seconds_of_run(task: str, kind: str, cost: dict[str, float]) -> float:
    config = default_config(KINDS[kind][0].algorithm, task, KINDS[kind][1])  # type: ignore[arg-type]
    iterations, evaluation = config.run.iterations, config.evaluation
    fresh = FRESH_EPISODES * TASKS[task].horizon / evaluation.evaluation_steps
    num_evaluations = iterations / evaluation.evaluation_interval + fresh
    return (
        START_SECONDS
        + cost["start"]
        + iterations * (cost["iteration"] + CHECKPOINT_SECONDS)
        + num_evaluations * EVALUATION_SECONDS[task]
    )


def last_ending(runs: list[float], num_slots: int) -> float:
    """When all runs are through, the longest first, each on the next free core."""
    ends = [0.0] * num_slots
    for seconds in sorted(runs, reverse=True):
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 16], help="of one machine")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    costs = {f"{task} {kind}": measured(task, kind) for task in PAPER_TASKS for kind in KINDS}
    runs: list[float] = []
    lengths: dict[str, float] = {}
    for name, cost in costs.items():
        task, kind = name.split()
        lengths[name] = seconds_of_run(task, kind, cost)
        runs += [lengths[name]] * NUM_RUNS[kind]
    document = {
        "machine": describe_machine(),
        "processor_seconds": costs,
        "hours_per_run": {name: seconds / 3600 for name, seconds in lengths.items()},
        "num_runs": len(runs),
        "core_hours": sum(runs) / 3600,
        "hours": {
            f"{machines} x {cores} cores": last_ending(runs, machines * cores) / 3600
            for cores in arguments.cores
            for machines in MACHINES
        },
    }
    text = json.dumps(document, indent=1)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
