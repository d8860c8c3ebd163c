"""The methods of a front and their points, from finished ladders, single runs and filters.

Roughness is a ratio to GAIL's of the same task and data; a share of the return counts from random
actions to the smaller of GAIL's and the demonstrator's return.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spacil.experiments.demonstrator import demonstrator_of, share
from spacil.experiments.named.experiment import ArmRuns, Gathered
from spacil.experiments.named.front.ladder import METHODS, mean_rungs, rungs_of, weights_at_factor
from spacil.experiments.named.front.numbers import hypervolume, smoothest_at
from spacil.experiments.named.rows import numbers_of
from spacil.experiments.run_demonstrator import demonstrator_of_run
from spacil.experiments.run_record import Which
from spacil.experiments.statistics import Summary, summarize

GAIL, CONFIRMED = "gail-like", ", fixed weight"
DEMONSTRATOR = "demonstrator"
SMOOTHEST, LEAST_CHANGE = "spacil --smoothest", "spacil --smoothest, least change"


@dataclass(frozen=True)
class Reference:
    """What a task and its data are measured by; all of the last policy of GAIL, over seeds."""

    share: float
    """Of the return that counts as whole: GAIL's share of the demonstrator, at most 1"""
    J: float
    action_change: float


@dataclass(frozen=True)
class FrontPoint:
    """One policy in the front, or the mean of a rung over seeds; keys are stable."""

    name: str
    """Weight, strength, or nothing"""
    share: float
    """Of the reference's return"""
    J: float | None
    """Over GAIL's; None behind a filter, which is no function of the state"""
    action_change: float


@dataclass(frozen=True)
class Method:
    """One method on one task and its data."""

    group: str
    task: str
    label: str
    points: tuple[FrontPoint, ...]
    """Means over seeds"""
    by_seed: tuple[tuple[FrontPoint, ...], ...]

    def area(self, measure: str) -> Summary | None:
        """Hypervolume of each seed's own points, over seeds; None where J is not known."""
        areas = []
        for points in self.by_seed:
            known = [(x, p.share) for p in points if (x := getattr(p, measure)) is not None]
            if len(known) < len(points):
                return None
            areas.append(hypervolume(known))
        return summarize(areas) if areas else None

    def smoothest(self, measure: str) -> FrontPoint | None:
        """The smoothest of the points over seeds that keeps enough of the return."""
        known = [p for p in self.points if getattr(p, measure) is not None]
        index = smoothest_at([(getattr(p, measure), p.share) for p in known])
        return None if index is None else known[index]


def reference_of(gathered: Gathered, task: str, group: str) -> Reference | None:
    """None where GAIL has not run there."""
    arm = gathered.arm(task, GAIL, group)
    rows = [] if arm is None else [numbers_of(record, "last") for record in arm.records]
    columns = [[row[name] for row in rows] for name in ("share", "J", "action_change")]
    known = [[value for value in column if value is not None] for column in columns]
    if not rows or any(len(column) < len(rows) for column in known):
        return None
    of_gail, j, change = (sum(column) / len(column) for column in known)
    return Reference(min(1.0, of_gail), j, change) if min(of_gail, j, change) > 0 else None


def methods_of(gathered: Gathered, task: str, group: str) -> list[Method]:
    """Every method of a task and its data, relative to GAIL."""
    reference = reference_of(gathered, task, group)
    if reference is None:
        return []
    found = [_demonstrator(task, group, reference)]
    for arm in gathered.arms:
        if (arm.task, arm.arm.group) == (task, group) and arm.records:
            method = _ladder if arm.label in METHODS else _single
            found.append(method(arm, reference))
            if arm.label == GAIL:
                found += _filters(arm, gathered, reference)
    return [method for method in found if method is not None and method.points]


def _point(name: str, numbers: Any, reference: Reference) -> FrontPoint | None:
    """Relative to the reference; None where a number is missing. `numbers` by name."""
    of_demonstrator, change, j = (numbers.get(n) for n in ("share", "action_change", "J"))
    if of_demonstrator is None or change is None:
        return None
    return FrontPoint(
        name,
        of_demonstrator / reference.share,
        None if j is None else j / reference.J,
        change / reference.action_change,
    )


def _known(points: Sequence[FrontPoint | None]) -> tuple[FrontPoint, ...]:
    return tuple(point for point in points if point is not None)


def _ladder(arm: ArmRuns, reference: Reference) -> Method:
    def name(factor: float) -> str:
        return " ".join(weights_at_factor(arm.label, factor)) if factor else "0"

    means = [_point(name(rung["factor"]), rung, reference) for rung in mean_rungs(arm)]
    by_seed = [
        _known([_point(name(r.factor), vars(r), reference) for r in rungs_of(arm.arm, record)])
        for record in arm.records
    ]
    return Method(arm.arm.group, arm.task, arm.label, _known(means), tuple(by_seed))


def _single(arm: ArmRuns, reference: Reference) -> Method:
    is_wish = arm.label in (SMOOTHEST, LEAST_CHANGE)
    which: Which = "best" if is_wish else "last"  # what is handed out
    rows = [numbers_of(record, which) for record in arm.records]
    points = [_point("", row, reference) for row in rows]
    return Method(
        arm.arm.group, arm.task, arm.label, _mean_of(points), tuple((p,) for p in _known(points))
    )


def _mean_of(points: Sequence[FrontPoint | None]) -> tuple[FrontPoint, ...]:
    """One point, the mean over seeds; none where a seed has none."""
    known = _known(points)
    if not known or len(known) < len(points):
        return ()
    js = [point.J for point in known if point.J is not None]
    count = len(known)
    return (
        FrontPoint(
            known[0].name,
            sum(point.share for point in known) / count,
            sum(js) / count if len(js) == count else None,
            sum(point.action_change for point in known) / count,
        ),
    )


def _demonstrator(task: str, group: str, reference: Reference) -> Method | None:
    known = demonstrator_of(task)
    if known is None:
        return None
    numbers = {"share": 1.0, "J": known.smoothness_j, "action_change": known.action_fluctuation}
    points = _known([_point("", numbers, reference)])
    return Method(group, task, DEMONSTRATOR, points, (points,))


def _filters(arm: ArmRuns, gathered: Gathered, reference: Reference) -> list[Method]:
    """Filters on GAIL's policies, by kind and strength."""
    by_filter: dict[str, dict[float, list[FrontPoint | None]]] = {}
    for record in arm.records:
        known, random = demonstrator_of_run(record), record.last.get("random_return")
        for row in gathered.measured.get(record.path, {}).get("filters", []):
            numbers = {"share": share(row["G"], random, known), **row, "J": None}
            point = _point(f"{row['strength']:g}", numbers, reference)
            by_filter.setdefault(row["filter"], {}).setdefault(row["strength"], []).append(point)
    found = []
    for name, by_strength in by_filter.items():
        means = [point for points in by_strength.values() for point in _mean_of(points)]
        seeds = zip(*by_strength.values(), strict=True)
        by_seed = tuple(_known(points) for points in seeds)
        found.append(Method(arm.arm.group, arm.task, f"{name} on GAIL", tuple(means), by_seed))
    return found
