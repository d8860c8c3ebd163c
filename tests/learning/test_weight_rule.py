"""The weight that follows from score and J: hand-worked moves, bounds, and its start."""

from dataclasses import replace

import pytest
from tiny_runs import tiny

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.demos.common_frame import CommonFrame
from spacil.demos.file import load_demos
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.learning.weight_rule import (
    WeightRule,
    starting_rule,
    target_fraction,
    unpenalized_j,
    weight_scale,
)

RULE = WeightRule(threshold=0.1, target_j=0.8, config_weight=0.1, first_weight=0.1, weight=0.2)


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
    rule = replace(RULE, config_weight=0.05)
    for _ in range(30):
        rule = rule.after_evaluation(1.0, 2.0)
    assert rule.weight == 0.05


@pytest.mark.parametrize(("pairs", "fraction"), [(50, 0.4388), (300, 0.3802), (6_000, 0.2991)])
def test_few_pairs_ask_for_less_smoothness(pairs: int, fraction: float) -> None:
    assert target_fraction(pairs) == pytest.approx(fraction, rel=1e-3)


@pytest.mark.parametrize(
    ("reference_j", "scale"),
    [(4.0, 1.0), (1.8, 1.0), (0.9, 4.0), (0.6, 9.0), (0.5, 10.0), (0.0, 10.0)],
)
def test_where_j_is_small_the_first_weight_is_larger(reference_j: float, scale: float) -> None:
    assert weight_scale(reference_j) == pytest.approx(scale)


def test_the_rule_starts_from_the_demonstrations_alone() -> None:
    demos = load_demos("Reacher-v4").first(4)
    settings = tiny("spacil", warm_start_steps=30, seed=3)
    config = with_settings(default_config("spacil", "Reacher-v4"), settings)
    env = make_vector_env("Reacher-v4", 1, ResetSeeds(0, "probe"), 1)
    env.close()
    frame = CommonFrame.of(demos)
    rule, again = (starting_rule(config, demos, frame, env.spec) for _ in range(2))
    assert rule == again
    assert rule.threshold > 0.1
    reference = unpenalized_j(config, demos, frame, env.spec)
    assert rule.config_weight == 0.1
    assert rule.weight == rule.first_weight == pytest.approx(0.1 * weight_scale(reference))
    assert rule.target_j == pytest.approx(target_fraction(demos.num_steps) * reference)
    smoother = with_settings(config, {"penalty": ("exact=100.0",)})
    assert unpenalized_j(smoother, demos, frame, env.spec) == reference
