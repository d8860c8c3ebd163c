"""Learning and evaluation curves of the runs of `returns` (fig:training_curves, fig:eval_curves).

Training returns are those of the noisy policy in the batches; evaluations those of its mean action.
Where evaluations or batches have no episode that ended, a run has no point.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spacil.experiments.comparison_text import number
from spacil.experiments.demonstrator import demonstrator_of
from spacil.experiments.named.experiment import ArmRuns, Gathered, NamedExperiment
from spacil.experiments.named.outcome import Outcome, Panel, Series, Table
from spacil.experiments.named.returns import arms
from spacil.experiments.named.rows import demonstrators_of
from spacil.experiments.run_record import RunRecord
from spacil.experiments.statistics import summarize
from spacil.runs import metrics_log

Curve = dict[int, float]
"""Iteration -> value"""

BIN = 10
"""Iterations that a point of the learning curve is the mean of: batches hold few whole episodes"""
LATE_SHARE = 0.5
"""The second half of a run, in which a curve's variability is measured"""

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
    """Means over iterations 1 to `width`, the next `width`, ...; at the end of each bin."""
    bins: dict[int, list[float]] = {}
    for iteration, value in curve.items():
        if iteration > 0:
            bins.setdefault(-(-iteration // width) * width, []).append(value)
    return {end: sum(values) / len(values) for end, values in sorted(bins.items())}


def variability(curve: Curve) -> float | None:
    """Mean |change| from one point to the next in the second half of a curve; None if too short."""
    points = sorted(curve.items())
    late = [value for i, value in points if i >= LATE_SHARE * points[-1][0]] if points else []
    changes = [abs(b - a) for a, b in itertools.pairwise(late)]
    return sum(changes) / len(changes) if changes else None


def band(label: str, curves: Sequence[Curve]) -> Series | None:
    """Mean over seeds where all have a point, shaded from the lowest to the highest seed."""
    shared = sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []
    if not shared:
        return None
    columns = [[curve[i] for curve in curves] for i in shared]
    means = [sum(column) / len(column) for column in columns]
    return Series(label, shared, means, [min(c) for c in columns], [max(c) for c in columns])


def analyse(gathered: Gathered) -> Outcome:
    found = {record.path: curves_of(record) for record in gathered.records}
    shown = [arm for arm in gathered.arms if arm.records and arm.arm.setting.algorithm != "bc"]
    panels = [
        _panel(shown, task, kind, {path: curves[kind] for path, curves in found.items()})
        for kind in KINDS
        for task in gathered.tasks
    ]
    rows, numbers = [], []
    for arm in shown:
        late = {
            kind: [
                v
                for record in arm.records
                if (v := variability(found[record.path][kind])) is not None
            ]
            for kind in ("learning", "evaluation")
        }
        numbers.append({"task": arm.task, "setting": arm.label, "late_variability": late})
        means = [summarize(late[kind]).mean if late[kind] else None for kind in late]
        rows.append([arm.task, arm.label, str(len(arm.records)), *map(number, means)])
    return Outcome(
        title="Learning and evaluation curves",
        text=(
            "Return of the training batches (noisy actions, means over "
            f"{BIN} iterations), return and J of mean actions during training: mean over seeds, "
            "shaded from the lowest to the highest seed. Variability: mean absolute change from "
            "one point to the next in the second half of a run, mean over seeds."
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
            "curves": [_document(arm, found) for arm in shown],
        },
        panels=panels,
        panel_columns=len(gathered.tasks),
        problems=gathered.problems,
        records=gathered.records,
    )


def _document(arm: ArmRuns, found: dict[Any, dict[str, Curve]]) -> dict[str, Any]:
    return {
        "task": arm.task,
        "setting": arm.label,
        "seeds": {
            str(record.seed): {kind: sorted(c.items()) for kind, c in found[record.path].items()}
            for record in arm.records
        },
    }


def _panel(shown: Sequence[ArmRuns], task: str, kind: str, curves: Mapping[Path, Curve]) -> Panel:
    series = [
        band(arm.label, [curves[record.path] for record in arm.records])
        for arm in shown
        if arm.task == task
    ]
    known = demonstrator_of(task)
    reference = None if known is None or kind == "smoothness" else known.average_return
    return Panel(task, "iteration", KINDS[kind], [one for one in series if one], reference)


CURVES = NamedExperiment(stages=(arms,), analyse=analyse)
