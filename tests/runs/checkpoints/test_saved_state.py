"""What a checkpoint must be to go on from it: nothing is cast, stretched or filled in."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from spacil.errors import StorageError
from spacil.learning.metrics import Counters
from spacil.learning.weight_search import TargetSearch
from spacil.measuring.evaluate import Best
from spacil.runs.checkpoints.saved_state import (
    first_non_finite,
    optional_record_from,
    record_from,
    require_same_form,
)

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
    search = TargetSearch.starting(1.5, 0.03)
    measured = replace(search, measured=1.2)
    for record in (Counters(3, 600, 1, 0), Best(-4.5, 2), search, measured):
        assert record_from(type(record), dict(vars(record)), "record") == record
    document = vars(Best(-4.0, 2)) | {"average_return": -4}
    assert record_from(Best, document, "best") == Best(-4, 2)
    assert optional_record_from(Best, None, "best") is None


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"average_return": 1.0},
        {"average_return": 1.0, "iteration": 2, "extra": 0},
        {"average_return": "1.0", "iteration": 2},
        {"average_return": None, "iteration": 2},
        {"average_return": 1.0, "iteration": 2.0},
        {"average_return": 1.0, "iteration": True},
        {"average_return": math.inf, "iteration": 2},
    ],
)
def test_a_record_with_other_fields_or_types_is_refused(document: Any) -> None:
    with pytest.raises(StorageError, match="the checkpoint's best should be the numbers average"):
        record_from(Best, document, "best")
