"""How much of the exact J each ascent finds, and at what price, on trained policies.

Value: mean over states of |dmu| / |offset| as a fraction of the mean exact constant, in the
policy's own frame, on the bundled demonstrations' states, from the same random starts. Price:
time relative to the exact computation on the same states, median of interleaved repeats, so that
what slows the machine meanwhile slows both. Also: the exact J of 10,000 states of Ant's size, in
seconds on the clock and in CPU seconds, which a busy machine does not stretch.

    python benchmarks/estimators.py --json docs/results/estimators.json \\
        --figure docs/figures/estimators.png
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from spacil import paper
from spacil.demos.file import load_demos
from spacil.functional.sensitivity import StepRule, random_offset
from spacil.nets.mlp import MLP
from spacil.nets.policy import GaussianPolicy
from spacil.policies.open import load_policy
from spacil.seeding import stream
from spacil.smoothness.bounds import ascend_in_ball
from spacil.smoothness.metric import local_lipschitz

ASSETS = Path(__file__).parent.parent / "src" / "spacil" / "data" / "assets"
RULES: tuple[StepRule, ...] = ("raw", "normalized", "power")
NUM_STEPS = (1, 5, 10, 20)
RADIUS = paper.PENALTY_RADIUS
TASKS = ("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Reacher-v4")
ANT_SIZES = (111, 400, 300, 8)


@dataclass(frozen=True)
class Measurement:
    """One rule with one number of steps on one policy."""

    task: str
    rule: StepRule
    num_steps: int
    fraction_of_exact: float
    """mean ratio over states / mean exact constant"""
    worst_fraction: float
    """of the state where it finds least"""
    time_ratio: float
    """time / time of exact, median of the repeats"""
    exact_j: float
    num_states: int
    seed: int


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(task: str, num_states: int, repeats: int, seed: int) -> list[Measurement]:
    """Every rule and number of steps, all from the same random points of the sphere."""
    policy = load_policy(ASSETS / f"{task}.policy.safetensors").policy
    states = _demonstrated_states(policy, task, num_states, seed)
    exact = local_lipschitz(policy.mean_of_normalized, states)
    rows = []
    offset = random_offset(states, RADIUS, "sphere", stream(seed, "ball"), policy.normalizer.mask)
    for rule in RULES:
        for num_steps in NUM_STEPS:

            def ascend(rule: StepRule = rule, num_steps: int = num_steps) -> Tensor:
                return ascend_in_ball(
                    policy.mean_of_normalized, states, offset, RADIUS, num_steps, rule
                ).ratio

            ratio = ascend()
            times = [
                seconds(ascend)
                / seconds(lambda: local_lipschitz(policy.mean_of_normalized, states))
                for _ in range(repeats)
            ]
            rows.append(
                Measurement(
                    task=task,
                    rule=rule,
                    num_steps=num_steps,
                    fraction_of_exact=float(ratio.mean() / exact.mean()),
                    worst_fraction=float((ratio / exact).min()),
                    time_ratio=statistics.median(times),
                    exact_j=float(exact.mean()),
                    num_states=len(states),
                    seed=seed,
                )
            )
    return rows


def _demonstrated_states(policy: GaussianPolicy, task: str, num_states: int, seed: int) -> Tensor:
    states = load_demos(task).states
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:num_states]
    return policy.normalize(states[rows])


@dataclass(frozen=True)
class AntTime:
    """Exact J of a network of Ant's size, the fastest of the repeats."""

    num_states: int
    threads: int
    seconds: float
    cpu_seconds: float


def time_ant_states(num_states: int, threads: int, repeats: int) -> AntTime:
    torch.set_num_threads(threads)
    net = MLP(ANT_SIZES, generator=torch.Generator().manual_seed(0)).requires_grad_(False)
    states = torch.randn(num_states, ANT_SIZES[0], generator=torch.Generator().manual_seed(1))
    clock, cpu = [], []
    for _ in range(repeats):
        began = time.process_time()
        clock.append(seconds(lambda: local_lipschitz(net, states)))
        cpu.append(time.process_time() - began)
    return AntTime(num_states, threads, min(clock), min(cpu))


def draw(rows: list[Measurement], path: Path) -> None:
    """Left: how much is found; right: at what price."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    tasks = list(dict.fromkeys(row.task for row in rows))
    figure, axes = plt.subplots(len(tasks), 2, figsize=(10, 3.4 * len(tasks)), squeeze=False)
    for (left, right), task in zip(axes, tasks, strict=True):
        for rule, colour in zip(RULES, ("#c8553d", "#d9a441", "#1f6f8b"), strict=True):
            line = [row for row in rows if (row.task, row.rule) == (task, rule)]
            steps = [row.num_steps for row in line]
            look = {"color": colour, "marker": "o", "label": f"{rule} step"}
            left.plot(steps, [row.fraction_of_exact for row in line], **look)
            right.plot(steps, [row.time_ratio for row in line], **look)
        for axis, noun in ((left, "J found / exact J"), (right, "time / time of exact")):
            axis.axhline(1, color="#444", linewidth=0.8, linestyle=":")
            axis.set_ylim(bottom=0)
            axis.set_xticks(NUM_STEPS)
            axis.set_xlabel("ascent steps")
            axis.set_ylabel(noun)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.2)
        left.set_title(f"{task}, exact J {line[0].exact_j:.2f} (own frame)")
        right.legend(frameon=False, fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ascent against the exact J, value and time.")
    parser.add_argument("--tasks", nargs="*", choices=TASKS, default=list(TASKS))
    parser.add_argument("--states", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="of the matrix products")
    parser.add_argument("--json", type=Path, help="write every measurement to this file")
    parser.add_argument("--figure", type=Path, help="draw into this file")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = []
    print(f"{'task':12} {'rule':10} {'steps':>5} {'of exact':>8} {'worst':>6} {'time':>6}")
    for task in arguments.tasks:
        for row in measure(task, arguments.states, arguments.repeats, arguments.seed):
            rows.append(row)
            print(
                f"{row.task:12} {row.rule:10} {row.num_steps:5d} "
                f"{row.fraction_of_exact:8.3f} {row.worst_fraction:6.3f} {row.time_ratio:6.2f}",
                flush=True,
            )
    ant = [time_ant_states(10_000, threads, arguments.repeats) for threads in (1, 2)]
    for took in ant:
        print(
            f"exact J of {took.num_states} states of Ant's size, {took.threads} threads: "
            f"{took.seconds:.2f} s, {took.cpu_seconds:.2f} CPU s"
        )
    if arguments.json:
        document = {
            "threads": arguments.threads,
            "repeats": arguments.repeats,
            "radius": RADIUS,
            "raw_step_size": paper.PENALTY_STEP_SIZE,
            "rows": [asdict(row) for row in rows],
            "ant": [asdict(took) for took in ant],
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if arguments.figure:
        draw(rows, arguments.figure)


if __name__ == "__main__":
    main()
