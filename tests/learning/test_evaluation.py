"""Which evaluation is the best one, by each way to choose."""

import pytest

from spacil.errors import ConfigError
from spacil.learning.evaluation import is_better
from spacil.measuring.evaluate import Best

BEST = Best(average_return=100.0, iteration=10, imitation_score=0.2)


@pytest.mark.parametrize(
    ("select", "average_return", "score", "expected"),
    [
        ("return", 101.0, 0.9, True),
        ("return", 100.0, 0.1, False),  # a tie keeps the earlier one
        ("return", 99.0, 0.1, False),
        ("imitation", 1.0, 0.1, True),
        ("imitation", 900.0, 0.2, False),
        ("imitation", 900.0, 0.3, False),
        ("last", 1.0, 0.9, True),
    ],
)
def test_a_new_best_is_chosen_by_return_score_or_time(
    select: str, average_return: float, score: float, expected: bool
) -> None:
    assert is_better(select, Best(average_return, 20, score), BEST) is expected


def test_an_unknown_way_to_choose_is_refused() -> None:
    with pytest.raises(ConfigError, match="--select score"):
        is_better("score", BEST, BEST)
