"""The dual variable of a constraint: hand-worked moves, bounds, a plant that breaks, choices."""

import json
import math
import random
from dataclasses import replace

import pytest

from spacil.learning.constraint import Constraint
from spacil.learning.smoothest import (
    FALL,
    FALL_OF_THE_YOUNG,
    LEAST_RISE,
    MAX_FACTOR,
    MIN_FACTOR_BY_RETURN,
    MIN_FACTOR_BY_SCORE,
    RISE,
    Candidate,
    ChangeLimit,
    Smoothest,
    is_preferred,
)

BY_RETURN = Smoothest.starting(0.1, MIN_FACTOR_BY_RETURN)


def moved(law: Smoothest, *slacks: float | None) -> Smoothest:
    for slack in slacks:
        law = law.after_evaluation(slack)
    return law


@pytest.mark.parametrize(
    ("slack", "step"),
    [(1.0, 0.2), (0.5, 0.2), (0.25, 0.1), (0.0, 0.0)],  # 0.4 of the slack, at most 0.2
)
def test_the_weight_rises_with_the_slack_and_slows_near_the_constraint(
    slack: float, step: float
) -> None:
    assert moved(BY_RETURN, slack).log_weight == pytest.approx(math.log(0.1) + step)


@pytest.mark.parametrize(
    ("slack", "step"), [(-0.01, -0.1), (-0.5, -0.2), (-1.0, -0.4), (-9.0, -FALL)]
)
def test_the_weight_falls_with_the_violation_and_rises_slower_afterwards(
    slack: float, step: float
) -> None:
    kept = moved(BY_RETURN, 0.5)
    fallen = moved(kept, slack)
    assert fallen.log_weight - kept.log_weight == pytest.approx(step)
    assert (kept.largest_rise, fallen.largest_rise) == (RISE, RISE / 2)


def test_one_unlucky_evaluation_does_not_slow_the_search_for_good() -> None:
    fallen = moved(BY_RETURN, 0.5, -1.0)
    rises = [law.largest_rise for n in range(5) for law in [moved(fallen, *[1.0] * n)]]
    assert rises == pytest.approx([0.1, 0.125, 0.15625, 0.1953125, RISE])


def test_a_policy_that_recovers_is_left_alone() -> None:
    fallen = moved(BY_RETURN, 0.5, -3.0)
    recovering = moved(fallen, -2.0)
    assert recovering.log_weight == fallen.log_weight
    assert moved(recovering, -2.0).log_weight == pytest.approx(fallen.log_weight - FALL)


def test_a_young_policy_is_left_alone_while_it_learns_and_then_gets_less_weight_slowly() -> None:
    learning = moved(BY_RETURN, -40.0, -20.0, -5.0)
    assert learning.log_weight == BY_RETURN.log_weight and not learning.was_kept
    stuck = moved(learning, -5.0, -6.0)
    assert stuck.log_weight == pytest.approx(BY_RETURN.log_weight - 2 * FALL_OF_THE_YOUNG)
    assert stuck.largest_rise == RISE


def test_nothing_moves_before_the_slack_is_known() -> None:
    assert moved(BY_RETURN, None) == BY_RETURN


@pytest.mark.parametrize("factor", [MIN_FACTOR_BY_RETURN, MIN_FACTOR_BY_SCORE])
def test_the_weight_stays_within_its_stated_bounds(factor: float) -> None:
    start = Smoothest.starting(0.1, factor)
    high, low = moved(start, *[1.0] * 60), moved(start, 0.0, *[-1.0] * 60)
    assert high.weight == pytest.approx(0.1 * MAX_FACTOR)
    assert low.weight == pytest.approx(0.1 * factor)
    assert low.largest_rise == LEAST_RISE


def test_the_law_survives_a_trip_through_json() -> None:
    law = moved(BY_RETURN, 0.3, -0.2, -0.5)
    assert Smoothest(**json.loads(json.dumps(vars(law)))) == law


def play(edge: float, steepness: float, num_evaluations: int = 40) -> tuple[list[float], float]:
    """A policy whose share is 1 far below the weight `edge`, 0.98 at it, and falls on beyond it.

    It follows the weight slowly, over three evaluations, and evaluations are noisy. Returns the
    weights, and the highest one at an evaluation that kept 98 %.
    """
    rng = random.Random(1)
    keep = Constraint(0.98, 0.1, random_return=0.0, reference_return=100.0)
    law, felt = BY_RETURN, math.log(0.1)
    weights, kept = [], 0.0
    for _ in range(num_evaluations):
        felt += (law.log_weight - felt) / 3
        share = 1 - 0.02 * math.exp(steepness * (felt - math.log(edge))) + rng.gauss(0, 0.001)
        slack = keep.slack(100 * share, 0.0)
        assert slack is not None
        if slack >= 0:
            kept = max(kept, math.exp(felt))
        law = law.after_evaluation(slack)
        weights.append(law.weight)
    return weights, kept


@pytest.mark.parametrize("steepness", [1.0, 4.0, 10.0])
@pytest.mark.parametrize("edge", [0.03, 0.3, 1.0])
def test_the_weight_ends_at_the_edge_of_what_may_be_kept(edge: float, steepness: float) -> None:
    weights, kept = play(edge, steepness)
    assert 0.6 * edge < weights[-1] < 1.5 * edge
    assert max(weights) < 2 * max(edge, 0.1)
    assert kept > 0.9 * edge


# --- the constraint


def test_the_slack_of_a_share_is_one_at_the_reference_and_zero_at_what_is_kept() -> None:
    keep = Constraint(0.9, 0.1, random_return=-50.0, reference_return=-10.0)
    assert keep.share(-14.0) == pytest.approx(0.9)
    slacks = [keep.slack(average_return, score=5.0) for average_return in (-10.0, -14.0, -18.0)]
    assert slacks == pytest.approx([1.0, 0.0, -1.0])


def test_the_slack_of_a_score_reads_no_return() -> None:
    alike = Constraint(0.0, 0.2)
    assert [alike.slack(1e9, score) for score in (0.0, 0.2, 0.3)] == pytest.approx([1, 0, -0.5])
    assert alike.after_evaluation(1e9) == alike


def test_without_a_demonstrators_return_the_best_one_seen_is_the_reference() -> None:
    keep = Constraint(0.9, 0.1, random_return=0.0, follows_best=True)
    assert keep.slack(50.0, 0.0) is None
    first = keep.after_evaluation(50.0)
    assert first.share(50.0) == 1 and first.after_evaluation(40.0) == first
    assert first.after_evaluation(100.0).share(50.0) == 0.5
    assert "best return seen" in first.words
    told = replace(first, follows_best=False)
    assert told.after_evaluation(100.0) == told and "demonstrator's return" in told.words


def test_a_best_return_that_still_grows_fast_is_told_from_one_that_does_not() -> None:
    keep = Constraint(0.9, 0.1, random_return=0.0, follows_best=True)
    first = keep.after_evaluation(50.0)
    assert first.has_outgrown(keep)  # the first of all
    assert first.after_evaluation(100.0).has_outgrown(first)
    assert not first.after_evaluation(51.0).has_outgrown(first)
    assert not first.after_evaluation(40.0).has_outgrown(first)
    told = replace(first, follows_best=False)
    assert not told.has_outgrown(told) and not Constraint(0.0, 0.1).has_outgrown(keep)


def test_a_reference_that_earns_no_more_than_random_gives_no_share() -> None:
    assert Constraint(0.9, 0.1, 10.0, 5.0).slack(7.0, 0.0) is None


# --- which policy is handed out

ROUGH, SMOOTH = Candidate(10, 99.0, 0.1, j=2.0), Candidate(20, 98.0, 0.1, j=1.0)


@pytest.mark.parametrize(
    ("slack", "old_slack", "is_it"),
    [
        (0.0, 0.5, True),  # both keep it: the smoother one
        (-0.1, 0.5, False),  # smooth, and not good enough
        (0.1, -0.5, True),
        (-0.2, -0.1, False),  # neither keeps it: the one that misses it by less
        (-0.1, -0.2, True),
        (None, 0.1, False),
        (None, None, True),
    ],
)
def test_the_smoothest_that_keeps_the_constraint_is_preferred(
    slack: float | None, old_slack: float | None, is_it: bool
) -> None:
    assert is_preferred(SMOOTH, slack, ROUGH, old_slack) is is_it


def test_of_two_that_keep_it_the_calmer_one_is_preferred_to_the_smooth_one() -> None:
    hasty = replace(SMOOTH, excess=0.4)
    assert not is_preferred(hasty, 0.5, ROUGH, 0.5)
    assert is_preferred(ROUGH, 0.0, hasty, 0.5)
    assert is_preferred(replace(ROUGH, excess=0.3), 0.0, hasty, 0.5)
    assert not is_preferred(ROUGH, 0.5, SMOOTH, 0.5)


# --- what is left for an action change


def test_a_limit_on_a_change_rises_from_the_first_weight_in_steps_twice_as_long() -> None:
    limit = ChangeLimit.starting(0.03)
    assert limit.weight == pytest.approx(0.03)
    kept = limit.after_evaluation_with(0.03, 1.0)
    assert kept.weight == pytest.approx(0.03 * math.exp(2 * 0.2))
    again = kept.after_evaluation_with(kept.weight, 0.4)
    assert again.weight == pytest.approx(kept.weight * math.exp(2 * 0.4 * 0.4))
    missed = again.after_evaluation_with(again.weight, -0.5)
    assert missed.weight == pytest.approx(again.weight * math.exp(-2 * 0.4 * 0.5))


def test_a_limit_on_a_change_does_not_creep_where_the_constraint_is_just_kept() -> None:
    limit = ChangeLimit.starting(0.03)
    narrow = limit.after_evaluation_with(0.03, 0.01)
    assert narrow.weight == pytest.approx(0.03 * math.exp(2 * 0.1))
    # After two falls a rise is a quarter as long, here too.
    high = replace(narrow, log_weight=math.log(8.0))
    fallen = high.after_evaluation_with(8.0, -1.0).after_evaluation_with(8.0, -1.0)
    again = fallen.after_evaluation_with(8.0, 0.01)
    assert again.weight == pytest.approx(fallen.weight * math.exp(2 * 0.05))


def test_a_limit_comes_down_from_the_weight_that_the_search_has() -> None:
    limit = ChangeLimit.starting(0.03)
    for _ in range(20):
        limit = limit.after_evaluation_with(0.2, 1.0)  # the target is met with less
    missed = limit.after_evaluation_with(0.2, -1.0)
    assert missed.weight == pytest.approx(0.2 * math.exp(-2 * 0.4))
    again = missed.after_evaluation_with(0.2, -1.0)
    assert again.weight == pytest.approx(missed.weight * math.exp(-2 * 0.4))  # its own, not 0.2


def test_a_limit_on_a_change_does_not_fall_below_the_first_weight() -> None:
    limit = ChangeLimit.starting(0.03).after_evaluation_with(0.03, 0.01)
    for _ in range(20):
        limit = limit.after_evaluation_with(0.001, -2.0)
    assert limit.weight == pytest.approx(0.03)
    assert limit.after_evaluation_with(0.03, 1.0).weight == pytest.approx(0.03 * math.exp(2 * 0.2))


def test_a_weight_that_waits_does_not_rise_and_gives_way_twice_as_fast() -> None:
    search = Smoothest.starting(0.1, 0.1)
    assert search.yielded(-1.0).weight == search.weight  # the policy is young
    waiting = search.yielded(0.5)
    assert waiting.weight == search.weight
    fallen = waiting.yielded(-1.0)
    assert fallen.weight == pytest.approx(0.1 * math.exp(-2 * 0.4))
    assert fallen.yielded(-0.5).weight == fallen.weight  # it recovers
    assert fallen.yielded(0.5).weight == fallen.weight  # and does not come back
    for _ in range(10):
        fallen = fallen.yielded(-1.0)
    assert fallen.weight == pytest.approx(0.01)
