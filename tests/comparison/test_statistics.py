"""Means, intervals and probabilities over seeds: worked by hand, and beside rliable and scipy."""

import statistics as standard
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from spacil.comparison.statistics import (
    Improvement,
    Summary,
    improvement,
    interquartile_mean_over_tasks,
    permutation_p,
    summarize,
)

metrics: ModuleType = pytest.importorskip("rliable.metrics", reason="rliable is not installed")

SCORES: NDArray[np.float64]
SCORES = np.random.default_rng(11).normal(1.0, 0.3, size=(6, 4)) * [1.0, 0.8, 0.5, 1.2]
"""[runs, tasks]"""


def over_tasks(scores: NDArray[np.float64] = SCORES) -> Summary:
    return interquartile_mean_over_tasks([column.tolist() for column in scores.T])


def test_mean_spread_and_interval_are_those_of_the_seeds() -> None:
    summary = summarize([1.0, 2.0, 6.0])
    assert (summary.num_seeds, summary.mean, summary.iqm) == (3, 3.0, 3.0)
    assert summary.std == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2
    expected = stats.ttest_1samp([1.0, 2.0, 6.0], 0.0).confidence_interval()
    assert (summary.low, summary.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7.0], 7.0),
        ([1.0, 2.0, 9.0], 4.0),
        ([0.0, 1.0, 3.0, 100.0], 2.0),
        ([0.0, 1.0, 2.0, 3.0, 100.0], 2.0),
        ([100.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -100.0], 2.5),
    ],
)
def test_the_interquartile_mean_drops_two_quarters(values: list[float], expected: float) -> None:
    assert summarize(values).iqm == pytest.approx(expected)


@pytest.mark.parametrize(
    "found",
    [
        summarize([5.0]),
        summarize([0.1, 0.1, 0.1]),  # a spread of nothing but rounding
        improvement([5.0], [1.0, 2.0]),
        improvement([5.0, 6.0, 7.0], [1.0, 2.0, 3.0]),  # the ranges do not meet
        interquartile_mean_over_tasks([[5.0], [1.0, 2.0]]),
        interquartile_mean_over_tasks([[1.0, 2.0]], [[5.0]]),
        interquartile_mean_over_tasks([[0.5, 0.5], [0.5, 0.5]]),
    ],
)
def test_one_seed_and_seeds_all_alike_have_no_interval(found: Summary | Improvement) -> None:
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize("num_seeds", [3, 5])
def test_intervals_of_few_seeds_cover_the_truth_as_often_as_they_say(num_seeds: int) -> None:
    generator = np.random.default_rng(3)
    covered = {"mean": 0, "probability": 0}
    truth = {"mean": 3.0, "probability": standard.NormalDist(1, 2**0.5).cdf(2.0)}
    for _ in range(400):
        ours, theirs = generator.normal(3.0, size=num_seeds), generator.normal(2.0, size=num_seeds)
        found = {
            "mean": summarize(ours.tolist()),
            "probability": improvement(ours.tolist(), theirs.tolist()),
        }
        for name, one in found.items():
            covered[name] += one.low is None or one.low <= truth[name] <= (one.high or 0.0)
    assert truth["probability"] == pytest.approx(0.76, abs=0.01)
    assert all(0.91 < count / 400 <= 1.0 for count in covered.values()), covered


def test_improvement_counts_pairs_with_ties_one_half() -> None:
    # Of the 6 pairs: 3 > 1, 3 > 2, 2 > 1, 2 = 2 counts; 1 = 1 counts one half; 1 < 2.
    found = improvement([3.0, 2.0, 1.0], [1.0, 2.0])
    assert found.probability == pytest.approx((1 + 1 + 1 + 0.5 + 0.5 + 0) / 6)
    assert found.low is not None and found.high is not None
    assert 0 <= found.low <= found.probability <= found.high <= 1
    assert improvement([1.0, 4.0, 2.0], [1.0, 4.0, 2.0]).probability == 0.5


def test_the_probability_of_improvement_is_rliables_its_interval_brunner_and_munzels() -> None:
    ours, theirs = [1.0, 2.0, 2.0, 5.0, 4.0], [2.0, 0.5, 3.0]
    pair = (np.array(ours)[:, None], np.array(theirs)[:, None])
    found = improvement(ours, theirs)
    expected = float(metrics.probability_of_improvement(*pair))
    assert found.probability == pytest.approx(expected, rel=1e-12)
    swapped = float(metrics.probability_of_improvement(*pair[::-1]))
    assert improvement(theirs, ours).probability == pytest.approx(swapped, rel=1e-12)
    test = stats.brunnermunzel(theirs, ours)
    assert found.low is not None and found.low > 0
    # (p - 1/2) / se is their statistic: half the width is t * se with their degrees of freedom.
    error = (found.probability - 0.5) / test.statistic
    freedom = next(
        f for f in np.arange(1.0, 9.0, 0.001)
        if 2 * stats.t.sf(abs(test.statistic), f) <= test.pvalue
    )  # fmt: skip
    half = stats.t.ppf(0.975, freedom) * error
    assert found.low == pytest.approx(found.probability - half, abs=1e-3)


def test_equal_means_are_tested_by_every_way_to_deal_the_values_out() -> None:
    # 10 ways; as far apart: the two complete separations. Of 252 ways for five against five: two.
    assert permutation_p([1.0, 2.0, 3.0], [4.0, 5.0]) == pytest.approx(0.2)
    assert permutation_p([9.0, 8.0, 7.0, 6.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0]) == pytest.approx(
        2 / 252
    )
    # 1 + 4 = 2 + 3: no way is less far apart.
    assert permutation_p([1.0, 4.0], [2.0, 3.0]) == 1.0
    assert improvement([9.0, 8.0], [1.0, 2.0]).p == pytest.approx(2 / 6)
    many = np.random.default_rng(0).normal(size=(2, 12))
    many[1] += 1.0
    assert permutation_p(*many) == pytest.approx(stats.ttest_ind(*many).pvalue, abs=0.01)


@pytest.mark.parametrize("num_runs", [1, 2, 3, 5, 6])
def test_the_interquartile_mean_over_tasks_is_rliables(num_runs: int) -> None:
    scores = SCORES[:num_runs]
    expected = float(metrics.aggregate_iqm(scores))
    assert over_tasks(scores).iqm == pytest.approx(expected, rel=1e-12)


def test_the_interval_over_tasks_is_that_of_resamples_one_at_a_time() -> None:
    generator = np.random.default_rng(1)
    draws = [
        metrics.aggregate_iqm(np.stack([generator.choice(column, 6) for column in SCORES.T], 1))
        for _ in range(4_000)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    found = over_tasks()
    # Two sets of draws: the ends of an interval differ by a few percent of its width.
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.08 * (high - low))


def test_every_task_weighs_the_same_however_many_runs_it_has() -> None:
    # The one run of the second task counts five times, as often as the first one's runs together:
    # of 0.2 x 5, 0.9, 1.0, 1.1, 1.2, 1.3 the two lowest and the two highest go.
    summary = interquartile_mean_over_tasks([[1.0, 0.9, 1.1, 1.3, 1.2], [0.2]])
    assert summary.iqm == pytest.approx((3 * 0.2 + 0.9 + 1.0 + 1.1) / 6)
    assert summary.mean == pytest.approx((1.1 + 0.2) / 2)
    # Two and three runs: each counts three times and twice, 12 copies, of which three go at an end.
    # 0 0 0 [1 1 2 | 2 2 4] 4 5 5 with 0 and 2 of the first task.
    summary = interquartile_mean_over_tasks([[0.0, 2.0], [1.0, 4.0, 5.0]])
    assert summary.iqm == pytest.approx((1 + 1 + 2 + 2 + 2 + 4) / 6)


def test_the_runs_that_scores_are_divided_by_are_resampled_too() -> None:
    # Of two runs each, both means are 1, 2 or 3 with odds 1, 2, 1: ratios from 1 / 3 to 3 / 1,
    # each end with a chance of 1 / 16. Were the references' mean exact: from 0.5 to 1.5.
    summary = interquartile_mean_over_tasks([[1.0, 3.0]], [[1.0, 3.0]])
    assert (summary.iqm, summary.mean) == (1.0, 1.0)
    assert (summary.low, summary.high) == pytest.approx((1 / 3, 3.0))
    summary = interquartile_mean_over_tasks([[2.0, 2.0], [30.0, 30.0]], [[4.0, 4.0], [10.0, 10.0]])
    assert summary.iqm == pytest.approx((0.5 + 3.0) / 2)  # each by its own
