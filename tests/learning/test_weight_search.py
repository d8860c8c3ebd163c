"""The laws of weight searches: hand-worked moves, bounds, and plants whose answer is known."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from spacil.learning.weight_search import (
    LAWS,
    SLOWEST,
    TOLERANCE,
    Constraint,
    Law,
    ScoreSearch,
    TargetSearch,
    WeightSearch,
)
from spacil.measuring.evaluate import Best

TARGETS = ("J", "action change")


def play(
    target: float,
    iterations: int = 300,
    gain: float = 0.35,
    lag: float = 15.0,
    bias: float = 1.0,
    floor: float = 0.0,
    law: Law = LAWS["J"],
) -> tuple[TargetSearch, float]:
    """A policy that learns: J rises to 2, and falls as a power of the weight; slowly, with noise.

    Evaluations, every tenth iteration, see `bias` times the J of the batch. Returns the search
    and the J an evaluation sees at the end.
    """
    rng = random.Random(0)
    start = 0.3
    search, log_j = TargetSearch.starting(target, 0.03), math.log(start)
    for iteration in range(iterations):
        learned = math.log(start) + math.log(2 / start) * (1 - math.exp(-iteration / 30))
        rest = max(
            learned - gain * math.log(1 + search.applied(law) / 0.003), math.log(floor + 1e-9)
        )
        log_j += (rest - log_j) / lag
        batch_j = math.exp(log_j + rng.gauss(0, 0.05))
        search = search.after_batch(batch_j, law)
        if iteration % 10 == 9:
            search = search.after_evaluation(bias * math.exp(log_j + rng.gauss(0, 0.02)))
    return search, bias * math.exp(log_j)


@pytest.mark.parametrize("gain", [0.2, 0.35, 0.6])
@pytest.mark.parametrize("lag", [3.0, 15.0, 40.0])
@pytest.mark.parametrize("target", [0.6, 1.2, 1.8])
def test_a_reachable_target_is_neared_to_a_tenth_and_then_met(
    gain: float, lag: float, target: float
) -> None:
    _, early = play(target, gain=gain, lag=lag)
    assert abs(early / target - 1) < 0.1
    search, j = play(target, iterations=600, gain=gain, lag=lag)
    assert abs(j / target - 1) < TOLERANCE
    assert search.verdict(j, LAWS["J"]).is_met and search.verdict(j, LAWS["J"]).words == "met"


@pytest.mark.parametrize("lag", [3.0, 15.0, 40.0])
@pytest.mark.parametrize("gain", [0.07, 0.15, 0.35])
def test_an_action_change_that_hardly_answers_to_its_weight_is_met_too(
    gain: float, lag: float
) -> None:
    unpenalized = 2 * math.exp(-gain * math.log(11))  # what the first weight makes of it
    _, change = play(0.85 * unpenalized, gain=gain, lag=lag, law=LAWS["action change"])
    assert -0.1 < change / (0.85 * unpenalized) - 1 < TOLERANCE


def test_the_weight_of_an_action_change_rises_three_times_as_fast_and_falls_alike() -> None:
    start = TargetSearch.starting(1.0, 0.03)
    rises, falls = (
        [math.log(start.after_batch(value, LAWS[law]).weight / 0.03) for law in TARGETS]
        for value in (1.2, 0.8)
    )
    assert rises[1] == pytest.approx(3 * rises[0]) and rises[0] > 0
    assert falls[1] == pytest.approx(falls[0]) and falls[0] < 0


@pytest.mark.parametrize("bias", [0.7, 1.4])
def test_the_controller_aims_at_what_evaluations_see(bias: float) -> None:
    search, j = play(1.0, bias=bias)
    assert abs(j - 1) < 0.1
    assert math.exp(search.log_bias) == pytest.approx(bias, rel=0.1)


@pytest.mark.parametrize(
    ("settings", "words", "bound", "gaps"),
    [
        ({"target": 0.1, "floor": 0.4}, "above it with the weight at its bound", "highest", (2, 9)),
        ({"target": 5.0, "iterations": 600}, "met", "lowest", (-1, -0.5)),  # needs no weight
        ({"target": 0.2, "iterations": 60}, "still above it, and the weight still", "", (0.03, 9)),
    ],
)
def test_a_target_that_is_out_of_reach_is_reported(
    settings: dict[str, Any], words: str, bound: str, gaps: tuple[float, float]
) -> None:
    search, j = play(**settings)
    found = search.verdict(j, LAWS["J"])
    assert words in found.words and found.is_met is (words == "met")
    assert gaps[0] < found.gap < gaps[1]
    if bound:
        assert search.applied(LAWS["J"]) == pytest.approx(getattr(search, bound))


def test_j_at_the_tolerance_is_met_and_beyond_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # a number without rounding
    monkeypatch.setattr("spacil.learning.weight_search.TOLERANCE", 0.25)
    found = {j: TargetSearch.starting(2.0, 0.03).verdict(j, LAWS["J"]) for j in (2.5, 2.5625)}
    assert [each.is_met for each in found.values()] == [True, False]
    assert [each.words == "met" for each in found.values()] == [True, False]


def test_the_weight_rises_while_j_is_above_its_target_and_falls_while_below() -> None:
    law, start = LAWS["J"], TargetSearch.starting(1.0, 0.03)
    assert start.applied(law) == pytest.approx(0.03) and start.error == 0
    above, below = start.after_batch(1.3, law), start.after_batch(0.9, law)
    assert above.applied(law) > 0.03 > below.applied(law)
    assert above.error == pytest.approx(math.log(1.3))
    assert above.after_batch(1.3, law).weight > above.weight
    # An untrained policy is smooth for another reason: far below, it falls no faster.
    far, near = start.after_batch(0.01, law), start.after_batch(0.6, law)
    assert far.applied(law) == near.applied(law) < below.applied(law)


def test_a_policy_that_does_not_react_at_all_breaks_nothing() -> None:
    law = LAWS["J"]
    search = TargetSearch.starting(1.0, 0.03).after_batch(0.0, law).after_evaluation(0.0)
    assert math.isfinite(search.applied(law)) and search.log_bias == 0


SLACK = LAWS["slack"]
START = WeightSearch(0.1, 0.01, 3.0)


def moved(search: WeightSearch, *errors: float, law: str = "slack") -> WeightSearch:
    for error in errors:
        search = search.after(error, LAWS[law])
    return search


def step(old: WeightSearch, new: WeightSearch) -> float:
    return math.log(new.weight / old.weight)


@pytest.mark.parametrize(
    ("slack", "expected"),
    [(1.0, 0.2), (0.5, 0.2), (0.25, 0.1), (0.0, 0.0)],  # 0.4 of the slack, at most 0.2
)
def test_the_weight_rises_with_the_slack_and_slows_near_the_constraint(
    slack: float, expected: float
) -> None:
    assert step(START, moved(START, slack)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("slack", "expected"), [(-0.01, -0.1), (-0.5, -0.2), (-1.0, -0.4), (-9.0, -0.5)]
)
def test_the_weight_falls_with_the_violation_and_rises_slower_afterwards(
    slack: float, expected: float
) -> None:
    kept = moved(START, 0.5)
    fallen = moved(kept, slack)
    assert step(kept, fallen) == pytest.approx(expected)
    assert (kept.pace, fallen.pace) == (1.0, 0.5)


def test_one_unlucky_evaluation_does_not_slow_the_search_for_good() -> None:
    fallen = moved(START, 0.5, -1.0)
    paces = [moved(fallen, *[1.0] * n).pace for n in range(5)]
    assert paces == pytest.approx([0.5, 0.625, 0.78125, 0.9765625, 1.0])


def test_a_policy_that_recovers_is_left_alone() -> None:
    fallen = moved(START, 0.5, -3.0)
    recovering = moved(fallen, -2.0)
    assert recovering.weight == fallen.weight
    assert step(fallen, moved(recovering, -2.0)) == pytest.approx(-0.5)


def test_a_young_policy_is_left_alone_while_it_learns_and_then_gets_less_weight_slowly() -> None:
    learning = moved(START, -40.0, -20.0, -5.0)
    assert learning.weight == START.weight and not learning.has_held
    stuck = moved(learning, -5.0, -6.0)
    assert step(START, stuck) == pytest.approx(-2 * 0.15)
    assert stuck.pace == 1


@pytest.mark.parametrize("lowest", [0.01, 0.1])
def test_the_weight_stays_within_its_bounds(lowest: float) -> None:
    start = replace(START, lowest=lowest)
    high, low = moved(start, *[1.0] * 60), moved(start, 0.0, *[-1.0] * 60)
    assert (high.weight, low.weight) == (3.0, lowest)
    assert moved(replace(START, lowest=0.0), 0.0, *[-1.0] * 60).pace == SLOWEST


def keep_share(
    edge: float, steepness: float, num_evaluations: int = 40
) -> tuple[list[float], float]:
    """A policy whose share is 1 far below the weight `edge`, 0.98 at it, and falls on beyond it.

    It follows the weight slowly, over three evaluations, and evaluations are noisy. Returns the
    weights, and the highest one at an evaluation that kept 98 %.
    """
    rng = random.Random(1)
    keep = Constraint(0.98, 0.1, random_return=0.0, reference_return=100.0)
    search, felt = START, math.log(0.1)
    weights, kept = [], 0.0
    for _ in range(num_evaluations):
        felt += (math.log(search.weight) - felt) / 3
        share = 1 - 0.02 * math.exp(steepness * (felt - math.log(edge))) + rng.gauss(0, 0.001)
        slack = keep.slack(Best(100 * share, 1, 0.0))
        assert slack is not None
        if slack >= 0:
            kept = max(kept, math.exp(felt))
        search = search.after(slack, SLACK)
        weights.append(search.weight)
    return weights, kept


@pytest.mark.parametrize("steepness", [1.0, 4.0, 10.0])
@pytest.mark.parametrize("edge", [0.03, 0.3, 1.0])
def test_the_weight_ends_at_the_edge_of_what_may_be_kept(edge: float, steepness: float) -> None:
    weights, kept = keep_share(edge, steepness)
    assert 0.6 * edge < weights[-1] < 1.5 * edge
    assert max(weights) < 2 * max(edge, 0.1)
    assert kept > 0.9 * edge


def test_a_limit_rises_in_steps_twice_as_long_and_does_not_creep() -> None:
    start = WeightSearch(0.03, 0.03, 50.0)
    kept = moved(start, 1.0, law="limit")
    assert step(start, kept) == pytest.approx(2 * 0.2)
    assert step(kept, moved(kept, 0.4, law="limit")) == pytest.approx(2 * 0.4 * 0.4)
    assert step(kept, moved(kept, -0.5, law="limit")) == pytest.approx(-2 * 0.4 * 0.5)
    assert step(start, moved(start, 0.01, law="limit")) == pytest.approx(2 * 0.1)
    # After two falls a rise is a quarter as long.
    fallen = moved(replace(kept, weight=8.0), -1.0, -1.0, law="limit")
    assert step(fallen, moved(fallen, 0.01, law="limit")) == pytest.approx(2 * 0.05)


def test_a_fall_that_ends_at_the_bound_does_not_slow_the_search() -> None:
    low = moved(WeightSearch(0.03, 0.03, 50.0), 0.0, *[-2.0] * 20, law="limit")
    assert low.weight == pytest.approx(0.03) and low.pace > SLOWEST


def test_a_weight_that_waits_does_not_rise_and_gives_way_twice_as_fast() -> None:
    assert moved(START, -1.0, -1.0, law="waiting").weight == START.weight  # the policy is young
    waiting = moved(START, 0.5, law="waiting")
    assert waiting.weight == START.weight
    fallen = moved(waiting, -1.0, law="waiting")
    assert step(waiting, fallen) == pytest.approx(-2 * 0.4)
    assert moved(fallen, -0.5, law="waiting").weight == fallen.weight  # it recovers
    assert moved(fallen, 0.5, law="waiting").weight == fallen.weight  # and does not come back


def test_a_share_of_a_rise_is_a_share_of_its_length() -> None:
    assert step(START, START.after(0.25, SLACK, share=0.5)) == pytest.approx(0.05)
    assert START.after(-0.5, SLACK, share=0.5) == START.after(-0.5, SLACK)


RULE = replace(ScoreSearch.starting(0.1, 0.8, config_weight=0.1, first=0.1), weight=0.2)


@pytest.mark.parametrize(
    ("score", "j", "weight"),
    [
        (0.11, 2.0, 0.17),  # not alike: x 0.85, whatever J is
        (0.11, 0.5, 0.17),
        (0.00, 2.0, 0.25),  # alike and not smooth yet: x 1.25
        (0.075, 2.0, 0.25),  # a quarter of the threshold is far enough for the whole rise
        (0.0875, 2.0, 0.225),  # half of the way from there: half the rise
        (0.10, 2.0, 0.20),  # at the threshold: no rise
        (0.00, 0.8 * 7 / 6, 0.225),  # a sixth above J*: half the rise
        (0.00, 0.7, 0.18),  # smooth enough: x 0.9
    ],
)
def test_the_weight_moves_by_score_and_then_by_j(score: float, j: float, weight: float) -> None:
    assert RULE.after_evaluation(score, j).weight == pytest.approx(weight)


def test_a_bad_score_leads_back_to_the_first_weight_and_smoothness_below_it() -> None:
    bad = high = smooth = RULE
    for _ in range(30):
        bad, high = bad.after_evaluation(1.0, 2.0), high.after_evaluation(0.0, 2.0)
        smooth = smooth.after_evaluation(0.0, 0.5)
    assert (bad.weight, high.weight) == (0.1, 0.5)
    assert smooth.weight == pytest.approx(0.02)
    assert smooth.after_evaluation(1.0, 2.0).weight == smooth.weight
    assert bad.threshold == RULE.threshold and bad.target_j == RULE.target_j


def test_no_weight_is_too_low_to_fall_while_the_policy_is_too_smooth() -> None:
    """Smoother than J* and not alike: over-smoothed, so whatever the weight is, it falls."""
    rule = replace(RULE, weight=RULE.config_weight)
    assert rule.after_evaluation(1.0, 0.5).weight == pytest.approx(0.085)
    for _ in range(30):
        rule = rule.after_evaluation(1.0, 0.5)
    assert rule.weight == pytest.approx(0.02)


def test_a_first_weight_above_the_configs_may_fall_back_to_it() -> None:
    rule = replace(RULE, config_weight=0.05, lowest=0.01)
    for _ in range(30):
        rule = rule.after_evaluation(1.0, 2.0)
    assert rule.weight == 0.05
