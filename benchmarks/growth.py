"""How time and memory of an update grow with the batch, the sizes of the task and the networks.

One factor is changed at a time, from Hopper's sizes: a policy step (conjugate gradient on all
states, line search) and a value fit on synthetic states, no simulation. The number of envs is
measured with a simulation of a fixed number of steps. `exponent` is the slope of log time over
log size between the two largest sizes: 1 is a straight line.

    python benchmarks/growth.py --threads 1
"""

import argparse
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from measuring import make_learner, medians, num_cores, peak_megabytes, record, reset_peak
from spacil.config.settings import PolicyStepConfig, ValueConfig
from spacil.engine.device import Recorder
from spacil.engine.mlp_passes import Adam
from spacil.envs.episodes import collect
from spacil.functional.policy_gradient import log_prob, standardize
from spacil.learning import policy_step
from spacil.learning.critic import ValueBatch, fit_value
from spacil.learning.policy_step import SurrogateLoss
from spacil.nets.mlp import ValueNet
from spacil.nets.policy import GaussianPolicy

NUM_ENV_STEPS = 6_400


@dataclass(frozen=True)
class Sizes:
    """One update."""

    batch: int = 6_000
    states: int = 11
    actions: int = 3
    width: int = 300


FACTORS: dict[str, tuple[int, ...]] = {
    "batch": (3_000, 6_000, 12_000, 25_000, 50_000, 100_000),
    "states": (11, 50, 111, 200, 400),
    "actions": (2, 4, 8, 16, 32),
    "width": (100, 200, 400, 800),
}
QUICK_FACTORS: dict[str, tuple[int, ...]] = {
    "batch": (3_000, 6_000, 12_000),
    "states": (11, 111, 400),
    "actions": (2, 8, 32),
    "width": (100, 200, 400),
}
ENV_COUNTS = (10, 20, 40, 80, 160)


class SyntheticUpdate:
    """Networks and a batch of given sizes, updated as training would."""

    def __init__(self, sizes: Sizes) -> None:
        draws = torch.Generator().manual_seed(0)
        bounds = [1.0] * sizes.actions
        low = [-bound for bound in bounds]
        widths = (sizes.width, sizes.width)
        self.policy = GaussianPolicy(sizes.states, low, bounds, widths, generator=draws)
        self.value = ValueNet(sizes.states, generator=draws)
        self.optimizer = Adam(self.value, 1e-3)
        self.states = torch.randn(sizes.batch, sizes.states, generator=draws)
        self.noise = torch.randn(sizes.batch, sizes.actions, generator=draws)
        self.advantages = standardize(torch.randn(sizes.batch, generator=draws))
        self.draws = draws

    def run(self) -> dict[str, float]:
        """Seconds of the two parts, and processor seconds of both together."""
        processor = time.process_time()
        began = time.perf_counter()
        self._policy_step()
        policy_done = time.perf_counter()
        config = ValueConfig()
        batch = ValueBatch(self.states, self.advantages, self.advantages)
        critic = (self.value, self.optimizer, config, config.value_epochs)
        fit_value(*critic, batch, self.draws, Recorder())
        return {
            "policy_step": policy_done - began,
            "value_fit": time.perf_counter() - policy_done,
            "processor": time.process_time() - processor,
        }

    def _policy_step(self) -> Tensor:
        config = PolicyStepConfig()
        old = policy_step.OldPolicy(self.policy, self.states, config)
        actions = old.mean + old.log_std.exp() * self.noise
        old_log_probs = log_prob(actions, old.mean, old.log_std)
        loss = SurrogateLoss(actions, self.advantages, old_log_probs)
        direction = policy_step.find_direction(self.policy, loss, old, config)
        policy_step.follow(self.policy, direction, config, Recorder())
        return actions


def grow(factor: str, values: tuple[int, ...], repeats: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for value in values:
        reset_peak()
        before = peak_megabytes()
        update = SyntheticUpdate(replace(Sizes(), **{factor: value}))
        update.run()
        peak = peak_megabytes() - before
        times = medians([update.run() for _ in range(repeats)])
        rows.append({"factor": factor, "size": value, **times, "megabytes": peak})
    return rows


def grow_envs(counts: tuple[int, ...], repeats: int, threads: int) -> list[dict[str, Any]]:
    """The same number of steps, shared out among more envs."""
    rows: list[dict[str, Any]] = []
    for count in counts:
        settings = {
            "num_envs": count,
            "simulation_threads": threads,
            "steps_per_iteration": NUM_ENV_STEPS,
        }
        learner = make_learner("gail", "Hopper-v4", settings)
        times = []
        for number in range(repeats + 1):
            processor, began = time.process_time(), time.perf_counter()
            _, learner.env_states = collect(
                learner.env,
                learner.rollout_policy,
                learner.env_states,
                NUM_ENV_STEPS,
                learner.streams.action,
            )
            elapsed = time.perf_counter() - began
            if number:
                times.append({"rollout": elapsed, "processor": time.process_time() - processor})
        learner.close()
        rows.append({"factor": "envs", "size": count, **medians(times)})
    return rows


def exponent(rows: list[dict[str, Any]], key: str = "processor") -> float:
    """d log time / d log size at the large end."""
    smaller, larger = rows[-2:]
    return math.log(larger[key] / smaller[key]) / math.log(larger["size"] / smaller["size"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and smaller sizes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=num_cores())
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    factors = QUICK_FACTORS if arguments.quick else FACTORS
    counts = ENV_COUNTS[:3] if arguments.quick else ENV_COUNTS
    found: list[dict[str, Any]] = []
    for factor, values in factors.items():
        rows = grow(factor, values, arguments.repeats)
        found += [{**row, "exponent": exponent(rows)} for row in rows]
        _print(rows)
    rows = grow_envs(counts, arguments.repeats, arguments.threads)
    found += [{**row, "exponent": exponent(rows)} for row in rows]
    _print(rows)
    record("growth", found, arguments.json)


def _print(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        times = {k: round(v, 3) for k, v in row.items() if k not in ("factor", "size")}
        print(f"{row['factor']:8} {row['size']:>7} {times}", flush=True)
    print(f"{'':8} exponent {exponent(rows):.2f}")


if __name__ == "__main__":
    main()
