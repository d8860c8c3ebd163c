"""Means, intervals and probabilities over seeds, worked by hand and done again another way."""

import itertools
import statistics as standard

import numpy as np
import pytest
from numpy.typing import NDArray

from spacil.comparison.statistics import (
    bootstrap_interval,
    improvement,
    interquartile_mean,
    interquartile_mean_of_copies,
    interquartile_mean_over_tasks,
    ratio_of_means,
    summarize,
)


def test_mean_and_spread_are_those_of_the_seeds() -> None:
    summary = summarize([1.0, 2.0, 6.0])
    assert (summary.num_seeds, summary.mean, summary.iqm) == (3, 3.0, 3.0)
    assert summary.std == pytest.approx(7**0.5)  # (4 + 1 + 9) / 2


def test_one_seed_has_no_spread_and_no_interval() -> None:
    summary = summarize([5.0])
    assert (summary.mean, summary.std, summary.low, summary.high) == (5.0, None, None, None)


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
def test_the_interquartile_mean_drops_a_quarter_at_each_end(
    values: list[float], expected: float
) -> None:
    assert interquartile_mean(np.array(values)) == pytest.approx(expected)


def test_the_interval_is_that_of_all_resamples_of_three_seeds() -> None:
    # 27 equally likely resamples; each extreme of one third of 1/27 > 2.5 % is reached.
    values = [0.0, 3.0, 9.0]
    means = sorted(standard.mean(draw) for draw in itertools.product(values, repeat=3))
    assert means[0] == 0.0
    assert means[-1] == 9.0
    summary = summarize(values)
    assert (summary.low, summary.high) == (means[0], means[-1])


def test_the_interval_is_near_an_exact_one_for_five_seeds() -> None:
    values = [0.0, 1.0, 2.0, 4.0, 8.0]
    means = [sum(draw) / 5 for draw in itertools.product(values, repeat=5)]
    exact = np.quantile(means, [0.025, 0.975])
    summary = summarize(values)
    # Resampled means of these numbers are multiples of 0.2.
    assert (summary.low, summary.high) == pytest.approx(tuple(exact), abs=0.2)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        sample = generator.normal(size=30)
        low, high = bootstrap_interval(
            [sample], lambda resamples: resamples[0].mean(axis=-1), num_resamples=1_000
        )
        covered += low <= 0 <= high
    assert 0.88 < covered / 200 < 0.99


def test_improvement_counts_pairs_with_ties_one_half() -> None:
    # Of the 6 pairs: 3 > 1, 3 > 2, 2 > 1, 2 = 2 counts; 1 = 1 counts one half; 1 < 2.
    found = improvement([3.0, 2.0, 1.0], [1.0, 2.0])
    assert found.probability == pytest.approx((1 + 1 + 1 + 0.5 + 0.5 + 0) / 6)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.probability <= found.high <= 1


def test_improvement_is_certain_where_the_ranges_do_not_meet() -> None:
    found = improvement([5.0, 6.0, 7.0], [1.0, 2.0, 3.0])
    assert (found.probability, found.low, found.high) == (1.0, 1.0, 1.0)


def test_improvement_over_oneself_is_one_half() -> None:
    assert improvement([1.0, 4.0, 2.0], [1.0, 4.0, 2.0]).probability == 0.5


@pytest.mark.parametrize(("ours", "theirs"), [([5.0], [1.0, 2.0]), ([5.0, 6.0], [1.0])])
def test_one_seed_on_a_side_leaves_no_interval(ours: list[float], theirs: list[float]) -> None:
    better = improvement(ours, theirs)
    assert (better.probability, better.low, better.high) == (1.0, None, None)
    ratio = ratio_of_means(ours, theirs)
    assert ratio is not None
    assert ratio.value > 3
    assert (ratio.low, ratio.high) == (None, None)
    over_tasks = interquartile_mean_over_tasks([ours, theirs])
    assert (over_tasks.low, over_tasks.high) == (None, None)
    assert interquartile_mean_over_tasks([[1.0, 2.0]], [[5.0]]).low is None


def aggregate_by_loops(
    scores: NDArray[np.float64], num_resamples: int
) -> tuple[float, float, float]:
    """IQM of a [runs, tasks] matrix with its stratified interval, one resample at a time."""

    def iqm(values: list[float]) -> float:
        ordered = sorted(values)
        cut = len(ordered) // 4
        return standard.fmean(ordered[cut : len(ordered) - cut])

    generator = np.random.default_rng(1)
    draws = []
    for _ in range(num_resamples):
        values: list[float] = []
        for column in scores.T:
            values += generator.choice(column, size=len(column)).tolist()
        draws.append(iqm(values))
    low, high = np.quantile(draws, [0.025, 0.975])
    return iqm(scores.ravel().tolist()), float(low), float(high)


def test_the_aggregate_over_tasks_agrees_with_one_done_by_loops() -> None:
    scores = np.random.default_rng(7).normal(1.0, 0.2, size=(6, 4)) * [1.0, 0.9, 0.5, 1.1]
    summary = interquartile_mean_over_tasks([column.tolist() for column in scores.T])
    iqm, low, high = aggregate_by_loops(scores, 4_000)
    assert summary.iqm == pytest.approx(iqm)
    assert summary.low == pytest.approx(low, abs=0.01)
    assert summary.high == pytest.approx(high, abs=0.01)


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


@pytest.mark.parametrize("seed", range(5))
def test_copies_are_counted_as_if_they_were_written_out(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values, copies = generator.normal(size=(3, 9)), generator.integers(1, 6, size=9)
    written_out = interquartile_mean(np.repeat(values, copies, axis=-1))
    np.testing.assert_allclose(interquartile_mean_of_copies(values, copies), written_out)


def test_the_runs_that_scores_are_divided_by_are_resampled_too() -> None:
    # Of two runs each, both means are 1, 2 or 3 with odds 1, 2, 1: ratios from 1 / 3 to 3 / 1,
    # each end with a chance of 1 / 16. Were the references' mean exact: from 0.5 to 1.5.
    summary = interquartile_mean_over_tasks([[1.0, 3.0]], [[1.0, 3.0]])
    assert (summary.iqm, summary.mean) == (1.0, 1.0)
    assert (summary.low, summary.high) == pytest.approx((1 / 3, 3.0))


def test_a_task_is_divided_by_its_own_references() -> None:
    summary = interquartile_mean_over_tasks([[2.0, 2.0], [30.0, 30.0]], [[4.0, 4.0], [10.0, 10.0]])
    assert summary.iqm == pytest.approx((0.5 + 3.0) / 2)
