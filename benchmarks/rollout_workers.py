"""Rollout workers against one, and against the threads of one process, in env steps per second.

    python benchmarks/rollout_workers.py busy_env:BusyEnv --steps 160 --envs 8
    python benchmarks/rollout_workers.py Ant-v4 --steps 15000 --envs 48

Efficiency is rate(workers) / (workers x rate(one worker)). All variants play the same blocks, in
turn; without one idle core per worker the figure says nothing, so the load is printed with it.
"""

import argparse
import json
import os
import statistics
import time
from contextlib import closing
from dataclasses import replace

import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.nets.policy import GaussianPolicy
from spacil.sampling.rollout import collect
from spacil.training.rollout_envs import rollout_envs


def rates(config: TrainConfig, num_rounds: int) -> list[float]:
    """Env steps per second of each batch but the first, which makes the envs."""
    with closing(rollout_envs(config, config.task)) as env:
        spec, generator = env.spec, torch.Generator().manual_seed(0)
        policy = GaussianPolicy(
            spec.num_states, spec.action_low, spec.action_high, generator=generator
        )
        states, num_steps, found = env.reset(), config.sampling.steps_per_iteration, []
        for _ in range(num_rounds + 1):
            began = time.perf_counter()
            _, states = collect(env, policy, states, num_steps, generator)
            found.append(num_steps / (time.perf_counter() - began))
        return found[1:]


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
    found: dict[str, list[float]] = {name: [] for name in variants}
    loads = []
    for _ in range(arguments.repeats):
        for name, variant in variants.items():
            loads.append(os.getloadavg()[0])
            found[name].append(statistics.median(rates(variant, arguments.rounds)))
    one, several = found["1 worker"], found[f"{arguments.workers} workers"]
    efficiency = [b / (arguments.workers * a) for a, b in zip(one, several, strict=True)]
    document = {
        "task": arguments.task,
        "steps_per_second": {name: [round(rate, 1) for rate in r] for name, r in found.items()},
        "efficiency": [round(value, 3) for value in efficiency],
        "median_efficiency": round(statistics.median(efficiency), 3),
        "load_before_each": [round(load, 2) for load in loads],
        "cores": os.cpu_count(),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
