"""Filters on a real policy: the bundled expert of Reacher."""

from types import SimpleNamespace
from typing import Any, cast

from spacil.comparison.run_record import RunRecord
from spacil.experiments.named.front import filters
from spacil.experiments.named.plan import Scope
from spacil.policies.file import bundled_experts


def test_every_filter_is_played_and_a_strong_one_costs_more_than_a_weak_one() -> None:
    record = cast(RunRecord, SimpleNamespace(path=bundled_experts()["Reacher-v4"]))
    found: dict[str, Any] = filters.measure(record, Scope(is_quick=True))
    assert found["episodes"] == filters.QUICK_EPISODES
    by_name: dict[str, list[dict[str, float]]] = {}
    for row in found["filters"]:
        by_name.setdefault(row["filter"], []).append(row)
    assert set(by_name) == {"moving average", "low-pass"}
    for name, strengths in (("moving average", filters.AVERAGES), ("low-pass", filters.CUTOFFS)):
        rows = by_name[name]
        assert tuple(row["strength"] for row in rows) == strengths
        assert rows[-1]["G"] < rows[0]["G"] - 0.1
        assert all(row["action_change"] > 0 for row in rows)
