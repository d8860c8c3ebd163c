"""What a checkpoint must be to go on from it: nothing is cast, stretched or filled in."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import pytest
import torch

from spacil.errors import StorageError
from spacil.learning.learner import Counters
from spacil.measuring.evaluate import Best
from spacil.runs.state import State, first_non_finite, record_from, require_same_form

EXPECTED = {"weight": torch.ones(2, 3), "count": torch.zeros((), dtype=torch.float64)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": torch.ones(3, 2)}, r"weight is torch.float32 \(3, 2\), expected .* \(2, 3\)"),
        ({"weight": torch.ones(3)}, r"weight is torch.float32 \(3,\)"),
        ({"weight": torch.ones(2, 3).half()}, "weight is torch.float16"),
        ({"count": torch.zeros(())}, "count is torch.float32"),
        ({"extra": torch.zeros(1)}, r"missing \[\], unknown \['extra'\]"),
        ({"weight": torch.full((2, 3), math.nan)}, "weight holds NaN or infinity"),
    ],
)
def test_another_form_is_refused_with_both(change: dict[str, Any], message: str) -> None:
    require_same_form(EXPECTED, EXPECTED)
    with pytest.raises(StorageError, match=message):
        require_same_form(EXPECTED | change, EXPECTED)


def test_bounds_of_actions_may_be_open_and_nothing_else() -> None:
    infinite = torch.tensor([math.inf])
    assert (
        first_non_finite({"policy.action_low": -infinite, "policy.action_high": infinite}) is None
    )
    assert first_non_finite({"policy.log_std": infinite}) == "policy.log_std"


def test_records_read_back_as_they_were_written() -> None:
    for record in (Counters(3, 600), Best(-4.5, 2), Best(-4.5, 2, 0.3)):
        assert record_from(type(record), dict(vars(record)), "record") == record
    assert record_from(Best, vars(Best(0.5, 2)) | {"average_return": -4}, "best") == Best(-4, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 0},
        {"average_return": "1.0"},
        {"average_return": None},
        {"iteration": 2.0},
        {"iteration": True},
    ],
)
def test_a_record_with_other_fields_or_types_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(StorageError, match=r"^best "):
        record_from(Best, vars(Best(1.0, 2)) | change, "best")
    for document in (None, [], {}):
        with pytest.raises(StorageError, match="best should be the values average_return"):
            record_from(Best, document, "best")


@dataclass
class Search:
    target: Best
    limit: Best | None = None


def test_records_may_hold_records() -> None:
    for search in (Search(Best(1.0, 2)), Search(Best(1.0, 2), Best(2.0, 3))):
        assert record_from(Search, asdict(search), "search") == search
    with pytest.raises(StorageError, match="search target should be the values"):
        record_from(Search, {"target": None, "limit": None}, "search")


class Run:
    """A learner of one part of each kind."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.network = torch.nn.Linear(2, 1)
        self.totals = {"returns": torch.rand(3, generator=self.generator)}
        self.rows = torch.rand(4, 2, generator=self.generator)
        self.counters = Counters(iteration=seed)
        self.best: Best | None = None
        self.num_refreshed = 0
        self.state = State()
        self.state.register("network", self.network)
        self.state.register("stream.action", self.generator)
        self.state.register("episode", self.totals)
        self.state.register_tensors(
            "labelled", lambda: {"rows": self.rows}, self.load_rows, grows=True
        )
        self.state.register_record("counters", self, Counters)
        self.state.register_record("best", self, Best, optional=True)
        self.state.after_restore(self.refresh)

    def load_rows(self, saved: Any) -> None:
        self.rows = saved["rows"]

    def refresh(self) -> None:
        self.num_refreshed += 1


def test_registered_parts_go_on_where_they_were_saved() -> None:
    saved, other = Run(1), Run(2)
    saved.rows = torch.ones(9, 2)
    saved.best = Best(-3.0, 1)
    tensors, document = saved.state.tensors(), saved.state.document()
    assert {"network.weight", "stream.action", "episode.returns", "labelled.rows"} <= tensors.keys()
    other.state.cut_short = "iteration 3"
    other.state.restore(tensors, document)
    assert other.num_refreshed == 1 and other.state.cut_short is None
    assert (other.counters, other.best) == (saved.counters, saved.best)
    again = other.state.tensors()
    assert tensors.keys() == again.keys()
    assert all(torch.equal(tensors[name], again[name]) for name in tensors)
    assert torch.equal(
        torch.rand(3, generator=saved.generator), torch.rand(3, generator=other.generator)
    )


@pytest.mark.parametrize(
    ("tensors", "document"),
    [
        ({"labelled.rows": torch.ones(4, 3)}, {}),
        ({"network.bias": torch.ones(2)}, {}),
        ({}, {"counters": {"iteration": -1}}),
        ({}, {"counters": None}),
    ],
)
def test_a_checkpoint_fits_as_a_whole(tensors: dict[str, Any], document: dict[str, Any]) -> None:
    saved, other = Run(1), Run(2)
    before = other.state.tensors()
    with pytest.raises(StorageError):
        other.state.restore(saved.state.tensors() | tensors, saved.state.document() | document)
    assert all(torch.equal(before[n], tensor) for n, tensor in other.state.tensors().items())
    assert other.counters.iteration == 2
