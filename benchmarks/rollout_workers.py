"""Rollout workers against one, and against the threads of one process, in env steps per second.

    python benchmarks/rollout_workers.py busy_env:BusyEnv --steps 160 --envs 8
    python benchmarks/rollout_workers.py Ant-v4 --steps 6000 --envs 48

Efficiency is rate(workers) / (workers x rate(one worker)). All variants play the same blocks, in
turn; without one idle core per worker the figure says nothing, so the load is printed with it.
Processor time says something on a crowded machine too: what this process and the workers spend on a
batch, where the env alone would take a known time.
"""

import argparse
import contextlib
import json
import os
import statistics
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from measuring import describe_machine
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.envs.rollout import collect
from spacil.learning.rollout_envs import rollout_envs
from spacil.nets.policy import GaussianPolicy


@dataclass(frozen=True)
class Played:
    """Batches but the first, which makes the envs."""

    steps_per_second: float
    here: float
    """Processor seconds of this process per batch"""
    workers: float
    """Processor seconds of all workers per batch"""


def played(config: TrainConfig, num_rounds: int) -> Played:
    with closing(rollout_envs(config, config.task)) as env:
        spec, generator = env.spec, torch.Generator().manual_seed(0)
        policy = GaussianPolicy(
            spec.num_states, spec.action_low, spec.action_high, generator=generator
        )
        states, num_steps, found = env.reset(), config.sampling.steps_per_iteration, []
        for _ in range(num_rounds + 1):
            began = time.perf_counter(), time.process_time(), workers_processor_seconds()
            _, states = collect(env, policy, states, num_steps, generator)
            ended = time.perf_counter(), time.process_time(), workers_processor_seconds()
            seconds, here, there = (b - a for a, b in zip(began, ended, strict=True))
            found.append((num_steps / seconds, here, there))
        return Played(*(statistics.median(column) for column in zip(*found[1:], strict=True)))


def workers_processor_seconds() -> float:
    """Of all rollout workers on this machine, which Ray names after their class."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"ray::_Worker" in (folder / "cmdline").read_bytes():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    config = with_settings(
        default_config("trpo", arguments.task, "none"),
        {
            "steps_per_iteration": arguments.steps,
            "num_envs": arguments.envs,
            "rollout_blocks": arguments.blocks,
        },
    )
    threads = f"this process, {arguments.workers} threads"
    variants = {
        threads: replace(config, run=replace(config.run, simulation_threads=arguments.workers)),
        "1 worker": with_settings(config, {"rollout_workers": 1}),
        f"{arguments.workers} workers": with_settings(
            config, {"rollout_workers": arguments.workers}
        ),
    }
    found: dict[str, list[Played]] = {name: [] for name in variants}
    loads = []
    for _ in range(arguments.repeats):
        for name, variant in variants.items():
            loads.append(os.getloadavg()[0])
            found[name].append(played(variant, arguments.rounds))
    rates = {name: [batch.steps_per_second for batch in found[name]] for name in found}
    one, several = rates["1 worker"], rates[f"{arguments.workers} workers"]
    efficiency = [b / (arguments.workers * a) for a, b in zip(one, several, strict=True)]
    document = {
        "task": arguments.task,
        "machine": describe_machine(),
        "steps_per_second": {name: [round(rate, 1) for rate in r] for name, r in rates.items()},
        "processor_seconds_per_batch": {
            name: {
                "this process": round(statistics.median(b.here for b in batches), 4),
                "workers": round(statistics.median(b.workers for b in batches), 3),
            }
            for name, batches in found.items()
        },
        "efficiency": [round(value, 3) for value in efficiency],
        "median_efficiency": round(statistics.median(efficiency), 3),
        "load_before_each": [round(load, 2) for load in loads],
        "cores": os.cpu_count(),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
