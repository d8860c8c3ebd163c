"""`spacil smooth` with its default on several teachers: smoothness, return, noise and time.

Every run is the Python form of one command; its row is in the JSON file as soon as it is measured,
and a row that is there already is not run again. The teacher behind filters is played with the
first seed alone: that part of the table does not depend on the student.

    python benchmarks/smoothing.py --tasks Reacher-v4 Hopper-v4 --seeds 0 1 2
    python benchmarks/smoothing.py --tasks Ant-v4 --seeds 0 1 2 --episodes 100
    python benchmarks/smoothing.py --teacher teachers:ppo_seed0 --tasks Hopper-v5 --seeds 0 1 2 \\
        --keep-return 0.98
    python benchmarks/smoothing.py --table
"""

import argparse
import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spacil import storage
from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.learning.dagger import SmoothingLearner
from spacil.learning.learner import Metrics
from spacil.learning.run import train
from spacil.learning.smoothing_comparison import FILTERS, Contender, compare
from spacil.policies.open import open_policy

KEPT_OF_ROUNDS = (
    "iteration", "average_return", "return_share", "imitation_score", "score_threshold",
    "teacher_j_ratio", "teacher_fluctuation_ratio", "weight_exact", "weight_cats", "is_best",
)  # fmt: skip


def run(
    teacher: str, task: str, keep_return: float, seed: int, episodes: int, has_filters: bool
) -> dict[str, Any]:
    """One distillation, and its table on fresh episodes."""
    settings: dict[str, Any] = {"seed": seed, "simulation_threads": 1, "torch_threads": 1}
    if keep_return:
        settings["keep_return"] = keep_return
    config = with_user_settings(default_config("smooth", task), settings)
    rounds: list[Metrics] = []

    def keep(metrics: Metrics) -> bool:
        rounds.append({name: metrics[name] for name in KEPT_OF_ROUNDS})
        return True

    began, began_cpu = time.perf_counter(), time.process_time()
    with contextlib.closing(SmoothingLearner(config, task, open_policy(teacher))) as learner:
        train(learner, keep)
        cpu, wall = time.process_time() - began_cpu, time.perf_counter() - began
        env = make_vector_env(task, episodes, ResetSeeds(seed, "evaluate"), 1, None)
        assert learner.chosen is not None
        table, _ = compare(
            learner.teacher,
            open_policy(learner.policy),
            env,
            learner.profile.frame,
            learner.profile.random_return,
            seed,
            episodes,
            FILTERS if has_filters else {},
        )
        env.close()
    return {
        "teacher_name": teacher,
        "keep_return": keep_return,
        "chosen_round": learner.chosen.iteration,
        "cpu_training": cpu,
        "wall_training": wall,
        "cpu_total": time.process_time() - began_cpu,
        "load": os.getloadavg()[0],
        **figures(table.teacher, table.smooth),
        **table.as_document(),
        "rounds": rounds,
    }


def figures(teacher: Contender, smooth: Contender) -> dict[str, float | None]:
    """What is asked of a smooth policy."""
    assert smooth.smoothness_j is not None and teacher.smoothness_j is not None
    changes = [row.played.action_signal.action_fluctuation for row in (smooth, teacher)]
    assert changes[0] is not None and changes[1] is not None
    return {
        "j_ratio": smooth.smoothness_j / teacher.smoothness_j,
        "change_ratio": changes[0] / changes[1],
        "share": smooth.return_share,
    }


def setting(row: dict[str, Any]) -> tuple[str, str, float]:
    """What the seeds of a mean have in common."""
    return row["teacher_name"], row["task"], row.get("keep_return", 0.0)


def identity(row: dict[str, Any]) -> tuple[str, str, float, int]:
    return *setting(row), row["seed"]


def returns_under_noise(row: dict[str, Any]) -> list[str]:
    """Of teacher and smooth policy, by level, with the standard error over episodes."""
    shown = []
    for level in (0.1, 0.3):
        pair = [
            condition
            for name in ("teacher", "smooth")
            for condition in row[name]["disturbed"]
            if (condition["disturbance"], condition["level"]) == ("noise", level)
        ]
        root = row["num_episodes"] ** 0.5
        shown.append(
            " / ".join(
                f"{found['average_return']:.4g} ± {found['return_std'] / root:.2g}"
                for found in pair
            )
        )
    return shown


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: every run, then mean and standard deviation over the seeds of each teacher."""
    lines = [
        "| teacher | task | seed | J | E\\|da\\| | share | noise 0.1, teacher / smooth "
        "| noise 0.3, teacher / smooth | CPU |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, task, kept in dict.fromkeys(map(setting, rows)):
        group = [row for row in rows if setting(row) == (name, task, kept)]
        name = f"{name} --keep-return {kept:g}" if kept else name
        for row in sorted(group, key=identity):
            cells = (
                f"{row['j_ratio']:.3f}",
                f"{row['change_ratio']:.3f}",
                f"{row['share']:.1%}",
                *returns_under_noise(row),
                f"{row['cpu_training']:.0f} s",
            )
            lines.append(f"| {name} | {task} | {row['seed']} | {' | '.join(cells)} |")
        numbers = np.array(
            [[row[k] for k in ("j_ratio", "change_ratio", "share")] for row in group]
        )
        mean, std = numbers.mean(0), numbers.std(0, ddof=int(len(group) > 1))
        spread = " | ".join(f"{mean[i]:.3f} ± {std[i]:.3f}" for i in range(2))
        share = f"{mean[2]:.1%} ± {std[2]:.1%}"
        lines.append(f"| **{name}** | {task} | all | {spread} | {share} | | | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=[])
    parser.add_argument("--teacher", help="by default the bundled expert of each task")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--keep-return", type=float, default=0.0)
    parser.add_argument("--episodes", type=int, default=20, help="per row of the table")
    parser.add_argument("--filters", action="store_true", help="play filters, with the first seed")
    parser.add_argument("--json", type=Path, default=Path("docs/results/smooth.json"))
    parser.add_argument("--table", action="store_true", help="show what is there, run nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for seed in options.seeds:
        for task in options.tasks:
            wanted = (options.teacher or task, task, options.keep_return, seed)
            known = json.loads(options.json.read_text())["runs"] if options.json.exists() else []
            if wanted in map(identity, known):
                continue
            has_filters = options.filters and seed == options.seeds[0]
            row = run(*wanted, options.episodes, has_filters)
            # Read again: another process may have added its own.
            document = (
                json.loads(options.json.read_text()) if options.json.exists() else {"runs": []}
            )
            document["runs"].append(row)
            text = json.dumps(storage.without_non_finite(document), indent=1)
            storage.replace_file(options.json, f"{text}\n".encode())
            print(
                *wanted,
                *(round(row[k], 3) for k in ("j_ratio", "change_ratio", "share")),
                flush=True,
            )
    if options.table:
        print(table(json.loads(options.json.read_text())["runs"]))


if __name__ == "__main__":
    main()
