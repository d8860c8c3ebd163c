"""Which student is handed out, what the weights do, and what a reader is told."""

import re

import pytest

from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.learning.verdict import Goal, Judged, Strengths, verdict


def goal(**settings: float) -> Goal:
    return Goal.of(with_user_settings(default_config("smooth", "Hopper-v4"), settings))


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        ((0.99, 1.0), (0.99, 2.0), True),  # both keep the return: the later one
        ((0.99, 1.0), (0.90, 0.1), False),  # however smooth, it fell
        ((0.90, 1.0), (0.99, 2.0), True),
        ((0.90, 1.0), (0.80, 0.5), False),  # both fell: the one that earns more
        ((None, 1.0), (None, 2.0), True),  # nothing to judge by: the later one
    ],
)
def test_a_student_that_keeps_the_return_is_preferred(
    old: tuple[float, float], new: tuple[float, float], is_taken: bool
) -> None:
    assert goal().prefers(Judged(5, *new), Judged(4, *old)) is is_taken


def test_with_a_wish_for_the_smoothest_the_lower_j_is_preferred() -> None:
    wish = goal(keep_return=0.95)
    assert not wish.prefers(Judged(5, 0.99, 2.0), Judged(4, 0.96, 1.0))
    assert wish.prefers(Judged(5, 0.96, 0.9), Judged(4, 0.99, 1.0))


def test_weights_fall_with_the_return_the_temporal_one_first() -> None:
    fallen, strengths = Judged(6, 0.5, 1.0), Strengths()
    for _ in range(3):
        strengths = goal().next_strengths(strengths, fallen)
    assert (strengths.exact, strengths.cats) == (1.0, 0.25**3)
    assert goal().next_strengths(strengths, fallen).exact == 0.5


def test_a_student_that_is_still_getting_better_keeps_its_weights() -> None:
    judged = Judged(6, 0.9, 1.0)
    assert goal().next_strengths(Strengths(), judged, Judged(5, 0.7, 1.0)) == Strengths()
    assert goal().next_strengths(Strengths(), judged, Judged(5, 0.898, 1.0)).cats == 0.25


def test_weights_come_back_when_the_return_is_kept_but_no_further() -> None:
    kept = Judged(6, 1.0, 1.0)
    assert goal().next_strengths(Strengths(0.9, 0.1), kept) == Strengths(1.0, pytest.approx(0.15))
    grown = goal(keep_return=0.98).next_strengths(Strengths(), kept)
    assert grown == Strengths(1.5, 1.5)


def test_a_young_student_may_fall_without_consequence() -> None:
    assert goal().next_strengths(Strengths(), Judged(1, 0.1, 1.0)) == Strengths()


def test_a_target_moves_the_weight_on_slopes_towards_it() -> None:
    wish = goal(smoothness_target=1.0)
    above = wish.next_strengths(Strengths(), Judged(6, 1.0, 1.2))
    below = wish.next_strengths(Strengths(), Judged(6, 1.0, 0.8))
    assert above.exact == pytest.approx(1.44) and below.exact == pytest.approx(0.64)


def test_a_fluctuation_target_moves_the_temporal_weight_and_that_alone() -> None:
    wish = goal(fluctuation_target=1.0)
    above = wish.next_strengths(Strengths(), Judged(6, 1.0, 3.0, 1.05))
    below = wish.next_strengths(Strengths(), Judged(6, 1.0, 3.0, 0.95))
    far = wish.next_strengths(Strengths(), Judged(6, 1.0, 3.0, 9.0))
    assert above == Strengths(1.0, pytest.approx(1.05**6))
    assert below == Strengths(1.0, pytest.approx(0.95**6))
    assert far.cats == pytest.approx(2.5)


def test_targets_of_both_kinds_hold_together_and_beside_a_return_to_keep() -> None:
    both = goal(smoothness_target=1.0, fluctuation_target=1.0)
    moved = both.next_strengths(Strengths(), Judged(6, 1.0, 1.2, 0.9))
    assert moved.exact == pytest.approx(1.44) and moved.cats == pytest.approx(0.9**6)
    assert not both.meets(Judged(6, 1.0, 0.9, 1.1)) and not both.meets(Judged(6, 1.0, 1.1, 0.9))
    assert both.meets(Judged(6, 1.0, 1.0, 1.0)) and not both.meets(Judged(6, 1.0, 1.0, None))
    smoothest = goal(keep_return=0.98, fluctuation_target=1.0)
    assert smoothest.next_strengths(Strengths(), Judged(6, 1.0, 1.2, 1.0)) == Strengths(1.5, 1.0)


@pytest.mark.parametrize(
    ("settings", "judged", "words"),
    [
        ({}, Judged(9, 0.99, 0.5), "^done: 99.0% of the teacher's return is kept, J is 0.25"),
        ({}, Judged(9, 0.9, 0.5), "^NOT done: only 90.0% .* below 98%"),
        ({"keep_return": 0.85}, Judged(9, 0.9, 0.5), "^done"),
        ({"smoothness_target": 0.4}, Judged(9, 0.99, 0.5), "^NOT done: .* above the target 0.4"),
        ({}, Judged(9, 0.99, 0.5, 0.3), "J is 0.25 times the teacher's, the action change 0.75"),
        (
            {"fluctuation_target": 0.2},
            Judged(9, 0.99, 0.5, 0.3),
            "^NOT done: .* the action change is 0.3, above the target 0.2",
        ),
        ({}, Judged(9, 0.99, 2.1, 0.3), "^NOT done: .* J is 2.1, above the teacher's 2;"),
        ({}, Judged(9, 0.99, 1.0, 0.41), "^NOT done: .* action change is 0.41, above the teacher"),
        ({"smoothness_target": 3.0}, Judged(9, 0.99, 2.5, 0.3), "^NOT done: .* above the teacher"),
        ({}, Judged(9, None, 0.5), "^not judged: the teacher earns no more than random"),
    ],
)
def test_the_verdict_says_what_is_kept(
    settings: dict[str, float], judged: Judged, words: str
) -> None:
    found = verdict(goal(**settings), judged, 2.0, 0.4)
    assert re.search(words, found.words)
    assert found.is_done is words.startswith(("^done", "J is"))
