"""Our statistics against those of rliable (Agarwal et al. 2021) and scipy, where there are any."""

import warnings
from types import ModuleType

import numpy as np
import pytest

from spacil.comparison.statistics import (
    FloatArray,
    improvement,
    interquartile_mean,
    interquartile_mean_over_tasks,
)

stats: ModuleType = pytest.importorskip("scipy.stats", reason="scipy is not installed")
metrics: ModuleType = pytest.importorskip("rliable.metrics", reason="rliable is not installed")

SCORES: FloatArray = np.random.default_rng(11).normal(1.0, 0.3, size=(6, 4)) * [1.0, 0.8, 0.5, 1.2]
"""[runs, tasks]"""


@pytest.mark.parametrize("num_runs", [1, 2, 3, 5, 6])
def test_the_interquartile_mean_is_rliables(num_runs: int) -> None:
    scores = SCORES[:num_runs]
    expected = float(metrics.aggregate_iqm(scores))
    assert float(interquartile_mean(scores.ravel())) == pytest.approx(expected, rel=1e-12)
    ours = interquartile_mean_over_tasks([column.tolist() for column in scores.T])
    assert ours.iqm == pytest.approx(expected, rel=1e-12)


def iqm(*samples: FloatArray, axis: int = -1) -> FloatArray:
    """Of all values of several samples, [..., N_i] each; as scipy calls a statistic."""
    return np.asarray(stats.trim_mean(np.concatenate(samples, axis=axis), 0.25, axis=axis))


def test_the_interval_over_tasks_is_that_of_scipys_bootstrap() -> None:
    found = stats.bootstrap(
        list(SCORES.T), iqm, method="percentile", n_resamples=20_000, rng=np.random.default_rng(5)
    ).confidence_interval
    assert_same_interval((found.low, found.high))


def test_the_interval_over_tasks_is_that_of_rliables_library() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that it imports
        try:
            from rliable import library
        except (ImportError, TypeError) as error:  # arch 7.2 does not load beside pandas 3
            pytest.skip(f"rliable's bootstrap cannot be loaded: {error}")
        _, intervals = library.get_interval_estimates(
            {"ours": SCORES},
            lambda scores: np.array([metrics.aggregate_iqm(scores)]),
            method="percentile",
            reps=4_000,
        )
    low, high = intervals["ours"].ravel()
    assert_same_interval((float(low), float(high)))


def assert_same_interval(expected: tuple[float, float]) -> None:
    """Two sets of draws: the ends of an interval differ by a few percent of its width."""
    ours = interquartile_mean_over_tasks([column.tolist() for column in SCORES.T])
    assert (ours.low, ours.high) == pytest.approx(expected, abs=0.08 * (expected[1] - expected[0]))


def test_the_probability_of_improvement_is_rliables_also_with_ties() -> None:
    ours, theirs = [1.0, 2.0, 2.0, 5.0], [2.0, 0.5, 3.0]
    pair = (np.array(ours)[:, None], np.array(theirs)[:, None])
    expected = float(metrics.probability_of_improvement(*pair))
    assert improvement(ours, theirs).probability == pytest.approx(expected, rel=1e-12)
    swapped = float(metrics.probability_of_improvement(*pair[::-1]))
    assert improvement(theirs, ours).probability == pytest.approx(swapped, rel=1e-12)
