"""Which student is handed out, what the weights do, and the verdict, by hand-worked numbers."""

import math
import re
from dataclasses import replace

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.demos.common_frame import CommonFrame
from spacil.learning.smoothing_goal import (
    PenaltySearches,
    ReturnGoal,
    ScoreGoal,
    StudentEvaluation,
    first_weights,
)
from spacil.learning.teacher import TeacherProfile
from spacil.learning.weight_search import select
from spacil.measuring.imitation_score import DemonstratedStates

FRAME = CommonFrame(torch.ones(1).double(), "a test")
VISITED = DemonstratedStates.of(torch.tensor([[-1.0], [1.0]]), 0.0)


def profile(variance: float, j: float, change: float, threshold: float = 0.1) -> TeacherProfile:
    return TeacherProfile(1.0, 0.0, j, change, FRAME, VISITED, 2.0, threshold, variance)


BY_SCORE = ScoreGoal(profile(1.0, 1 / 0.35, 1 / 0.78))
"""J and the action change are wanted at 1"""


def goal(**settings: float) -> ReturnGoal:
    return ReturnGoal(with_user_settings(default_config("smooth", "Hopper-v4"), settings).wish)


def student(
    share: float | None = 1.0, j: float = 1.0, change: float | None = None, iteration: int = 6
) -> StudentEvaluation:
    return StudentEvaluation(iteration, share, j, change)


def scored(
    score: float, j: float = 1.0, change: float | None = 1.0, iteration: int = 6, chance: float = 0
) -> StudentEvaluation:
    return StudentEvaluation(iteration, None, j, change, score, chance)


def moved(
    rule: ReturnGoal | ScoreGoal,
    new: StudentEvaluation,
    former: StudentEvaluation | None = None,
    *,
    start: tuple[float, float] = (1.0, 1.0),
) -> tuple[float, float]:
    """The factors on both weights after an evaluation."""
    found = rule.next_searches(PenaltySearches.starting(rule.highest).times(*start), new, former)
    return found.exact.weight, found.cats.weight


def about(*numbers: float) -> tuple[float, ...]:
    return tuple(pytest.approx(number) for number in numbers)


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        ((0.99, 1.0), (0.99, 2.0), True),  # both keep the return: the later one
        ((0.99, 1.0), (0.90, 0.1), False),  # however smooth, it fell
        ((0.90, 1.0), (0.99, 2.0), True),
        ((0.90, 1.0), (0.80, 0.5), False),  # both fell: the one that earns more
        ((None, 1.0), (None, 2.0), True),  # no return to keep: the later one
    ],
)
def test_a_student_that_keeps_the_return_is_preferred(
    old: tuple[float, float], new: tuple[float, float], is_taken: bool
) -> None:
    assert select(student(*new), student(*old, iteration=5), goal().rank) is is_taken


def test_the_lower_j_is_preferred_where_the_smoothest_is_asked_for() -> None:
    rank = goal(keep_return=0.95).rank
    assert not select(student(0.99, 2.0), student(0.96, 1.0, iteration=5), rank)
    assert select(student(0.96, 0.9), student(0.99, 1.0, iteration=5), rank)


@pytest.mark.parametrize(
    ("settings", "new", "start", "expected"),
    [
        ({}, student(0.5), (1, 1), (1, 0.25)),  # the return fell: the temporal weight first
        ({}, student(0.5), (1, 0.25**3), (0.5, 0.25**3)),
        ({}, student(1.0), (0.9, 0.1), (1, 0.15)),  # it is kept: back to what was given
        ({"keep_return": 0.98}, student(1.0), (1, 1), (1.5, 1.5)),  # and beyond
        ({}, student(0.1, iteration=1), (1, 1), (1, 1)),  # young
        ({"smoothness_target": 1}, student(j=1.2), (1, 1), (1.44, 1)),
        ({"smoothness_target": 1}, student(j=0.8), (1, 1), (0.64, 1)),
        ({"fluctuation_target": 1}, student(j=3, change=1.05), (1, 1), (1, 1.05**6)),
        ({"fluctuation_target": 1}, student(j=3, change=0.95), (1, 1), (1, 0.95**6)),
        ({"fluctuation_target": 1}, student(j=3, change=9.0), (1, 1), (1, 2.5)),
        (
            {"smoothness_target": 1, "fluctuation_target": 1},
            student(j=1.2, change=0.9),
            (1, 1),
            (1.44, 0.9**6),
        ),
        ({"keep_return": 0.98, "fluctuation_target": 1}, student(change=1), (1, 1), (1.5, 1)),
    ],
)
def test_weights_follow_the_return_and_the_targets(
    settings: dict[str, float],
    new: StudentEvaluation,
    start: tuple[float, float],
    expected: tuple[float, float],
) -> None:
    assert moved(goal(**settings), new, start=start) == about(*expected)


def test_a_student_that_is_still_getting_better_keeps_its_weights() -> None:
    assert moved(goal(), student(0.9), student(0.7)) == (1, 1)
    assert moved(goal(), student(0.9), student(0.898)) == (1, 0.25)


@pytest.mark.parametrize(
    ("worse", "better"), [((0.9, 1.1), (1.0, 1.0)), ((1.1, 0.9), (1.0, 1.0)), ((1.0, None), (1, 1))]
)
def test_targets_of_both_kinds_hold_together(
    worse: tuple[float, float | None], better: tuple[float, float]
) -> None:
    rank = goal(smoothness_target=1.0, fluctuation_target=1.0).rank
    assert select(student(1.0, *better, iteration=5), student(1.0, *worse), rank)


@pytest.mark.parametrize(
    ("settings", "new", "words"),
    [
        ({}, student(0.99, 0.5), "^done: 99.0% of the teacher's return is kept, J is 0.25"),
        ({}, student(0.9, 0.5), "^NOT done: only 90.0% .* below 98%"),
        ({"keep_return": 0.85}, student(0.9, 0.5), "^done"),
        ({"smoothness_target": 0.4}, student(0.99, 0.5), "^NOT done: .* above the target 0.4"),
        (
            {},
            student(0.99, 0.5, 0.3),
            "^done: .* J is 0.25 times .*, the action change is 0.75 times the teacher's",
        ),
        (
            {"fluctuation_target": 0.2},
            student(0.99, 0.5, 0.3),
            "^NOT done: .* the action change is 0.3, above the target 0.2",
        ),
        ({}, student(0.99, 2.1, 0.3), "^NOT done: .* J is 2.1, above the teacher's 2;"),
        ({}, student(0.99, 1.0, 0.41), "^NOT done: .* action change is 0.41, above the teacher"),
        ({"smoothness_target": 3.0}, student(0.99, 2.5, 0.3), "^NOT done: .* above the teacher"),
        ({}, student(None, 0.5), "^no verdict: the teacher earns no more than random"),
    ],
)
def test_the_verdict_says_what_is_kept(
    settings: dict[str, float], new: StudentEvaluation, words: str
) -> None:
    changes = [new.action_change, 0.4]
    is_done, sentence = goal(**settings).verdict(new.share, [new.j, 2.0], changes)
    assert re.search(words, sentence)
    assert is_done is words.startswith("^done")


def test_a_smooth_policy_that_noise_or_delay_hurts_more_is_not_done() -> None:
    worse = ["under delay 1 it earns 1112 where the teacher earns 3908"]
    is_done, sentence = goal().verdict(0.99, [0.5, 2.0], [0.3, 0.4], worse)
    assert not is_done
    assert re.search("^NOT done: .* J is 0.25 times .* but under delay 1 it earns 1112", sentence)
    assert "--action-delay 1" in sentence
    _, filtered = goal().verdict(0.99, [0.5, 2.0], [0.3, 0.4], worse, ["moving average 0.3"])
    assert "a filter on the teacher is as good here: moving average 0.3" in filtered


def test_what_is_wanted_is_a_fraction_of_the_teachers() -> None:
    rule = ScoreGoal(profile(1.0, 3.0, 2.0))
    wanted = scored(0.0, j=1.05, change=1.56)
    assert moved(rule, wanted) == about(1.0, 1.0)
    assert moved(rule, replace(wanted, j=1.1)) > (1.0, 1.0)


def test_the_first_weights_do_not_depend_on_the_units_of_the_actions() -> None:
    plain = first_weights(profile(2.0, 4.0, 0.5), half_range=1.0)
    assert tuple(plain.values()) == about(0.06 * 2 / 4, 0.02 * 2 / 0.25)
    assert first_weights(profile(18.0, 12.0, 1.5), half_range=3.0) == pytest.approx(plain)
    assert set(first_weights(profile(2.0, 0.0, 0.0), 1.0).values()) == {0.0}


@pytest.mark.parametrize(
    ("new", "exact", "cats"),
    [
        (scored(0.02, j=1.2), 1.2**1.5, 1.0),
        (scored(0.02, j=0.8), 0.8**1.5, 1.0),
        (scored(0.02, change=1.05), 1.0, 1.05**2),
        (scored(0.02, change=0.95), 1.0, 0.95**2),
        (scored(0.02, j=9.0, change=9.0), 2.5, 2.5),  # one round moves a weight no further
        (scored(0.02, j=0.1, change=0.1), 0.4, 0.4),
        (scored(0.08, j=1.2), 1.2 ** (1.5 * 0.54), 1.0),  # near the threshold with care
        (scored(0.08, change=1.05), 1.0, 1.05 ** (2 * 0.54**2)),  # and the change with more
        (scored(0.1, j=9.0, change=0.1), 1.0, 0.4),  # at it not at all, and falls as ever
        (scored(0.02, change=None), 1.0, 1.0),
        (scored(0.12, j=1.2, chance=0.1), 1.2**1.5, 1.0),  # bad luck moves no weight
    ],
)
def test_each_weight_of_a_student_that_is_alike_moves_by_its_own_error(
    new: StudentEvaluation, exact: float, cats: float
) -> None:
    assert moved(BY_SCORE, new) == about(exact, cats)


@pytest.mark.parametrize(("score", "room"), [(0.11, -1.5 * 0.21), (0.2, -1.0), (math.inf, -1.0)])
def test_both_weights_fall_as_far_as_the_student_goes_elsewhere(score: float, room: float) -> None:
    found = moved(BY_SCORE, scored(score, j=9.0), scored(0.11), start=(3, 3))
    assert found == about(3 * 0.7**-room, 3 * 0.5**-room)


def test_falls_end_at_the_first_weights() -> None:
    far, former = scored(0.2), scored(0.11)
    assert moved(BY_SCORE, far, former, start=(1.2, 1.2)) == (1.0, 1.0)
    assert moved(BY_SCORE, far, former, start=(0.3, 0.8)) == (0.3, 0.8)


def test_episodes_astray_count_from_the_second_round_in_a_row() -> None:
    astray, fine = scored(0.2, j=1.2, chance=0.05), scored(0.05)
    assert moved(BY_SCORE, astray, fine, start=(4, 4)) == (4, 4)
    assert moved(BY_SCORE, astray, astray, start=(4, 4)) == about(2.8, 2.0)
    # No episode is astray: all of them are a little elsewhere.
    assert moved(BY_SCORE, scored(0.2), fine, start=(4, 4)) == about(2.8, 2.0)


def test_a_student_that_is_young_or_still_learning_keeps_its_weights() -> None:
    assert moved(BY_SCORE, scored(0.9, iteration=3), start=(2, 3)) == (2, 3)
    assert moved(BY_SCORE, scored(0.4), scored(0.5), start=(2, 3)) == (2, 3)
    assert moved(BY_SCORE, scored(0.49), scored(0.5), start=(2, 3)) != (2, 3)


def test_a_teacher_without_slopes_leaves_the_weights_alone() -> None:
    still = ScoreGoal(profile(1.0, 0.0, 0.0))
    assert moved(still, scored(0.02)) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        (scored(0.05, j=9.0), scored(0.2, j=0.1), False),  # however smooth, it goes elsewhere
        (scored(0.2, j=0.1), scored(0.05, j=9.0), True),
        (scored(0.2), scored(0.3), False),  # both go elsewhere: the nearer one
        (scored(0.05, j=2.0), scored(0.09, j=1.5), True),  # both are alike: the smoother one
        (scored(0.05, j=1.5), scored(0.02, j=2.0), False),
        (scored(0.05, j=0.5, change=1.2), scored(0.05, j=0.9, change=1.1), True),
        (scored(0.05, j=0.5), scored(0.05, j=0.9), True),  # both are there: the later one
        (scored(0.05, j=1.5), scored(0.095, j=1.49), False),  # hardly smoother, far less alike
        (scored(0.11), scored(0.12, chance=0.1), False),  # bad luck is not handed out either
    ],
)
def test_the_smoothest_student_that_is_alike_is_handed_out(
    old: StudentEvaluation, new: StudentEvaluation, is_taken: bool
) -> None:
    assert select(new, replace(old, iteration=5), BY_SCORE.rank) is is_taken
    assert select(new, None, BY_SCORE.rank)


def test_share_and_score_of_two_rounds_are_averaged() -> None:
    lucky, poor = student(1.0), student(0.9, iteration=5)
    assert lucky.averaged_with(poor).share == pytest.approx(0.95)
    assert lucky.averaged_with(student(None)).share == 1.0
    assert scored(0.04).averaged_with(scored(0.1)).score == pytest.approx(0.07)
    assert scored(0.04).averaged_with(None) == scored(0.04)
