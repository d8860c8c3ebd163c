"""What must be kept, in one number, and which evaluated policy is kept."""

from dataclasses import replace

import pytest

from spacil.learning.weight_search import RANKS, Constraint, select
from spacil.measuring.evaluate import Best


def test_the_slack_of_a_share_is_one_at_the_reference_and_zero_at_what_is_kept() -> None:
    keep = Constraint(0.9, 0.1, random_return=-50.0, reference_return=-10.0)
    assert keep.share(-14.0) == pytest.approx(0.9)
    slacks = [keep.slack(Best(average_return, 1, 5.0)) for average_return in (-10.0, -14.0, -18.0)]
    assert slacks == pytest.approx([1.0, 0.0, -1.0])


def test_the_slack_of_a_score_reads_no_return() -> None:
    alike = Constraint(0.0, 0.2)
    assert [alike.slack(Best(1e9, 1, score)) for score in (0.0, 0.2, 0.3)] == pytest.approx(
        [1, 0, -0.5]
    )


@pytest.mark.parametrize(
    ("score", "old_score", "is_it"),
    [
        (0.1, 0.05, True),  # both keep it: the smoother one
        (0.11, 0.05, False),  # smooth, and not good enough
        (0.09, 0.15, True),
        (0.12, 0.11, False),  # neither keeps it: the one that misses it by less
        (0.11, 0.12, True),
        (0.12, 0.12, True),  # and then the later one
    ],
)
def test_the_smoothest_that_keeps_the_constraint_is_selected(
    score: float, old_score: float, is_it: bool
) -> None:
    rough, smooth = Best(99.0, 10, old_score, 2.0), Best(98.0, 20, score, 1.0)
    assert select(smooth, rough, Constraint(0.0, 0.1).rank) is is_it
    assert select(smooth, None, Constraint(0.0, 0.1).rank)


def test_of_two_that_keep_it_the_one_nearer_to_its_change_is_selected() -> None:
    rank = Constraint(0.0, 0.1).rank
    rough, smooth = Best(99.0, 10, 0.05, 2.0), Best(98.0, 20, 0.05, 1.0)
    hasty = replace(smooth, excess_change=0.4)
    assert not select(hasty, rough, rank) and select(rough, hasty, rank)
    assert select(replace(rough, excess_change=0.3), hasty, rank)
    assert not select(rough, smooth, rank) and not select(smooth, smooth, rank)


@pytest.mark.parametrize(
    ("by", "average_return", "score", "expected"),
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
def test_a_new_best_is_selected_by_return_score_or_time(
    by: str, average_return: float, score: float, expected: bool
) -> None:
    best = Best(average_return=100.0, iteration=10, imitation_score=0.2)
    assert select(Best(average_return, 20, score), best, RANKS[by]) is expected
