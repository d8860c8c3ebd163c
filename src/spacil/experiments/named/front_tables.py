"""Fronts of return against J and against the action change, from finished ladders.

Roughness is a ratio to GAIL's of the same task and data; a share of the return counts from random
actions to the smaller of GAIL's and the demonstrator's return.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spacil.experiments.demonstrator import demonstrator_of
from spacil.experiments.front_numbers import LEAST_SHARE, hypervolume, smoothest_at
from spacil.experiments.named.experiment import ArmRuns, Gathered
from spacil.experiments.named.ladder import (
    METHODS,
    NUM_RUNGS,
    RUNG,
    START,
    mean_rungs,
    rungs_of,
    weights_at_factor,
)
from spacil.experiments.named.outcome import Outcome, Panel, Series, Table
from spacil.experiments.named.rows import Which, numbers_of, share, with_interval
from spacil.experiments.run_demonstrator import demonstrator_of_run
from spacil.experiments.statistics import Summary, summarize

GAIL, CONFIRMED = "gail-like", ", fixed weight"
DEMONSTRATOR = "demonstrator"
SMOOTHEST = "spacil --smoothest"

_LEAST_SHOWN = 0.7
"""Share of the return down to which the figure goes: whoever fell lower is no rival there"""
MEASURES = {"J": "J / GAIL's", "action_change": "action change / GAIL's"}


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
    which: Which = "best" if arm.label == SMOOTHEST else "last"  # what is handed out
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


# --- the page


def analyse(gathered: Gathered) -> Outcome:
    places = list(dict.fromkeys((arm.task, arm.arm.group) for arm in gathered.arms))
    methods = {place: methods_of(gathered, *place) for place in places}
    notes = [
        f"{task}, {group}: not measured, because {GAIL} has not run or has no return there"
        for (task, group), found in methods.items()
        if not found
    ]
    return Outcome(
        title="The front: return against smoothness",
        text=_TEXT,
        tables=[
            Table(f"{task}, {group} demonstrations", _HEADER, [_cells(one) for one in found])
            for (task, group), found in methods.items()
        ],
        numbers={
            "methods": [_document(one) for found in methods.values() for one in found],
            "references": {
                f"{task}, {group}": None if reference is None else asdict(reference)
                for task, group in places
                for reference in [reference_of(gathered, task, group)]
            },
        },
        panels=[
            _panel(found, task, group, measure)
            for (task, group), found in methods.items()
            if found
            for measure in MEASURES
        ],
        panel_columns=2 * len(MEASURES),
        notes=notes,
        problems=gathered.problems,
        records=gathered.records,
    )


_TEXT = (
    f"Ladders: `--preset gail-like` for {START} iterations, then a penalty whose weight doubles "
    f"every {RUNG} iterations, {NUM_RUNGS} rungs, evaluated at the end of each (mean policy, 50 "
    "episodes). J and action change are ratios to those of GAIL (gail-like, last policy, fresh "
    "episodes) on the same task and data; shares of the return count from random actions to the "
    "smaller of GAIL's and the demonstrator's. Hypervolume: the area that a method's points "
    "dominate, up to GAIL's roughness and down to random actions, per seed; mean and 95 % interval "
    "over seeds. Smoothest: the rung of the lowest J, in the mean over seeds, with at least "
    f"{100 * LEAST_SHARE:.0f} % of the return; `fixed weight` is that rung's weight in runs of its "
    "own. The action-rate reward loses the squared change of the executed action. The policy that "
    "is smooth by construction has a bound on its Lipschitz constant, which halves where weights "
    "double. `spacil` is the default, `spacil --smoothest` the same with `--keep-return 0.97`: one "
    "run each with the iterations of a ladder. Filters act on GAIL's policy and leave its J as it "
    "is."
)
_HEADER = [
    "method", "smoothest at", "J / GAIL's", "its share", "action change / GAIL's", "its share",
    "hypervolume, J", "hypervolume, action change",
]  # fmt: skip


def _cells(method: Method) -> list[str]:
    by_j, by_change = (method.smoothest(measure) for measure in MEASURES)
    return [
        method.label,
        "-" if by_j is None else by_j.name or "itself",
        "-" if by_j is None or by_j.J is None else f"{by_j.J:.2f}",
        "-" if by_j is None else f"{100 * by_j.share:.1f} %",
        "-" if by_change is None else f"{by_change.action_change:.2f}",
        "-" if by_change is None else f"{100 * by_change.share:.1f} %",
        *(with_interval(method.area(measure)) for measure in MEASURES),
    ]


def _document(method: Method) -> dict[str, Any]:
    areas = {name: method.area(name) for name in MEASURES}
    smoothest = {name: method.smoothest(name) for name in MEASURES}
    return asdict(method) | {
        "hypervolume": {k: None if v is None else asdict(v) for k, v in areas.items()},
        "smoothest": {k: None if v is None else asdict(v) for k, v in smoothest.items()},
    }


def _panel(methods: Sequence[Method], task: str, group: str, measure: str) -> Panel:
    series = []
    for method in methods:
        known = [(x, p.share) for p in method.points if (x := getattr(p, measure)) is not None]
        if known:
            x, y = (list(column) for column in zip(*known, strict=True))
            series.append(Series(method.label, x, y, is_joined=len(known) > 1))
    label = "share of the return (dashed: 97 %)"
    title, level = f"{task}, {group}", f"{100 * LEAST_SHARE:.0f} %"
    return Panel(
        title,
        MEASURES[measure],
        label,
        series,
        LEAST_SHARE,
        reference_label=level,
        least_y=_LEAST_SHOWN,
    )
