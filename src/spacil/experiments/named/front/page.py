"""The page of the front: a table and two panels per task and data, and the document behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from spacil.experiments.named.experiment import Gathered
from spacil.experiments.named.front.ladder import METHODS, NUM_RUNGS, RUNG, START
from spacil.experiments.named.front.methods import (
    DEMONSTRATOR,
    Method,
    methods_of,
    reference_of,
)
from spacil.experiments.named.front.numbers import LEAST_SHARE
from spacil.experiments.named.front.runs import GAIL, OURS, method_held, runs_by_place
from spacil.experiments.named.front.verdict import MEASURES, best_of_each_kind, held_rungs
from spacil.experiments.named.outcome import Outcome, Panel, Role, Series, Table
from spacil.experiments.named.plan import Extended
from spacil.experiments.named.rows import with_interval

_LEAST_SHOWN = 0.7
"""Share of the return down to which the figure goes: whoever fell lower is no rival there"""


def analyse(gathered: Gathered) -> Outcome:
    runs = runs_by_place(gathered)
    methods = {place: methods_of(place, found) for place, found in runs.items()}
    notes = [
        f"{task}, {group}: not measured, because {GAIL} has not run or has no return there"
        for (task, group), found in methods.items()
        if not found
    ]
    notes += [
        f"{task}, {group}: where ladders begin, GAIL has {100 * start:.0f} % of the return"
        for (task, group), found in methods.items()
        if (start := _share_at_start(found)) is not None and start < LEAST_SHARE
    ]
    rows = [asdict(run) for by_method in runs.values() for of in by_method.values() for run in of]
    others = _not_shown(gathered.scope.extended, rows)
    if others:
        notes.append(f"runs in the document, of weights or seeds not shown here: {len(others)}")
    references = {place: reference_of(found) for place, found in runs.items()}
    return Outcome(
        title="The front: return against smoothness",
        text=_TEXT,
        tables=[
            best_of_each_kind(methods),
            held_rungs(methods),
            *(
                Table(f"{task}, {group} demonstrations", _HEADER, [_cells(one) for one in found])
                for (task, group), found in methods.items()
            ),
        ],
        numbers={
            "methods": [_document(one) for found in methods.values() for one in found],
            "references": {
                f"{task}, {group}": None if reference is None else asdict(reference)
                for (task, group), reference in references.items()
            },
            "runs": [*rows, *others],
        },
        panels=[
            _panel(found, task, group, measure)
            for (task, group), found in methods.items()
            if found
            for measure in MEASURES
        ],
        panel_columns=2 * len(MEASURES),
        notes=notes,
        **gathered.sources,
    )


def _not_shown(extended: Extended, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs that the extended document has beyond those of the page: it goes on holding them."""
    shown = {row["run"] for row in rows}
    return [row for name, row in extended.rows.items() if name not in shown]


def _share_at_start(methods: Sequence[Method]) -> float | None:
    """Of the common GAIL, which every ladder of a place begins with."""
    return next((one.points[0].share for one in methods if one.label in METHODS), None)


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
    "double. `spacil` is the default, `spacil --smoothest` the same with `--keep-return 0.97`, "
    "`least change` asks for 0.3 of the demonstrator's action change besides "
    "(`--fluctuation-target`): one run each with the iterations of a ladder. Filters act on GAIL's "
    "policy and leave its J as it is. In the figure ours are large, and a hollow mark is where a "
    "chosen weight ends when it is held for a whole run; it is cut off at "
    f"{100 * _LEAST_SHOWN:.0f} % of the return."
)
_HEADER = [
    "method", "seeds", "smoothest at", "J / GAIL's", "its share", "least change at",
    "action change / GAIL's", "its share", "hypervolume, J", "hypervolume, action change",
]  # fmt: skip


def _cells(method: Method) -> list[str]:
    by_j, by_change = (method.smoothest(measure) for measure in MEASURES)
    return [
        method.label,
        "" if method.label == DEMONSTRATOR else str(len(method.by_seed)),
        "-" if by_j is None else by_j.name or "itself",
        "-" if by_j is None or by_j.J is None else f"{by_j.J:.2f}",
        "-" if by_j is None else f"{100 * by_j.share:.1f} %",
        "-" if by_change is None else by_change.name or "itself",
        "-" if by_change is None else f"{by_change.action_change:.2f}",
        "-" if by_change is None else f"{100 * by_change.share:.1f} %",
        *(with_interval(method.area(measure)) for measure in MEASURES),
    ]


def _document(method: Method) -> dict[str, Any]:
    """Means over seeds; what each seed has is in its run."""
    areas = {name: method.area(name) for name in MEASURES}
    smoothest = {name: method.smoothest(name) for name in MEASURES}
    own = asdict(method)
    del own["by_seed"]
    return own | {
        "hypervolume": {k: None if v is None else asdict(v) for k, v in areas.items()},
        "smoothest": {k: None if v is None else asdict(v) for k, v in smoothest.items()},
    }


def _role(label: str) -> Role:
    if label in OURS:
        return "subject"
    return "" if label in METHODS or method_held(label) else "backdrop"


def _panel(methods: Sequence[Method], task: str, group: str, measure: str) -> Panel:
    series = []
    for method in methods:
        known = [(x, p.share) for p in method.points if (x := getattr(p, measure)) is not None]
        if known:
            x, y = (list(column) for column in zip(*known, strict=True))
            series.append(
                Series(
                    method.label,
                    x,
                    y,
                    is_joined=len(known) > 1,
                    role=_role(method.label),
                    variant_of=method_held(method.label),
                )
            )
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
