"""Training time to a smooth expert: the wanted return at the wanted J, evaluation aside.

SPaCIL on Hopper-v4 from the six bundled demonstrations, until an evaluation of 20 episodes returns
95 % of the demonstrator's with J at most 0.6 of GAIL's (common frame; docs/results/imitation.md).
Seconds are those of the warm start, if the preset has one, and of the iterations; evaluations take
turns with them but are not counted.

    python benchmarks/time_to_smooth.py --preset fast --seeds 0 1 2 3 4
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import spacil
from measuring import record

TASK = "Hopper-v4"
RETURN_SHARE = 0.95
GAIL_J = 2.54
J_SHARE = 0.6


def measure(preset: Any, seed: int, most_iterations: int) -> dict[str, Any]:
    demonstrations = spacil.load_demos(TASK)
    assert demonstrations.returns is not None
    wanted = RETURN_SHARE * float(demonstrations.returns.mean())
    agent = spacil.SPaCIL(TASK, demonstrations, seed=seed, preset=preset, evaluation_interval=5)
    began, aside = time.perf_counter(), 0.0
    found: dict[str, Any] = {}

    def stop_when_smooth(agent: Any, metrics: dict[str, Any]) -> bool:
        nonlocal aside
        aside += metrics.get("seconds_evaluation", 0.0)
        found.setdefault("seconds_warm_start", metrics.get("seconds_warm_start", 0.0))
        found.update(iterations=metrics["iteration"], seconds=time.perf_counter() - began - aside)
        if "average_return" not in metrics:
            return True
        found.update(average_return=metrics["average_return"], j=metrics["smoothness_j_common"])
        is_smooth = metrics["smoothness_j_common"] <= J_SHARE * GAIL_J
        found["is_reached"] = metrics["average_return"] >= wanted and is_smooth
        return not found["is_reached"]

    agent.learn(most_iterations, callback=stop_when_smooth)
    agent.close()
    return {"preset": preset, "seed": seed, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="fast", choices=("none", "fast"))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--most-iterations", type=int, default=150)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for seed in arguments.seeds:
        rows.append(measure(arguments.preset, seed, arguments.most_iterations))
        print({k: round(v, 2) if isinstance(v, float) else v for k, v in rows[-1].items()})
    taken = [row["seconds"] if row["is_reached"] else float("inf") for row in rows]
    print(f"median {statistics.median(taken):.0f} s")
    record("time_to_smooth", rows, arguments.json)


if __name__ == "__main__":
    main()
