"""Learning and evaluation curves of the runs of `returns` (fig:training_curves, fig:eval_curves).

Training returns are those of the noisy policy in the batches; evaluations those of its mean action.
Where evaluations or batches have no episode that ended, a run has no point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacil.comparison.comparison_text import number
from spacil.comparison.demonstrator import demonstrator_of
from spacil.comparison.run_record import RunRecord
from spacil.comparison.statistics import summarize, variability
from spacil.experiments.named.experiment import Gathered, NamedExperiment
from spacil.experiments.named.outcome import Outcome, Panel, Series, Table
from spacil.experiments.named.paper.returns import arms, recorded_curves
from spacil.experiments.named.recipe_runs import SOURCE
from spacil.experiments.named.rows import demonstrators_of
from spacil.runs import metrics_log

Curve = dict[int, float]
"""Iteration -> value"""

BIN = 10
"""Iterations that a point of the learning curve is the mean of: batches hold few whole episodes"""

KINDS = {
    "learning": "return of training batches",
    "evaluation": "return of mean actions",
    "smoothness": "J, common frame (lower is smoother)",
}


def curves_of(record: RunRecord) -> dict[str, Curve]:
    """The three curves of a run."""
    rows = metrics_log.read(record.path / "metrics.jsonl")
    return {
        "learning": binned(
            {r["iteration"]: v for r in rows if (v := r.get("train_return")) is not None}
        ),
        "evaluation": {p.iteration: p.average_return for p in record.curve if p.iteration > 0},
        "smoothness": {
            p.iteration: p.smoothness_j
            for p in record.curve
            if p.iteration > 0 and p.smoothness_j is not None
        },
    }


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
    if not shared:
        return None
    columns = [[curve[i] for curve in curves] for i in shared]
    means = [sum(column) / len(column) for column in columns]
    return Series(label, shared, means, [min(c) for c in columns], [max(c) for c in columns])


@dataclass(frozen=True)
class ArmCurves:
    """The curves of one setting on one task."""

    task: str
    label: str
    by_seed: Mapping[int, Mapping[str, Curve]]
    """Seed -> kind -> curve"""

    def of(self, kind: str) -> list[Curve]:
        return [curves.get(kind, {}) for curves in self.by_seed.values()]

    def late_variability(self, kind: str) -> list[float]:
        return [moved for curve in self.of(kind) if (moved := variability(curve)) is not None]

    def document(self) -> dict[str, Any]:
        seeds = {
            str(seed): {kind: sorted(curve.items()) for kind, curve in curves.items()}
            for seed, curves in self.by_seed.items()
        }
        return {"task": self.task, "setting": self.label, "seeds": seeds}


def curves_by_arm(gathered: Gathered) -> list[ArmCurves]:
    """Of the runs, and of those of recipe.json whose settings have no run here."""
    found = [
        ArmCurves(arm.task, arm.label, {r.seed: curves_of(r) for r in arm.records})
        for arm in gathered.arms
        if arm.records and arm.arm.setting.algorithm != "bc"
    ]
    recorded: dict[tuple[str, str], dict[int, Mapping[str, Curve]]] = {}
    for run in recorded_curves(gathered):
        kept = {kind: run[kind] for kind in ("evaluation", "smoothness")}
        recorded.setdefault((run["task"], run["setting"]), {})[run["seed"]] = kept
    return found + [ArmCurves(*place, by_seed) for place, by_seed in recorded.items()]


def analyse(gathered: Gathered) -> Outcome:
    found = curves_by_arm(gathered)
    rows, numbers = [], []
    for arm in found:
        late = {kind: arm.late_variability(kind) for kind in ("learning", "evaluation")}
        numbers.append({"task": arm.task, "setting": arm.label, "late_variability": late})
        means = [summarize(values).mean if values else None for values in late.values()]
        rows.append([arm.task, arm.label, str(len(arm.by_seed)), *map(number, means)])
    return Outcome(
        title="Learning and evaluation curves",
        text=(
            "Return of the training batches (noisy actions, means over "
            f"{BIN} iterations), return and J of mean actions during training: mean over seeds, "
            "shaded from the lowest to the highest seed. Variability: mean absolute change from "
            "one point to the next in the second half of a run, mean over seeds. Of runs of "
            f"{SOURCE} (spacil and gail-like, where they were not run here) batches were not kept."
        ),
        tables=[
            Table(
                "How much curves move in the second half of a run",
                ["task", "setting", "seeds", "learning curve", "evaluation curve"],
                rows,
            )
        ],
        numbers={
            "variability": numbers,
            "demonstrators": demonstrators_of(gathered.tasks),
            "curves": [arm.document() for arm in found],
        },
        panels=[_panel(found, task, kind) for kind in KINDS for task in gathered.tasks],
        panel_columns=len(gathered.tasks),
        **gathered.sources,
    )


def _panel(found: Sequence[ArmCurves], task: str, kind: str) -> Panel:
    series = [band(arm.label, arm.of(kind)) for arm in found if arm.task == task]
    known = demonstrator_of(task)
    reference = None if known is None or kind == "smoothness" else known.average_return
    return Panel(task, "iteration", KINDS[kind], [one for one in series if one], reference)


CURVES = NamedExperiment(stages=(arms,), analyse=analyse, reads_files=(SOURCE,))
