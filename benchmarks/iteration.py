"""How close one training iteration comes to its two floors: simulation alone, products alone.

Ours: seconds of an iteration (collect, advantages, policy step, value fit, discriminator),
evaluation aside. Simulation floor: the same number of env steps at the summed rate of raw
`mj_step` processes that replay this policy's actions and resets (benchmarks/simulation.py).
Product floor: the matrix products an iteration cannot do without, in their shapes and counts,
on preallocated arrays with the same number of threads. All three are measured in turn, so that
what slows the machine slows each of them.

The product floor counts the textbook's products. With few actions the Fisher products do fewer
(`functional/mlp_passes.py`), so a ratio below 1 is possible.

    python benchmarks/iteration.py --algorithms gail spacil --tasks Hopper-v4 --repeats 7
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from measuring import (
    make_learner,
    medians,
    num_cores,
    record,
    seconds,
    stage_seconds,
    timed_calls,
)
from simulation import Script, floor_of, record_script
from spacil.config.train_config import TrainConfig
from spacil.engine.device import one_torch_thread
from spacil.envs.registry import TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import ResetSeeds
from spacil.learning import critic, policy_step
from spacil.learning.learner import Metrics
from spacil.learning.on_policy import OnPolicy
from spacil.learning.policy_step import OldPolicy
from spacil.learning.run import state_to_save
from spacil.measuring.evaluate import evaluate
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import load_expert
from spacil.runs import checkpoint
from spacil.runs.metrics_log import MetricsLog

ALGORITHMS = ("trpo", "gail", "spacil")
DEFAULT_TASKS = ("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")
WARM_UP_ITERATIONS = 2
PARTS = {
    "inference": (GaussianPolicy, "mean"),
    "gae": (critic, "gae"),
    "old policy": (OldPolicy, "__init__"),
    "fisher products": (OldPolicy, "fisher_product"),
    "line search": (policy_step, "search"),
    "policy penalty, frozen": (policy_step, "build_terms"),
}
"""Parts of the stages that are told apart: what they take is also in their stage."""
LINE_SEARCH_TRIES = 2


@dataclass(frozen=True)
class Product:
    """`count` products of [rows, inner] with [inner, columns]."""

    rows: int
    inner: int
    columns: int
    count: int


def _forward(sizes: Sequence[int], rows: int, count: int) -> Iterator[Product]:
    for n_in, n_out in itertools.pairwise(sizes):
        yield Product(rows, n_in, n_out, count)


def _weight_gradients(sizes: Sequence[int], rows: int, count: int) -> Iterator[Product]:
    for n_in, n_out in itertools.pairwise(sizes):
        yield Product(n_out, rows, n_in, count)


def _hidden_gradients(sizes: Sequence[int], rows: int, count: int) -> Iterator[Product]:
    for n_in, n_out in itertools.pairwise(sizes[1:]):
        yield Product(rows, n_out, n_in, count)


def rollout_products(config: TrainConfig, num_states: int, num_actions: int) -> list[Product]:
    """One forward pass of all envs per step, on one thread as the rollout does it."""
    sampling = config.sampling
    policy = (num_states, *config.nets.policy_hidden, num_actions)
    return list(
        _forward(policy, sampling.num_envs, sampling.steps_per_iteration // sampling.num_envs)
    )


def update_products(
    config: TrainConfig, num_states: int, num_actions: int, num_demo_steps: int
) -> list[Product]:
    """What the update cannot do without: nothing is counted twice that could be computed once."""
    batch = config.sampling.steps_per_iteration
    policy = (num_states, *config.nets.policy_hidden, num_actions)
    value = (num_states, *config.value.value_hidden, 1)
    critic = (num_states + num_actions, *config.discriminator.discriminator_hidden, 1)
    cg, epochs = config.policy_step.cg_steps, config.value.value_epochs
    products = [
        # Policy: one forward pass (also the cached one of the Fisher products), its gradient,
        # a tangent and a cotangent pass per conjugate gradient step, a pass per candidate.
        *_forward(policy, batch, 1 + cg + LINE_SEARCH_TRIES),
        *_hidden_gradients(policy, batch, cg),  # the tangent's second product: same shapes
        *_weight_gradients(policy, batch, 1 + cg),
        *_hidden_gradients(policy, batch, 1 + cg),
        # Value: once for the advantages, then the epochs.
        *_forward(value, batch, 1 + epochs),
        *_weight_gradients(value, batch, epochs),
        *_hidden_gradients(value, batch, epochs),
    ]
    if config.algorithm != "trpo":
        both = batch + num_demo_steps
        products += [
            *_forward(critic, both, 1),
            *_weight_gradients(critic, both, 1),
            *_hidden_gradients(critic, both, 1),
        ]
    return products


def seconds_of(products: Sequence[Product]) -> float:
    """Time of the products alone, on arrays that are ready."""
    ready = []
    for product in products:
        left = torch.rand(product.rows, product.inner)
        right = torch.rand(product.inner, product.columns)
        ready.append((left, right, torch.empty(product.rows, product.columns), product.count))
    began = time.perf_counter()
    for left, right, out, count in ready:
        for _ in range(count):
            torch.mm(left, right, out=out)
    return time.perf_counter() - began


def play_of(learner: OnPolicy) -> Script:
    """An iteration's env steps with the current policy, for the raw simulations to replay."""
    config, sampling = learner.config, learner.config.sampling
    task, seeds = TASKS[config.task], ResetSeeds(config.run.seed, "env")
    with ThreadedMujocoEnv(task, sampling.num_envs, seeds, 1) as env:
        states = env.load_state(learner.env.save_state())
        num_steps = sampling.steps_per_iteration // sampling.num_envs
        return record_script(env, learner.rollout_policy, states, num_steps)


def measure(learner: OnPolicy, repeats: int) -> dict[str, Any]:
    config = learner.config
    torch.set_num_threads(config.run.torch_threads)
    adversary = learner.adversary
    num_demo_steps = 0 if adversary is None else len(adversary.expert.states)
    spec = learner.env.spec
    for _ in range(WARM_UP_ITERATIONS):
        learner.iterate()
    script = play_of(learner)
    rollout = rollout_products(config, spec.num_states, spec.num_actions)
    update = update_products(config, spec.num_states, spec.num_actions, num_demo_steps)
    rows: list[dict[str, float]] = []
    stages: list[dict[str, float]] = []
    with floor_of(TASKS[config.task], script, config.run.simulation_threads) as floor_rate:
        for _ in range(repeats):
            with timed_calls(PARTS) as parts:
                began = time.perf_counter()
                metrics = learner.iterate()
                ours = time.perf_counter() - began
            stages.append({**stage_seconds(metrics), **parts, **seconds_apart(learner, metrics)})
            simulation = config.sampling.steps_per_iteration / floor_rate(1.0)
            with one_torch_thread():
                products = seconds_of(rollout)
            products += seconds_of(update)
            rows.append({"ours": ours, "simulation": simulation, "products": products})
    ratios = [row["ours"] / (row["simulation"] + row["products"]) for row in rows]
    return {
        "algorithm": config.algorithm,
        "task": config.task,
        "steps": config.sampling.steps_per_iteration,
        "threads": config.run.torch_threads,
        "fisher_share": config.policy_step.fisher_state_fraction,
        **medians(rows),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "stages": {**medians(stages), "evaluation": seconds_of_evaluation(learner)},
    }


def seconds_of_evaluation(learner: OnPolicy) -> float:
    """One of the task's expert: the episodes are whole, as those of a policy that has learned."""
    expert, env = load_expert(learner.config.task).policy, learner.eval_env
    return seconds(
        lambda: evaluate(
            expert,
            env,
            first_episode=0,
            num_episodes=env.num_envs,
            common_frame=learner.common_frame,
        )
    )


def seconds_apart(learner: OnPolicy, metrics: Metrics) -> dict[str, float]:
    """What a run does beside its iterations: keeps a line of metrics and a checkpoint."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with MetricsLog(folder / "metrics.jsonl", folder / "tensorboard") as log:
            log.append(metrics)  # the first line opens files
            following = {**metrics, "iteration": metrics["iteration"] + 1}
            logging = seconds(lambda: log.append(following))
        checkpoints = folder / "checkpoints"
        checkpoints.mkdir()
        written = seconds(
            lambda: checkpoint.write(
                checkpoints, learner.counters.iteration, state_to_save(learner)
            )
        )
    return {"logging": logging, "checkpoint": written}


def main() -> None:
    parser = argparse.ArgumentParser(description="One iteration against its floors.")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=["gail"])
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(DEFAULT_TASKS))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=num_cores())
    parser.add_argument("--fisher-share", type=float, default=1.0, help="of the states")
    parser.add_argument("--json", type=Path, help="put the results into this file")
    arguments = parser.parse_args()
    settings = {
        "torch_threads": arguments.threads,
        "simulation_threads": arguments.threads,
        "fisher_state_fraction": arguments.fisher_share,
    }
    found = []
    for algorithm in arguments.algorithms:
        for task in arguments.tasks:
            learner = make_learner(algorithm, task, settings)
            result = measure(learner, arguments.repeats)
            learner.close()
            found.append(result)
            print(
                f"{algorithm} {task}: {result['ours']:.3f} s per iteration, floors "
                f"{result['simulation']:.3f} + {result['products']:.3f} s, "
                f"ratio {result['ratio']:.2f}"
            )
            times = {stage: round(value, 3) for stage, value in result["stages"].items()}
            print(times, flush=True)
    record("iteration", found, arguments.json)


if __name__ == "__main__":
    main()
