"""Training time to a smooth expert: the wanted return at the wanted J, evaluation aside.

SPaCIL's default from the whole bundled demonstrations of each task, until an evaluation returns a
share of 0.95 of the demonstrator's with J at most 0.4 of GAIL's (the mean of `gail-like` in
docs/results/recipe.json). Seconds are those of the clones, the warm start and the iterations;
evaluations take turns with them but are not counted. Processor seconds stand beside them: they say
more where the machine is busy.

    python benchmarks/time_to_smooth.py --tasks Hopper-v4 Reacher-v4 --seeds 0 1 2
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import spacil
from measuring import RESULTS, record
from spacil.measuring.played import share_of_return

RETURN_SHARE, J_SHARE = 0.95, 0.4
TASKS = ("Reacher-v4", "Hopper-v4", "HalfCheetah-v4", "Walker2d-v4")
"""Ant takes longer than a benchmark may: it is asked for by name."""


def of_gail(task: str) -> tuple[float, float]:
    """GAIL's J, and the return of random actions."""
    tier = json.loads(RESULTS.with_name("recipe.json").read_text())["tier_1"]
    found = [
        run["last"]["smoothness_j"]
        for run in tier["runs"]
        if (run["task"], run["data"], run["setting"]) == (task, "whole", "gail-like")
    ]
    return statistics.mean(found), tier["random_returns"][task]


def measure(task: str, seed: int, most_iterations: int) -> dict[str, Any]:
    demonstrations = spacil.load_demos(task)
    assert demonstrations.returns is not None
    gail_j, at_random = of_gail(task)
    reference = float(demonstrations.returns.mean())
    began, worked, aside = time.perf_counter(), time.process_time(), 0.0
    agent = spacil.SPaCIL(task, demonstrations, seed=seed)
    found: dict[str, Any] = {}

    def stop_when_smooth(agent: Any, metrics: dict[str, Any]) -> bool:
        nonlocal aside
        aside += metrics.get("seconds_evaluation", 0.0)
        found.setdefault("seconds_warm_start", metrics.get("seconds_warm_start", 0.0))
        found.update(
            iterations=metrics["iteration"],
            seconds=time.perf_counter() - began - aside,
            processor_seconds=time.process_time() - worked,
        )
        if "average_return" not in metrics:
            return True
        share = share_of_return(metrics["average_return"], at_random, reference) or 0.0
        found.update(average_return=metrics["average_return"], j=metrics["smoothness_j_common"])
        is_smooth = metrics["smoothness_j_common"] <= J_SHARE * gail_j
        found["is_reached"] = share >= RETURN_SHARE and is_smooth
        return not found["is_reached"]

    agent.learn(most_iterations, callback=stop_when_smooth)
    agent.close()
    return {"task": task, "seed": seed, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--most-iterations", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for task in arguments.tasks:
        for seed in arguments.seeds:
            rows.append(measure(task, seed, arguments.most_iterations))
            print({k: round(v, 2) if isinstance(v, float) else v for k, v in rows[-1].items()})
        own = [row for row in rows if row["task"] == task]
        taken = [row["seconds"] if row["is_reached"] else float("inf") for row in own]
        print(f"{task}: median {statistics.median(taken):.0f} s", flush=True)
    record("time_to_smooth", rows, arguments.json)


if __name__ == "__main__":
    main()
