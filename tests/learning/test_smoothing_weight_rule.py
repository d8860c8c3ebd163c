"""The weights of the default follow from what the student does, by hand-worked numbers."""

import math

import pytest

from spacil.learning.smoothing_weight_rule import RewardFreeRule, confirmed, first_weights
from spacil.learning.verdict import Judged, Strengths

RULE = RewardFreeRule(threshold=0.1, target_j=1.0, target_change=1.0)


def judged(score: float, j: float = 1.0, change: float | None = 1.0, iteration: int = 6) -> Judged:
    return Judged(iteration, None, j, change, score)


def test_what_is_wanted_is_a_fraction_of_the_teachers() -> None:
    rule = RewardFreeRule.beside(0.07, teacher_j=3.0, teacher_change=2.0)
    assert rule.threshold == 0.07
    assert (rule.target_j, rule.target_change) == (pytest.approx(1.05), pytest.approx(1.56))


@pytest.mark.parametrize(
    ("found", "exact", "cats"),
    [
        (judged(0.02, j=1.2), 1.2**1.5, 1.0),
        (judged(0.02, j=0.8), 0.8**1.5, 1.0),
        (judged(0.02, change=1.05), 1.0, 1.05**2),
        (judged(0.02, change=0.95), 1.0, 0.95**2),
        (judged(0.02, j=9.0, change=9.0), 2.5, 2.5),  # one round moves a weight no further
        (judged(0.02, j=0.1, change=0.1), 0.4, 0.4),
        (judged(0.08, j=1.2), 1.2 ** (1.5 * 0.54), 1.0),  # near the threshold with care
        (judged(0.08, change=1.05), 1.0, 1.05 ** (2 * 0.54**2)),  # and the change with more
        (judged(0.1, j=9.0, change=0.1), 1.0, 0.4),  # at it not at all, and falls as ever
        (judged(0.02, change=None), 1.0, 1.0),
    ],
)
def test_each_weight_of_a_student_that_is_alike_moves_by_its_own_error(
    found: Judged, exact: float, cats: float
) -> None:
    moved = RULE.next_strengths(Strengths(), found)
    assert (moved.exact, moved.cats) == (pytest.approx(exact), pytest.approx(cats))


def test_the_first_weights_do_not_depend_on_the_units_of_the_actions() -> None:
    plain = first_weights(2.0, teacher_j=4.0, teacher_change=0.5, half_range=1.0)
    assert plain == (pytest.approx(0.06 * 2 / 4), pytest.approx(0.02 * 2 / 0.25))
    strong = first_weights(2.0 * 9, teacher_j=4.0 * 3, teacher_change=0.5 * 3, half_range=3.0)
    assert strong == pytest.approx(plain)
    assert first_weights(2.0, 0.0, 0.0, 1.0) == (0.0, 0.0)


@pytest.mark.parametrize(("score", "room"), [(0.11, -1.5 * 0.21), (0.2, -1.0), (math.inf, -1.0)])
def test_both_weights_fall_as_far_as_the_student_goes_elsewhere(score: float, room: float) -> None:
    moved = RULE.next_strengths(Strengths(3.0, 3.0), judged(score, j=9.0), judged(0.11))
    assert moved.exact == pytest.approx(3 * 0.7**-room)
    assert moved.cats == pytest.approx(3 * 0.5**-room)


def test_falls_end_at_the_first_weights() -> None:
    far = judged(0.2)
    assert RULE.next_strengths(Strengths(1.2, 1.2), far, judged(0.11)) == Strengths(1.0, 1.0)
    below = Strengths(0.3, 0.8)  # where smoothness was more than asked for
    assert RULE.next_strengths(below, far, judged(0.11)) == below


def test_weights_do_not_move_by_bad_luck_and_a_student_with_it_is_not_handed_out() -> None:
    unlucky = Judged(6, None, 1.2, 1.0, score=0.12, chance=0.1)
    assert RULE.next_strengths(Strengths(), unlucky).exact == pytest.approx(1.2**1.5)
    assert not RULE.is_alike(unlucky)


def test_episodes_astray_count_from_the_second_round_in_a_row() -> None:
    astray, fine = Judged(6, None, 1.2, 1.0, score=0.2, chance=0.05), judged(0.05)
    high = Strengths(4.0, 4.0)
    assert RULE.next_strengths(high, astray, fine) == high
    fallen = RULE.next_strengths(high, astray, astray)
    assert (fallen.exact, fallen.cats) == (pytest.approx(2.8), pytest.approx(2.0))
    far = judged(0.2)  # no episode is astray: all of them are a little elsewhere
    assert RULE.next_strengths(high, far, fine) == fallen


def test_a_student_that_is_young_or_still_learning_keeps_its_weights() -> None:
    far = Strengths(2.0, 3.0)
    assert RULE.next_strengths(far, judged(0.9, iteration=3)) == far
    assert RULE.next_strengths(far, judged(0.4), judged(0.5)) == far
    assert RULE.next_strengths(far, judged(0.49), judged(0.5)) != far


def test_a_teacher_without_slopes_leaves_the_weights_alone() -> None:
    still = RewardFreeRule.beside(0.1, teacher_j=0.0, teacher_change=0.0)
    assert still.next_strengths(Strengths(), judged(0.02)) == Strengths()


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        (judged(0.05, j=9.0), judged(0.2, j=0.1), False),  # however smooth, it goes elsewhere
        (judged(0.2, j=0.1), judged(0.05, j=9.0), True),
        (judged(0.2), judged(0.3), False),  # both go elsewhere: the nearer one
        (judged(0.05, j=2.0), judged(0.09, j=1.5), True),  # both are alike: the smoother one
        (judged(0.05, j=1.5), judged(0.02, j=2.0), False),
        (judged(0.05, j=0.5, change=1.2), judged(0.05, j=0.9, change=1.1), True),
        (judged(0.05, j=0.5), judged(0.05, j=0.9), True),  # both are there: the later one
        (judged(0.05, j=1.5), judged(0.095, j=1.49), False),  # hardly smoother, far less alike
    ],
)
def test_the_smoothest_student_that_is_alike_is_handed_out(
    old: Judged, new: Judged, is_taken: bool
) -> None:
    assert RULE.prefers(new, old) is is_taken
    assert RULE.prefers(new, None)


def test_a_student_is_confirmed_by_the_round_before() -> None:
    assert confirmed(judged(0.04), judged(0.1)) == judged(0.07)
    assert confirmed(judged(0.04), None) == judged(0.04)
    assert not RULE.is_alike(confirmed(judged(0.05), judged(0.2)))


def test_a_share_is_confirmed_like_a_score() -> None:
    lucky, poor = Judged(6, 1.0, 0.5), Judged(5, 0.9, 0.5)
    assert confirmed(lucky, poor).share == pytest.approx(0.95)
    assert confirmed(lucky, Judged(5, None, 0.5)).share == 1.0
