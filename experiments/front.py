"""Return against smoothness: each penalty in one run whose callback doubles its weight.

    python experiments/front.py runs/front

For 40 iterations all methods of a seed are GAIL, then the weight doubles every 40 iterations, and
the mean policy is evaluated at the end of each stage. The next stage begins from the policy of the
last, so a weight that is chosen here has to be confirmed in a run of its own. The page is
front-schedules.md; docs/results/front.md holds the runs of version 0.2, which had more methods.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import spacil
from pages import Document, Page, Panel, Series, Table, main
from rows import number
from spacil import storage
from spacil.cli.output import identity

TASKS, SEEDS = ("Hopper-v4", "HalfCheetah-v4"), (0, 1, 2)
STAGE, NUM_STAGES = 40, 8
KEPT = 0.97
"""Share of GAIL's return that the smoothest policy has to keep"""
ACTION_RATE = "action-rate reward"
METHODS = {
    "exact": {"exact": 0.01},
    "frobenius": {"frobenius": 0.005},
    "lcp": {"lcp": 0.0005},
    "cats": {"cats": 0.1},
    "caps": {"caps": 0.1},
    "exact + temporal": {"exact": 0.01, "cats": 0.1},
    ACTION_RATE: {ACTION_RATE: 0.01},
}
"""Method -> its weights in the first stage; the last stage has 128 times as much"""
TEXT = (
    f"Weights double every {STAGE} iterations, from GAIL (gail-like) at the end of the first "
    f"{STAGE}. J and action change are ratios to GAIL's of the same seed; smoothest: the stage of "
    f"the lowest J, in the mean over seeds, with at least {100 * KEPT:.0f} % of GAIL's return. "
    f"`{ACTION_RATE}` pays the policy less for the squared change of the executed action."
)


def train(task: str, method: str, seed: int, run_dir: Path) -> dict[str, Any]:
    """One schedule, and the evaluation at the end of each stage."""
    first, is_reward = METHODS[method], method == ACTION_RATE
    agent = spacil.SPaCIL(
        task,
        preset="gail-like",
        seed=seed,
        penalty=[] if is_reward else [f"{name}=0" for name in first],
        evaluation_interval=STAGE,
        evaluation_steps=50_000,
    )
    policies, cost_of_change = [], [0.0]
    if is_reward:
        agent.reward_terms.append(lambda batch: cost_of_change[0] * rate_of(agent.policy)(batch))

    def double(agent: Any, metrics: dict[str, Any]) -> None:
        iteration = metrics["iteration"]
        if iteration % STAGE == 0:
            stage = iteration // STAGE - 1
            numbers = {"G": "average_return", "J": "smoothness_j"}
            numbers["action_change"] = "action_fluctuation"
            row = {name: metrics.get(key) for name, key in numbers.items()}
            policies.append(row | {"factor": 2.0 ** (stage - 1) if stage else 0.0})
            for name, weight in first.items():
                if is_reward:
                    cost_of_change[0] = weight * 2.0**stage
                else:
                    agent.penalty_weights[name] = weight * 2.0**stage

    agent.learn(iterations=(1 + NUM_STAGES) * STAGE, callback=double, run_dir=run_dir)
    agent.close()
    return {"task": task, "setting": method, "seed": seed, "policies": policies}


def rate_of(policy: Any) -> Callable[[Any], torch.Tensor]:
    """-|a_t - a_{t-1}|^2 of the executed actions; 0 at the first step of an episode."""

    def rewards(batch: Any) -> torch.Tensor:
        changes = policy.clip(batch.actions).diff(dim=0).square().sum(-1)
        changes = changes.masked_fill((batch.terminated | batch.truncated)[:-1], 0.0)
        return -torch.cat([torch.zeros_like(changes[:1]), changes])

    return rewards


def collect(sources: Sequence[Path]) -> Document:
    """Train what has no rows in the folder yet: a schedule that was cut short begins again."""
    (folder,) = sources
    rows = []
    for task in TASKS:
        for method in METHODS:
            for seed in SEEDS:
                path = folder / task / method.replace(" ", "-") / f"seed{seed}"
                if not (path / "stages.json").is_file():
                    row = train(task, method, seed, path / "run")
                    storage.write_json(path / "stages.json", row | identity())
                rows.append(storage.read_json(path / "stages.json"))
    commits = sorted({row["spacil_version"] for row in rows})
    return {"runs": rows, "num_runs": len(rows), "commits": commits, "problems": []}


def page_of(document: Document) -> Page:
    stages = stages_of(document["runs"])
    rows, panels = [], []
    for task in dict.fromkeys(task for task, _ in stages):
        series = []
        for (of_task, method), points in stages.items():
            if of_task != task:
                continue
            kept = [p for p in points if p["G"] >= KEPT and p["factor"] > 0]
            best = min(kept, key=lambda p: p["J"], default=None)
            cells = ["-"] * 4
            if best is not None:
                words = [f"{best[name]:.2f}" for name in ("J", "action_change")]
                cells = [number(best["factor"]), *words, f"{100 * best['G']:.1f} %"]
            rows.append([task, method, *cells])
            series.append(Series(method, [p["J"] for p in points], [p["G"] for p in points]))
        panels.append(Panel(task, "J / GAIL's", "return / GAIL's", series, 1.0, least_y=0.7))
    header = ["task", "method", "weight / first weight", "J", "action change", "return"]
    tables = [Table(f"The smoothest that keep {100 * KEPT:.0f} % of the return", header, rows)]
    return Page("Return against smoothness, by schedules of weights", TEXT, tables, panels)


def stages_of(runs: Sequence[Document]) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Task and method -> means over seeds at each stage, relative to the first, which is GAIL."""
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for task, method in dict.fromkeys((run["task"], run["setting"]) for run in runs):
        members = [run for run in runs if (run["task"], run["setting"]) == (task, method)]
        for stage in zip(*(run["policies"] for run in members), strict=True):
            mean = {"factor": stage[0]["factor"]}
            for name in ("G", "J", "action_change"):
                ratios = [
                    point[name] / run["policies"][0][name]
                    for point, run in zip(stage, members, strict=True)
                ]
                mean[name] = sum(ratios) / len(ratios)
            found.setdefault((task, method), []).append(mean)
    return found


if __name__ == "__main__":
    main("front-schedules", page_of, collect)
