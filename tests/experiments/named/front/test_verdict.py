"""The front in two tables, from methods with known points."""

from spacil.experiments.named.front import verdict
from spacil.experiments.named.front.methods import FrontPoint, Method

PLACE = ("Hopper-v4", "whole")


def method(label: str, *points: tuple[str, float, float, float]) -> Method:
    """Each point: name, share, J, action change; two seeds alike."""
    known = tuple(FrontPoint(*point) for point in points)
    return Method(*PLACE, label, known, (known, known))


FOUND = [
    method("gail-like", ("", 1.0, 1.0, 1.0)),
    method("spacil", ("", 0.99, 0.3, 0.9)),
    method("spacil --smoothest", ("", 0.98, 0.2, 0.8)),
    method("exact", ("exact=0.01", 1.0, 0.5, 0.6), ("exact=0.02", 0.96, 0.1, 0.1)),
    method("cats", ("cats=0.1", 1.0, 0.7, 0.7), ("cats=0.2", 0.98, 0.6, 0.5)),
    method("caps", ("caps=0.1", 0.99, 0.4, 0.9)),
    method("cats, fixed weight", ("", 0.9, 0.35, 0.4)),
    method("caps, fixed weight", ("", 0.97, 0.25, 0.85)),
    method("low-pass on GAIL", ("0.6", 0.98, 1.0, 0.95)),
]


def test_each_kind_has_its_smoothest_that_keeps_enough() -> None:
    table = verdict.best_of_each_kind({PLACE: FOUND})
    by_j, by_change = (dict(zip(table.header, row, strict=True)) for row in table.rows)
    assert by_j["data"] == "Hopper-v4, whole"
    assert by_j["ours"] == "0.20, spacil --smoothest, 98.0 %"
    assert by_j["best rival, a rung"] == "0.40, caps, 99.0 %"
    # cats is smoother where its weight is held, and keeps too little there.
    assert by_j["best rival, held"] == "0.25, caps, 97.0 %"
    assert by_j["our penalty, a rung"] == "0.50, exact, 100.0 %"
    assert by_j["our penalty, held"] == "-"
    assert by_change["best rival, a rung"] == "0.50, cats, 98.0 %"
    assert by_change["filters on GAIL"] == "0.95, low-pass on GAIL 0.6, 98.0 %"


def test_a_held_weight_stands_beside_its_rung_also_where_it_keeps_too_little() -> None:
    table = verdict.held_rungs({PLACE: FOUND})
    assert [row[1:] for row in table.rows] == [
        ["cats", "cats=0.2", "2", "0.60", "0.50", "98.0 %", "0.35", "0.40", "90.0 %"],
        ["caps", "caps=0.1", "2", "0.40", "0.90", "99.0 %", "0.25", "0.85", "97.0 %"],
    ]


def test_a_place_without_gail_has_no_lines() -> None:
    for make in (verdict.best_of_each_kind, verdict.held_rungs):
        assert make({PLACE: []}).rows == []
