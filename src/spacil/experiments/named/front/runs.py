"""The runs behind a front in numbers of their own: shares and J, not yet relative to GAIL's.

A run is read from its folder, or from the row that an earlier document keeps of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil.comparison.demonstrator import share
from spacil.comparison.run_demonstrator import demonstrator_of_run
from spacil.comparison.run_record import RunRecord, Which
from spacil.errors import StorageError
from spacil.experiments.named.experiment import ArmRuns, Gathered
from spacil.experiments.named.front.ladder import METHODS
from spacil.experiments.named.outcome import Document
from spacil.experiments.named.plan import Arm
from spacil.experiments.named.rows import numbers_of
from spacil.runs import metrics_log
from spacil.smoothness.weights import share_at

GAIL, CONFIRMED = "gail-like", ", fixed weight"
SMOOTHEST, LEAST_CHANGE = "spacil --smoothest", "spacil --smoothest, least change"
DEFAULT = "spacil"
OURS = (DEFAULT, SMOOTHEST, LEAST_CHANGE)
"""The default, and what a user wishes for beyond it"""


def method_held(label: str) -> str:
    """Whose chosen weight runs of this label hold; nobody's for the others."""
    return label.removesuffix(CONFIRMED) if label.endswith(CONFIRMED) else ""


@dataclass(frozen=True)
class Measured:
    """One policy of a run, on its evaluation's episodes; keys are stable."""

    iteration: int | None
    factor: float | None
    """On a ladder: on the first rung's weights, 0 for the common GAIL"""
    G: float | None
    share: float | None
    """Of the demonstrator's return, from random actions on"""
    J: float | None
    J_effective: float | None
    action_change: float | None


@dataclass(frozen=True)
class Filtered:
    """The last policy of GAIL behind one filter; keys are stable."""

    filter: str
    strength: float
    G: float | None
    share: float | None
    action_change: float | None


@dataclass(frozen=True)
class FrontRun:
    """One finished run; keys are stable."""

    group: str
    task: str
    setting: str
    seed: int
    run: str
    """Its name in a sweep, which says all its settings"""
    command: str
    commit: str | None
    is_fresh: bool
    num_episodes: int | None
    """Fresh ones, of best and last policy; rungs have evaluations of their own"""
    policies: tuple[Measured, ...]
    """Of a ladder the common GAIL and each rung; otherwise the one policy it hands out"""
    filters: tuple[Filtered, ...] = ()


Place = tuple[str, str]
"""Task and group"""
RunsByMethod = Mapping[str, Sequence[FrontRun]]
"""Label -> its runs by seed; methods that have run, in the order of the plan"""


def runs_by_place(gathered: Gathered) -> dict[Place, RunsByMethod]:
    """Every task and its data, also where nothing has run."""
    found: dict[Place, dict[str, list[FrontRun]]] = {}
    for arm in gathered.arms:
        by_method = found.setdefault((arm.task, arm.arm.group), {})
        runs = [_from_row(arm, row) for row in arm.kept]
        runs += _from_folders(arm, gathered.measured)
        if runs:
            by_method[arm.label] = sorted(runs, key=lambda run: run.seed)
    return dict(found)


def _from_folders(arm: ArmRuns, measured: Mapping[Path, Document]) -> list[FrontRun]:
    names = {run.seed: run.name for run in arm.arm.runs()}
    is_ladder = arm.label in METHODS
    return [
        FrontRun(
            group=arm.arm.group,
            task=arm.task,
            setting=arm.label,
            seed=record.seed,
            run=names[record.seed],
            command=record.command,
            commit=record.commit,
            is_fresh=record.is_fresh,
            num_episodes=record.last.get("num_episodes"),
            policies=rungs_of(arm.arm, record) if is_ladder else (_handed_out(arm, record),),
            filters=_filtered(record, measured.get(record.path, {})),
        )
        for record in arm.records
    ]


def _handed_out(arm: ArmRuns, record: RunRecord) -> Measured:
    which: Which = "best" if arm.label in (SMOOTHEST, LEAST_CHANGE) else "last"
    numbers = numbers_of(record, which)
    return Measured(
        iteration=record.evaluated(which).get("iteration"),
        factor=None,
        **{name: numbers[name] for name in ("G", "share", "J", "J_effective", "action_change")},
    )


def rungs_of(arm: Arm, record: RunRecord) -> tuple[Measured, ...]:
    """The common GAIL and every rung of a run, from its evaluations."""
    penalty = arm.runs()[0].config().policy_penalty
    known, random = demonstrator_of_run(record), record.best.get("random_return")
    rungs = []
    for row in metrics_log.read(record.path / "metrics.jsonl"):
        iteration, g = row["iteration"], row.get("average_return")
        is_end = iteration >= penalty.penalty_start and not (
            (iteration - penalty.penalty_start) % penalty.penalty_doubling
        )
        if g is None or not is_end or iteration == 0:
            continue
        rungs.append(
            Measured(
                iteration,
                share_at(penalty, iteration - 1),  # the weight before this evaluation
                g,
                share(g, random, known),
                row.get("smoothness_j_common"),
                row.get("smoothness_j_effective"),
                row.get("action_fluctuation"),
            )
        )
    return tuple(rungs)


def _filtered(record: RunRecord, measured: Document) -> tuple[Filtered, ...]:
    known, random = demonstrator_of_run(record), record.last.get("random_return")
    return tuple(
        Filtered(
            filter=row["filter"],
            strength=row["strength"],
            G=row["G"],
            share=share(row["G"], random, known),
            action_change=row["action_change"],
        )
        for row in measured.get("filters", [])
    )


def _from_row(arm: ArmRuns, row: Mapping[str, Any]) -> FrontRun:
    """As the document of a front has it, by the name that its arm has now."""
    try:
        parts = {
            "setting": arm.label,
            "policies": tuple(Measured(**policy) for policy in row["policies"]),
            "filters": tuple(Filtered(**filtered) for filtered in row["filters"]),
        }
        return FrontRun(**{**row, **parts})
    except (KeyError, TypeError) as error:
        raise StorageError(f"{row['run']!r} is no run of a front: {error}") from None
