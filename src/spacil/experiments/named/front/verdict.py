"""The front in two tables: who is smoothest at enough return, and whether chosen rungs hold.

A rung is a policy on its way: its weight was there for one rung only. Held for a whole run the same
weight may come to another place, so what a rival reaches is told both ways.
"""

from collections.abc import Callable, Mapping, Sequence

from spacil.experiments.named.front.ladder import METHODS
from spacil.experiments.named.front.methods import FrontPoint, Method
from spacil.experiments.named.front.numbers import LEAST_SHARE
from spacil.experiments.named.front.runs import CONFIRMED, OURS, Place, method_held
from spacil.experiments.named.outcome import Table

MEASURES = {"J": "J / GAIL's", "action_change": "action change / GAIL's"}
"""Number of a point -> what tables and the figure call it"""
OUR_PENALTY = "exact"
"""As a ladder it is no rival, and none of our wishes either"""

Methods = Mapping[Place, Sequence[Method]]


def best_of_each_kind(methods: Methods) -> Table:
    """Per data and measure the smoothest that keeps enough, of ours, rivals and our penalty."""
    rows = []
    for (task, group), found in methods.items():
        for measure, words in MEASURES.items() if found else ():
            cells = [_best(found, measure, is_one) for is_one in _KINDS.values()]
            rows.append([f"{task}, {group}", words, *cells])
    title = f"The smoothest that keep {100 * LEAST_SHARE:.0f} % of the return"
    return Table(title, ["data", "measure", *_KINDS], rows, num_words=2 + len(_KINDS))


def held_rungs(methods: Methods) -> Table:
    """Per method the rung of the lowest J, and where its weight ends in runs of its own."""
    rows = []
    for (task, group), found in methods.items():
        by_label = {method.label: method for method in found}
        for label in METHODS:
            rung = by_label[label].smoothest("J") if label in by_label else None
            held = by_label.get(label + CONFIRMED)
            if rung is not None and held is not None:
                (point,) = held.points
                seeds = str(len(held.by_seed))
                cells = [*_numbers(rung), *_numbers(point)]
                rows.append([f"{task}, {group}", label, rung.name, seeds, *cells])
    return Table("Chosen rungs, and the same weights held for a whole run", _HELD, rows, 3)


_HELD = [
    "data", "method", "weight", "seeds", "rung: J", "action change", "share", "held: J",
    "action change", "share",
]  # fmt: skip


def _is_ours(label: str) -> bool:
    return label in OURS


def _is_rival(label: str) -> bool:
    return label in METHODS and label != OUR_PENALTY


_KINDS: Mapping[str, Callable[[str], bool]] = {
    "ours": _is_ours,
    "best rival, a rung": _is_rival,
    "best rival, held": lambda label: _is_rival(method_held(label)),
    "our penalty, a rung": lambda label: label == OUR_PENALTY,
    "our penalty, held": lambda label: label == OUR_PENALTY + CONFIRMED,
    "filters on GAIL": lambda label: label.endswith(" on GAIL"),
}
"""Column -> which methods are of it"""


def _best(methods: Sequence[Method], measure: str, is_one: Callable[[str], bool]) -> str:
    """`0.12, spacil --smoothest, 97.5 %`"""
    found = [
        (getattr(point, measure), _name(method.label, point), point.share)
        for method in methods
        if is_one(method.label) and (point := method.smoothest(measure)) is not None
    ]
    if not found:
        return "-"
    value, name, share = min(found)
    return f"{value:.2f}, {name}, {100 * share:.1f} %"


def _name(label: str, point: FrontPoint) -> str:
    label = method_held(label) or label
    return f"{label} {point.name}" if point.name and label not in METHODS else label


def _numbers(point: FrontPoint) -> list[str]:
    j = "-" if point.J is None else f"{point.J:.2f}"
    return [j, f"{point.action_change:.2f}", f"{100 * point.share:.1f} %"]
