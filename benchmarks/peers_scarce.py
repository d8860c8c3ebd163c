"""Peers on scarce demonstrations: imitation's GAIL, AIRL and BC, measured exactly as ours are.

Each run learns from the bundled demonstrations with every 20th step kept, from step `seed` on. The
peer trains in a virtual environment of its own (peer_imitators.py says with which settings) until
its env steps or its seconds are done; its mean action comes back as plain arrays, is checked
against what the peer itself did, and plays 50 fresh episodes here: return, J in the common frame,
J effective, action change. `bc-longer` is its BC with as many gradient steps on the thinned pairs
as the published epochs take on the whole ones; `spacil-bc` is ours, by its defaults.

    python benchmarks/peers_scarce.py --algorithms gail airl --seconds 540 --workers 12 --out peers
    python benchmarks/peers_scarce.py --algorithms bc bc-longer spacil-bc --out peers

One JSON line per run goes to OUT/rows.jsonl, one policy to OUT/policies; a run that is already
among the rows is left out.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import spacil
from own_environment import python_with
from spacil.demos.common_frame import bundled_frame
from spacil.demos.demonstrations import Demonstrations
from spacil.measuring.evaluate import evaluate_afresh
from spacil.nets.policy import GaussianPolicy

HERE = Path(__file__).parent
OURS = "spacil-bc"
ALGORITHMS = ("gail", "airl", "bc", "bc-longer", OURS)
EVERY = 20
NUM_EPISODES, EVALUATION_SEED = 50, 1_000
PUBLISHED_STEPS = 10_000_000
UNITS = 1024.0
"""Standard deviations per unit of the copied normaliser. Ours clips at 10 units, the peer's
nowhere: so far out there is no state. A power of two, so that nothing is rounded."""
TOLERANCE = 1e-4
"""Of actions between the peer and its copy."""
REPORTED = (
    "average_return",
    "return_std",
    "mean_length",
    "smoothness_j_common",
    "smoothness_j_effective",
    "action_fluctuation",
)


@dataclass(frozen=True)
class Job:
    """One run."""

    algorithm: str
    task: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.algorithm}-{self.task}-{self.seed}"


@dataclass(frozen=True)
class Limits:
    """When a run of the peer ends, whichever comes first."""

    steps: int
    seconds: float


def scarce_demonstrations(job: Job) -> Demonstrations:
    return spacil.load_demos(job.task).subsample(EVERY, job.seed % EVERY)


def export_pairs(demonstrations: Demonstrations, path: Path) -> None:
    """As peer_imitators.py reads them: what was done where, actions as executed, what followed."""
    batch = demonstrations.expert_batch("executed")
    np.savez(
        path,
        states=batch.states.double().numpy(),
        actions=batch.actions.numpy(),
        next_states=batch.next_states.double().numpy(),
        terminated=batch.terminated.numpy(),
    )


def policy_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> GaussianPolicy:
    """The peer's mean action as one of our policies, which everything here can measure."""
    num_layers = sum(name.startswith("weight_") for name in arrays)
    tensors = {name: _tensor(a) for name, a in arrays.items() if name != "activation"}
    weights = [tensors[f"weight_{i}"] for i in range(num_layers)]
    hidden = [len(weight) for weight in weights[:-1]]
    bounds = arrays["action_low"], arrays["action_high"]
    policy = GaussianPolicy(weights[0].shape[1], *bounds, hidden)
    policy.mean_net.activation = "relu" if str(arrays["activation"]) == "relu" else "tanh"
    with torch.no_grad():
        layers = policy.mean_net.weights_and_biases
        for i, (weight, bias) in enumerate(layers):
            weight.copy_(weights[i])
            bias.copy_(tensors[f"bias_{i}"])
        layers[0][0].mul_(UNITS)
        policy.log_std.copy_(tensors["log_std"])
        normalizer = policy.normalizer
        normalizer.mean.copy_(tensors["shift"])
        normalizer.squared_deviations.copy_((UNITS / tensors["scale"].double()).square())
        normalizer.count.fill_(1)
        normalizer.is_live.fill_(True)
        normalizer.refresh()
    return policy.requires_grad_(False)


def load_peer_policy(path: Path) -> GaussianPolicy:
    """A copy that acts as the peer did where the peer was asked."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file}
    states, theirs = _tensor(arrays.pop("probe_states")), _tensor(arrays.pop("probe_actions"))
    policy = policy_from_arrays(arrays)
    difference = float((policy.clip(policy.mean(states)) - theirs).abs().max())
    if not difference < TOLERANCE:
        raise RuntimeError(f"{path.name}: the copy's actions differ by {difference:.2g}")
    return policy


def train_peer(job: Job, limits: Limits, peer_python: Path, out: Path) -> dict[str, Any]:
    """What the peer reports; its policy is in OUT/policies."""
    demos, policy = out / "demos" / f"{job.name}.npz", policy_file(out, job)
    export_pairs(scarce_demonstrations(job), demos)
    command: list[Any] = [peer_python, HERE / "peer_imitators.py", "--algorithm", job.algorithm]
    command += ["--task", job.task, "--seed", job.seed, "--demos", demos, "--policy", policy]
    command += ["--steps", limits.steps, "--seconds", limits.seconds]
    with (out / "logs" / f"{job.name}.txt").open("w") as log:
        done = subprocess.run(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=log, text=True, check=True
        )
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def policy_file(out: Path, job: Job) -> Path:
    return out / "policies" / f"{job.name}.npz"


def clone_by_ours(job: Job) -> GaussianPolicy:
    demos = scarce_demonstrations(job)
    agent = spacil.BC(job.task, demos, seed=job.seed, torch_threads=1, simulation_threads=1)
    policy = agent.learn().policy
    agent.close()
    return policy


def run(job: Job, limits: Limits, peer_python: Path | None, out: Path) -> dict[str, Any]:
    """Train, then measure; one row."""
    torch.set_num_threads(1)
    report: dict[str, Any] = {}
    if job.algorithm == OURS:
        policy = clone_by_ours(job)
    else:
        assert peer_python is not None
        report = train_peer(job, limits, peer_python, out)
        policy = load_peer_policy(policy_file(out, job))
    frame = bundled_frame(job.task)
    evaluation = asdict(evaluate_afresh(policy, job.task, NUM_EPISODES, EVALUATION_SEED, 1, frame))
    measured = {name: evaluation[name] for name in REPORTED}
    pairs = scarce_demonstrations(job).num_steps
    return {**asdict(job), "pairs": pairs, "episodes": NUM_EPISODES, **measured, **report}


def jobs_to_do(arguments: argparse.Namespace, rows_file: Path) -> list[Job]:
    lines = rows_file.read_text().splitlines() if rows_file.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {Job(row["algorithm"], row["task"], row["seed"]) for row in rows}
    wanted = itertools.product(arguments.algorithms, arguments.tasks, arguments.seeds)
    return [job for job in itertools.starmap(Job, wanted) if job not in done]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=["gail", "airl"])
    parser.add_argument("--tasks", nargs="+", default=["Hopper-v4", "HalfCheetah-v4"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=PUBLISHED_STEPS, help="env steps at most")
    parser.add_argument("--seconds", type=float, default=86_400, help="of training at most")
    parser.add_argument("--workers", type=int, default=1, help="runs beside each other")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peer-python", type=Path, help="an interpreter that has imitation")
    parser.add_argument("--python", default="python3.11", help="makes the peer's environment")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the runs: a core each
    for name in ("demos", "policies", "logs"):
        (arguments.out / name).mkdir(parents=True, exist_ok=True)
    rows_file = arguments.out / "rows.jsonl"
    jobs = jobs_to_do(arguments, rows_file)
    peer_python = arguments.peer_python
    if peer_python is None and any(job.algorithm != OURS for job in jobs):
        peer_python = python_with(HERE / "peer_requirements.txt", "venv", arguments.python)
    limits, failed = Limits(arguments.steps, arguments.seconds), []
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as pool:
        running = {pool.submit(run, job, limits, peer_python, arguments.out): job for job in jobs}
        for future in as_completed(running):
            if (error := future.exception()) is not None:
                failed.append(running[future].name)
                print(f"{failed[-1]}: {error}", flush=True)
                continue
            row = future.result()
            print({k: v for k, v in row.items() if k != "curve"}, flush=True)
            with rows_file.open("a") as rows:
                rows.write(json.dumps(row) + "\n")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; see OUT/logs")


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(array).float()


if __name__ == "__main__":
    main()
