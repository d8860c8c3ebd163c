"""The methods of a front and their points, from ladders, single runs and filters.

Roughness is a ratio to GAIL's of the same task and data; a share of the return counts from random
actions to the smaller of GAIL's and the demonstrator's return. Pure functions of finished runs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spacil.comparison.demonstrator import demonstrator_of
from spacil.comparison.statistics import Summary, summarize
from spacil.experiments.named.front.ladder import METHODS, weights_at_factor
from spacil.experiments.named.front.numbers import hypervolume, smoothest_at
from spacil.experiments.named.front.runs import GAIL, FrontRun, Measured, Place, RunsByMethod

DEMONSTRATOR = "demonstrator"


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

    task: str
    group: str
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


def reference_of(runs: RunsByMethod) -> Reference | None:
    """None where GAIL has not run."""
    policies = [run.policies[0] for run in runs.get(GAIL, ())]
    of_gail, j, change = (_mean([getattr(p, name) for p in policies]) for name in _NUMBERS)
    if of_gail is None or j is None or change is None or min(of_gail, j, change) <= 0:
        return None
    return Reference(min(1.0, of_gail), j, change)


def methods_of(place: Place, runs: RunsByMethod) -> list[Method]:
    """Every method of a task and its data, relative to GAIL."""
    reference = reference_of(runs)
    if reference is None:
        return []
    found = [_demonstrator(place, reference)]
    for label, of_label in runs.items():
        method = _ladder if label in METHODS else _single
        found.append(method(place, label, of_label, reference))
        if label == GAIL:
            found += _filters(place, of_label, reference)
    return [method for method in found if method is not None and method.points]


def mean_rungs(runs: Sequence[FrontRun]) -> list[dict[str, Any]]:
    """Means over seeds at each rung that every seed has, the common GAIL first."""
    by_factor: dict[float, list[Measured]] = {}
    for run in runs:
        for rung in run.policies:
            if rung.factor is not None:
                by_factor.setdefault(rung.factor, []).append(rung)
    found = []
    for factor, rungs in sorted(by_factor.items()):
        if len(rungs) == len(runs):
            means = {name: _mean([getattr(r, name) for r in rungs]) for name in _NUMBERS}
            found.append({"factor": factor, **means})
    return found


_NUMBERS = ("share", "J", "action_change")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


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


def _ladder(place: Place, label: str, runs: Sequence[FrontRun], reference: Reference) -> Method:
    def point(rung: dict[str, Any]) -> FrontPoint | None:
        factor = rung["factor"]
        name = " ".join(weights_at_factor(label, factor)) if factor else "0"
        return _point(name, rung, reference)

    means = [point(rung) for rung in mean_rungs(runs)]
    by_seed = [_known([point(asdict(rung)) for rung in run.policies]) for run in runs]
    return Method(*place, label, _known(means), tuple(by_seed))


def _single(place: Place, label: str, runs: Sequence[FrontRun], reference: Reference) -> Method:
    points = [_point("", asdict(run.policies[0]), reference) for run in runs]
    return Method(*place, label, _mean_of(points), tuple((p,) for p in _known(points)))


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


def _demonstrator(place: Place, reference: Reference) -> Method | None:
    known = demonstrator_of(place[0])
    if known is None:
        return None
    numbers = {"share": 1.0, "J": known.smoothness_j, "action_change": known.action_fluctuation}
    points = _known([_point("", numbers, reference)])
    return Method(*place, DEMONSTRATOR, points, (points,))


def _filters(place: Place, runs: Sequence[FrontRun], reference: Reference) -> list[Method]:
    """Filters on GAIL's policies, by kind and strength."""
    by_filter: dict[str, dict[float, list[FrontPoint | None]]] = {}
    for run in runs:
        for one in run.filters:
            point = _point(f"{one.strength:g}", asdict(one), reference)
            by_filter.setdefault(one.filter, {}).setdefault(one.strength, []).append(point)
    found = []
    for name, by_strength in by_filter.items():
        means = [point for points in by_strength.values() for point in _mean_of(points)]
        seeds = zip(*by_strength.values(), strict=True)
        by_seed = tuple(_known(points) for points in seeds)
        found.append(Method(*place, f"{name} on GAIL", tuple(means), by_seed))
    return found
