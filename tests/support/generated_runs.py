"""Run folders with made-up results: files as training writes them, in milliseconds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacil.comparison.demonstrator import demonstrator_of
from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.runs.facts import DemoInputs, FreshEvaluations, RunInputs, best_and_last, new_facts
from spacil.runs.facts import write_run as write_facts

_OTHER_METRICS = {f"metric_{k}_of_an_iteration": 0.012345678901234567 for k in range(30)}
"""As many numbers as a line of metrics.jsonl has"""


def evaluation(average_return: float, j: float, **changes: Any) -> dict[str, Any]:
    """One row of an evaluation; J differs from frame to frame by round factors."""
    return {
        "average_return": average_return,
        "return_std": 10.0,
        "return_low": average_return - 2,
        "return_high": average_return + 2,
        "num_episodes": 20,
        "mean_length": 900.0,
        "smoothness_j": j,
        "smoothness_j_own": 2 * j,
        "smoothness_j_raw": 10 * j,
        "smoothness_j_common": j,
        "smoothness_j_effective": j / 2,
        "action_fluctuation": j / 4,
    } | changes


def write_run(
    path: Path,
    algorithm: str = "gail",
    task: str = "Hopper-v4",
    seed: int = 0,
    *,
    final_return: float = 3000.0,
    j: float = 1.0,
    iterations: int = 20,
    fresh: tuple[float, float] | None = (2990.0, 1.0),
    frame: str | None = None,
    demonstrations: str = "d" * 64,
    **settings: Any,
) -> Path:
    """A finished run whose return rose from 0 in equal steps, evaluated every second iteration.

    `fresh` is the return and J of its fresh episodes; `frame` the hash of its common frame, by
    default that of the task's bundled demonstrations, and "" for a folder that does not say.
    """
    config = default_config(algorithm, task)
    config = with_user_settings(config, {"seed": seed, "iterations": iterations, **settings})
    (path / "checkpoints").mkdir(parents=True)
    (path / "run.lock").touch()
    rows: list[dict[str, Any]] = []
    for i in range(1, iterations + 1):
        row = {"iteration": i, "env_steps": 100 * i, "seconds_policy": 0.5, **_OTHER_METRICS}
        row["train_return"] = 0.5 * final_return * i / iterations
        if i % 2 == 0:
            row |= evaluation(final_return * i / iterations, j) | {"seconds_evaluation": 1.0}
        rows.append(row)
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    again = None
    if fresh is not None:
        row = evaluation(*fresh, num_episodes=150, iteration=iterations)
        row |= {"smoothness_j_demo_states": 3 * fresh[1], "smoothness_j_ball": 0.9 * fresh[1]}
        row |= {"smoothness_jeffreys": 1e-4, "spectrum_score": 0.5, "random_return": 0.0}
        again = FreshEvaluations(0, 150, row, row | {"average_return": fresh[0] - 100})
    known = demonstrator_of(task)
    if frame is None:
        frame = "f" * 64 if known is None else known.frame_hash
    best, last = best_and_last(rows)
    write_facts(
        replace(
            new_facts(path, config),
            status="finished",
            inputs=RunInputs(task, True, DemoInputs((), content_hash=demonstrations)),
            common_frame={"hash": frame, "source": "made-up demonstrations"} if frame else None,
            best=best,
            last=last,
            fresh=again,
            commit="c" * 40,
        )
    )
    return path
