"""Stable-Baselines3 PPO on Hopper-v5 with and without the attached penalty: return and smoothness.

Every run is one process; its row is in the JSON file as soon as it is measured, and a row that is
there already is not run again. Both arms share their seeds, settings and start weights. Models
and their VecNormalize statistics go to --models, and are not part of the repository.

    python benchmarks/attach_ppo.py --seeds 0 1 2 --weights 0 0.01
    python benchmarks/attach_ppo.py --algorithm sac --seeds 0 --weights 0 --steps 120000

Teachers for benchmarks/smoothing.py come from here too, with --task and a --json of their own.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import spacil
from spacil import storage

TASK = "Hopper-v5"
NUM_STATES = 64
"""States that carry the penalty, per optimizer step: as many as PPO's minibatch has"""
EPISODES, EVALUATION_SEED = 20, 0
NOISE = (0.1, 0.3)


def ppo(task: str, seed: int) -> PPO:
    """PPO as it is usually set for MuJoCo: normalised observations, a step size that falls to 0."""
    env = VecNormalize(make_vec_env(task, n_envs=4, seed=seed), gamma=0.99)
    return PPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left: 3e-4 * left,
        n_steps=512,
        batch_size=NUM_STATES,
        n_epochs=10,
        seed=seed,
        device="cpu",
    )


def sac(task: str, seed: int) -> SAC:
    """SAC with Stable-Baselines3's own settings, and nets of 128 x 128 to be quick on one core."""
    return SAC(
        "MlpPolicy",
        make_vec_env(task, n_envs=1, seed=seed),
        learning_starts=5_000,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
        device="cpu",
    )


def trained(
    algorithm: str, task: str, weight: float, seed: int, num_steps: int
) -> tuple[Any, float]:
    """The model, and the wall seconds that its training took."""
    model = ppo(task, seed) if algorithm == "ppo" else sac(task, seed)
    if weight > 0:
        spacil.attach_to_sb3(model, weight=weight, num_states=NUM_STATES, seed=seed)
    began = time.perf_counter()
    model.learn(num_steps)
    return model, time.perf_counter() - began


def measured(model: Any, task: str) -> dict[str, Any]:
    """Whole episodes with mean actions, the same starts for every model.

    The spread of the bundled demonstrations of v4, whose states are the same, is the unit.
    """
    report = spacil.measure_smoothness(
        model,
        env=task,
        demonstrations=task.replace("-v5", "-v4"),
        episodes=EPISODES,
        seed=EVALUATION_SEED,
        robustness=True,
    )
    assert report.played is not None and report.robustness is not None
    document = report.as_document()
    del document["robustness"]["feature_std_from"]  # a path of this machine
    kept = ("smoothness_j", "smoothness_j_own", "smoothness_j_effective", "average_return")
    more = ("return_std", "mean_length", "action_fluctuation", "action_signal", "robustness")
    return {name: document[name] for name in (*kept, *more)}


def run(options: argparse.Namespace, weight: float, seed: int) -> dict[str, Any]:
    algorithm, task, num_steps = options.algorithm, options.task, options.steps
    model, seconds = trained(algorithm, task, weight, seed, num_steps)
    name = f"{algorithm}-{task}-weight{weight:g}-seed{seed}"
    options.models.mkdir(parents=True, exist_ok=True)
    row = {
        "algorithm": algorithm,
        "task": task,
        "weight": weight,
        "seed": seed,
        "num_steps": num_steps,
        "seconds": round(seconds, 1),
        "model": f"{name}.zip",
        **measured(model, task),
    }
    model.save(options.models / f"{name}.zip")
    if (normalizer := model.get_vec_normalize_env()) is not None:
        normalizer.save(str(options.models / f"{name}.vecnormalize.pkl"))
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: every run, then mean and standard deviation over the seeds of each weight."""
    lines = [
        "| weight | seed | return G | J | action change | noise 0.1 | noise 0.3 | action delay 1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for weight in sorted({row["weight"] for row in rows}):
        columns = []
        for row in (row for row in rows if row["weight"] == weight):
            noise = {at["level"]: at for at in row["robustness"]["observation_noise"]}
            disturbed = [*(noise[level] for level in NOISE), row["robustness"]["action_delay"][0]]
            shown = (
                f"{row['average_return']:.0f} ± {row['return_std']:.0f}",
                f"{row['smoothness_j']:.2f}",
                f"{row['action_fluctuation']:.3f}",
                *(f"{at['average_return']:.0f}" for at in disturbed),
            )
            lines.append(f"| {weight:g} | {row['seed']} | {' | '.join(shown)} |")
            numbers = [row[key] for key in ("average_return", "smoothness_j", "action_fluctuation")]
            columns.append([*numbers, *(at["average_return"] for at in disturbed)])
        mean, std = np.mean(columns, axis=0), np.std(columns, axis=0, ddof=len(columns) > 1)
        digits = (0, 2, 3, 0, 0, 0)
        cells = (f"{m:.{d}f} ± {s:.{d}f}" for m, s, d in zip(mean, std, digits, strict=True))
        lines.append(f"| **{weight:g}** | **all** | {' | '.join(cells)} |")
    return "\n".join(lines)


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in ("algorithm", "task", "weight", "seed", "num_steps"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithm", choices=("ppo", "sac"), default="ppo")
    parser.add_argument("--task", default=TASK)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--weights", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--models", type=Path, default=Path("attach_models"))
    parser.add_argument("--json", type=Path, default=Path("docs/results/attach.json"))
    parser.add_argument("--table", action="store_true", help="show what is there, train nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)  # nets and batches this small do not pay for a second one
    rows = json.loads(options.json.read_text())["runs"] if options.json.exists() else []
    if options.table:
        print(table([row for row in rows if row["algorithm"] == options.algorithm]))
        return
    versions = {
        "spacil": spacil.__version__,
        "stable_baselines3": stable_baselines3.__version__,
        "gymnasium": gymnasium.__version__,
        "torch": torch.__version__,
    }
    for seed in options.seeds:
        for weight in options.weights:
            wanted = (options.algorithm, options.task, weight, seed, options.steps)
            if wanted in map(identity, rows):
                continue
            rows.append(run(options, weight, seed))
            text = json.dumps({"versions": versions, "runs": rows}, indent=1)
            storage.replace_file(options.json, f"{text}\n".encode())
            shown = ("average_return", "return_std", "smoothness_j", "action_fluctuation")
            print(*identity(rows[-1]), {key: round(rows[-1][key], 3) for key in shown}, flush=True)


if __name__ == "__main__":
    main()
