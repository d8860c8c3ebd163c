"""Learning and evaluation curves of returns.toml (fig:training_curves, fig:eval_curves).

Training returns are those of the noisy policy in the batches; evaluations those of its mean action.
Where evaluations or batches have no episode that ended, a run has no point.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pages import Document, Page, Panel, Series, Table, main
from returns import places
from rows import TASKS, Record, mean, plan_named, runs_of
from spacil.runs import metrics_log

Curve = dict[int, float]
"""Iteration -> value"""

BIN = 10
"""Iterations that a point of the learning curve is the mean of: batches hold few whole episodes"""
LATE = 0.5
"""The second half of a run, in which the variability of a curve is measured"""
KINDS = {
    "learning": "return of training batches",
    "evaluation": "return of mean actions",
    "smoothness": "J, common frame (lower is smoother)",
}
TEXT = (
    "Return of the training batches (noisy actions, means over "
    f"{BIN} iterations), return and J of mean actions during training: mean over seeds, "
    "shaded from the lowest to the highest seed. Variability: mean absolute change from "
    "one point to the next in the second half of a run, mean over seeds. Of runs of "
    "recipe.json (spacil and gail-like, where they were not run here) batches were not kept."
)


def collect(sources: Sequence[Path]) -> Document:
    (sweep,) = sources
    runs = runs_of([run for run in plan_named("returns") if run.algorithm != "bc"], sweep)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for run, record in runs.records:
        curves = {kind: sorted(curve.items()) for kind, curve in curves_of(record).items()}
        found.setdefault((run.task, places(run)[0][1]), {})[str(run.seed)] = curves
    rows = [{"task": task, "setting": s, "seeds": seeds} for (task, s), seeds in found.items()]
    return runs.document(curves=rows)


def curves_of(record: Record) -> dict[str, Curve]:
    rows = metrics_log.read(record.path / "metrics.jsonl")
    points = [point for point in record.curve if point["iteration"] > 0]
    learning = {r["iteration"]: v for r in rows if (v := r.get("train_return")) is not None}
    known = [point for point in points if not math.isnan(point["smoothness_j"])]
    smoothness = {point["iteration"]: point["smoothness_j"] for point in known}
    evaluation = {point["iteration"]: point["average_return"] for point in points}
    return {"learning": binned(learning), "evaluation": evaluation, "smoothness": smoothness}


def binned(curve: Curve, width: int = BIN) -> Curve:
    """Means over iterations 1 to `width`, the next `width`, ...; at the end of each bin or run."""
    bins: dict[int, list[float]] = {}
    last = max(curve, default=0)
    for iteration, value in curve.items():
        if iteration > 0:
            end = min(-(-iteration // width) * width, last)
            bins.setdefault(end, []).append(value)
    return {end: sum(values) / len(values) for end, values in sorted(bins.items())}


def band(label: str, curves: Sequence[Curve]) -> Series | None:
    """Mean over seeds where all have a point, shaded from the lowest to the highest seed."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []
    columns = [[curve[i] for curve in curves] for i in shared]
    means = [sum(column) / len(column) for column in columns]
    lows, highs = list(map(min, columns)), list(map(max, columns))
    return Series(label, shared, means, lows, highs) if shared else None


def variability(curve: Mapping[int, float]) -> float | None:
    """Mean |change| from one point to the next in the second half of a curve; None if too short."""
    points = sorted(curve.items())
    late = [value for i, value in points if i >= LATE * points[-1][0]] if points else []
    changes = [abs(b - a) for a, b in itertools.pairwise(late)]
    return sum(changes) / len(changes) if changes else None


def page_of(document: Document) -> Page:
    cells, by_kind = [], {}
    for row in document["curves"]:
        task, setting, seeds = row["task"], row["setting"], row["seeds"].values()
        for kind in KINDS:
            by_kind[task, setting, kind] = [dict(curves.get(kind, ())) for curves in seeds]
        moved = [
            [v for curve in by_kind[task, setting, kind] if (v := variability(curve)) is not None]
            for kind in ("learning", "evaluation")
        ]
        cells.append([task, setting, str(len(seeds)), *map(mean, moved)])
    tasks = [task for task in TASKS if any(row["task"] == task for row in document["curves"])]
    panels = []
    for kind, task in itertools.product(KINDS, tasks):
        bands = [band(s, found) for (t, s, k), found in by_kind.items() if (t, k) == (task, kind)]
        known = document["demonstrators"].get(task, {}).get("average_return")
        reference = None if kind == "smoothness" else known
        series = [one for one in bands if one is not None]
        panels.append(Panel(task, "iteration", KINDS[kind], series, reference))
    header = ["task", "setting", "seeds", "learning curve", "evaluation curve"]
    tables = [Table("How much curves move in the second half of a run", header, cells)]
    return Page("Learning and evaluation curves", TEXT, tables, panels, len(tasks))


if __name__ == "__main__":
    main("curves", page_of, collect)
