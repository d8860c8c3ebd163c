"""How smooth the learned cost is without, with the cost, and with both penalties, beside J.

No runs of its own: the corners of lambda_grid.toml in both units, and those of the rule's ablation
on whole demonstrations (recipe.toml).
"""

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lambda_grid
import recipe
import spacil
from pages import Document, Page, Panel, Series, Table, main
from rows import Place, Record, number, numbers_of, plan_named, runs_of
from spacil.sweeps.plan import PlannedRun

CORNERS = {
    ("printed", "(0, 0)"): "GAIL",
    ("printed", "(0, 1)"): "cost only",
    ("printed", "(0.001, 1)"): "both",
    ("lipschitz", "(0, 0)"): "GAIL",
    ("lipschitz", "(0, 1)"): "cost only",
    ("lipschitz", "(0.03, 1)"): "both",
    ("ablation-whole", "neither"): "GAIL",
    ("ablation-whole", "cost only"): "cost only",
    ("ablation-whole", "both"): "both",
}
CONSTANTS = {
    "in_state": "of c in s",
    "in_action": "of c in a",
    "response": "of c(s, mu(s~)) in s~",
    "in_state_common": "of c in s, common frame",
    "response_common": "of c(s, mu(s~)) in s~, common frame",
}
EPISODES = 20
TEXT = (
    "Local Lipschitz constants of the learned cost c = log D at the states that the last "
    "policy visits, mean over states, then mean ± standard deviation over seeds. `GAIL` is "
    "both weights 0; in printed units `cost only` is (0, 1), `both` (0.001, 1), in "
    "Lipschitz units (0, 1) and (0.03, 1); `rule` is the default with its anchor, whose "
    "cost penalty is r1. G and J are of the last policy, fresh episodes."
)


def corner(run: PlannedRun) -> Place | None:
    """Units and penalties of a run; None for a run that is no corner."""
    if run.task != "Hopper-v4" or run.algorithm != "spacil":
        return None
    is_grid = "penalty" in dict(run.choices)
    for place in (lambda_grid if is_grid else recipe).places(run):
        if place in CORNERS:
            return place[0].replace("ablation-whole", "rule"), CORNERS[place]
    return None


def measured(record: Record) -> dict[str, float | None]:
    """Mean constants of the run's last cost, at the states of its policy, beside G and J."""
    cost = spacil.measure_smoothness(record.path, which="last", episodes=EPISODES).cost
    found = {name: (cost or {}).get(name) for name in CONSTANTS}
    means = {name: constant and constant.mean for name, constant in found.items()}
    return numbers_of(record, "last") | means


def collect(sources: Sequence[Path]) -> Document:
    (sweep,) = sources
    plan = [run for name in ("lambda_grid", "recipe") for run in plan_named(name) if corner(run)]
    runs = runs_of(plan, sweep)
    by_place: dict[tuple[str, Place], list[dict[str, Any]]] = {}
    for run, record in runs.records:
        place = corner(run)
        assert place is not None
        by_place.setdefault((run.task, place), []).append(measured(record))
    rows = []
    for (task, (units, setting)), numbers in by_place.items():
        summaries = {}
        for name in ("G", "J", *CONSTANTS):
            values = [one[name] for one in numbers]
            summaries[name] = None if None in values else summary_of(values)
        rows.append({"task": task, "group": units, "setting": setting, **summaries})
    dots = {f"{units}: {name}": numbers for (_, (units, name)), numbers in by_place.items()}
    return runs.document(
        constants=rows,
        panels=[asdict(panel_of(dots, name)) for name in ("in_state_common", "in_action")],
    )


def summary_of(values: list[float]) -> dict[str, float | None]:
    std = statistics.stdev(values) if values[1:] else None
    return {"num_seeds": len(values), "mean": statistics.mean(values), "std": std}


def panel_of(dots: dict[str, list[dict[str, Any]]], name: str) -> Panel:
    """The cost's constant against the policy's J, a dot per run."""
    series = [
        Series(label, [one["J"] for one in rows], [one[name] for one in rows], is_joined=False)
        for label, rows in dots.items()
    ]
    return Panel("", "J of the policy, common frame", f"constant {CONSTANTS[name]}", series)


def page_of(document: Document) -> Page:
    rows = []
    for row in document["constants"]:
        found = [row[name] for name in ("G", "J", *CONSTANTS)]
        cells = ["-" if x is None else f"{number(x['mean'])} ± {number(x['std'])}" for x in found]
        seeds = str(row["J"]["num_seeds"])
        rows.append([row["task"], f"{row['group']}: {row['setting']}", seeds, *cells])
    header = ["task", "units: penalties", "seeds", "G", "J of the policy", *CONSTANTS.values()]
    tables = [Table("Constants of the learned cost", header, rows)]
    return Page("Smoothness of the learned cost", TEXT, tables, document["panels"])


if __name__ == "__main__":
    main("cost-smoothness", page_of, collect)
