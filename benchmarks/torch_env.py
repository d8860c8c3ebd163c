"""One iteration on envs that live on the device, beside bare env steps plus bare updates.

    PYTHONPATH=tests/support python benchmarks/torch_env.py --device cuda

The envs are 4,096 point masses in torch (tests/support/torch_worlds.py). Bare steps are the same
number of env steps with given actions; bare updates are iterations on a batch that was collected
before. What an iteration takes beyond their sum is acting, storing and bookkeeping.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import torch
from torch_worlds import TorchWorlds

import spacil
from spacil.envs.episodes import collect
from spacil.envs.registry import BACKENDS, make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.learning import on_policy

TASK = "worlds/PointMass-v0"
GOAL = 1.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=4_096)
    parser.add_argument("--steps", type=int, default=24, help="steps of each world per iteration")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    device, num_steps = torch.device(arguments.device), arguments.steps
    BACKENDS["worlds"] = TorchWorlds
    agent = spacil.TRPO(
        TASK,
        num_envs=arguments.worlds,
        steps_per_iteration=arguments.worlds * num_steps,
        device=arguments.device,
        value_minibatch=arguments.worlds,
    )
    learner: Any = agent._learner
    env = make_vector_env(TASK, arguments.worlds, ResetSeeds(1, "bare"), device=arguments.device)
    actions = torch.rand(num_steps, arguments.worlds, env.spec.num_actions, device=device) - 0.5
    env.reset()

    def steps() -> None:
        for row in actions:
            env.step(row)

    generator = torch.Generator(learner.streams.action.device).manual_seed(0)
    played = collect(
        learner.env, learner.rollout_policy, learner.env_states, len(actions) * env.num_envs,
        generator,
    )  # fmt: skip

    def updates() -> None:
        with mock.patch.object(on_policy, "collect", lambda *_: played):
            learner.iterate()

    works = (learner.iterate, steps, updates)
    whole, bare_steps, bare_updates = medians_of(works, device, arguments.repeats)
    ratio = whole / (bare_steps + bare_updates)
    print(f"{arguments.worlds} worlds, {num_steps} steps each, on {device}")
    print(f"iteration {whole:.4f} s, bare steps {bare_steps:.4f} s, updates {bare_updates:.4f} s")
    print(f"iteration / (steps + updates) = {ratio:.3f}, goal {GOAL}")


def medians_of(
    works: Sequence[Callable[[], object]], device: torch.device, repeats: int
) -> list[float]:
    """The median seconds of each, called in turn, after two rounds to warm up."""
    rounds = [[seconds_of(work, device) for work in works] for _ in range(repeats + 2)]
    return [statistics.median(times) for times in zip(*rounds[2:], strict=True)]


def seconds_of(work: Callable[[], object], device: torch.device) -> float:
    wait(device)
    began = time.perf_counter()
    work()
    wait(device)
    return time.perf_counter() - began


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
