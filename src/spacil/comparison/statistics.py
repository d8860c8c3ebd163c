"""Statistics over seeds: the seed is the unit, and no mean stands without its interval.

Intervals of means and probabilities are Student's t, which holds for three seeds as for
thirty. One seed has none, and neither do seeds that are all alike: an interval of no width would
claim to be certain. Whether two methods differ is asked of a permutation test. Several tasks are
pooled as rliable does it, by a stratified bootstrap.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]
Interval = tuple[float | None, float | None]

LEVEL = 0.95
NUM_RESAMPLES = 10_000
_STREAM = 20_211


@final
@dataclass(frozen=True)
class Summary:
    """One number per seed, summed up; keys are stable."""

    num_seeds: int
    mean: float
    std: float | None
    """Standard deviation over seeds, with Bessel's correction; None for one seed"""
    low: float | None
    high: float | None
    """95 % interval of the mean over seeds; None for one seed, and for seeds that are all alike"""
    iqm: float
    """Interquartile mean"""


@dataclass(frozen=True)
class Improvement:
    """How likely a run of one method beats a run of another; keys are stable."""

    probability: float
    low: float | None
    high: float | None
    """95 % interval over the seeds of both"""
    p: float | None
    """Two-sided p of equal means, by permutation; None for one seed"""


def summarize(values: Sequence[float]) -> Summary:
    """Sum up one value per seed, at least one."""
    array = np.asarray(values, dtype=np.float64)
    std = float(array.std(ddof=1)) if len(array) > 1 else None
    low, high = student_interval(float(array.mean()), array)
    iqm = float(stats.trim_mean(array, 0.25))
    return Summary(len(array), float(array.mean()), std, low, high, iqm)


def improvement(ours: Sequence[float], theirs: Sequence[float]) -> Improvement:
    """P(ours > theirs) of a random seed of each: the Mann-Whitney statistic as a probability.

    The interval is that of Brunner and Munzel (2000): each seed's share of the other side that it
    beats is a sample whose spread is known. None where every seed of one side beats all others.
    """
    difference = np.subtract.outer(np.asarray(ours, np.float64), np.asarray(theirs, np.float64))
    wins = np.sign(difference) / 2 + 0.5  # a tie counts one half
    probability = float(wins.mean())
    ends = student_interval(probability, wins.mean(axis=1), wins.mean(axis=0))
    low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in ends)
    return Improvement(probability, low, high, permutation_p(ours, theirs))


def permutation_p(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Two-sided p of equal means: exact, from every way to deal the values out to the two sides.

    It cannot fall below 2 / C(n + m, n): 0.1 for three seeds against three, 0.008 for five against
    five. Where there are more than 100,000 ways, from as many random ones. None for one seed.
    """
    if min(len(ours), len(theirs)) < 2:
        return None
    found = stats.permutation_test(
        (np.asarray(ours, np.float64), np.asarray(theirs, np.float64)),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        vectorized=True, n_resamples=100_000, batch=10_000, rng=np.random.default_rng(_STREAM),
    )  # fmt: skip
    return float(found.pvalue)


def student_interval(centre: float, *samples: FloatArray) -> Interval:
    """centre ± t s, where s^2 is the sum of the samples' variances of the mean (Welch)."""
    if min(map(len, samples)) < 2:
        return None, None
    variances = np.array([sample.var(ddof=1) / len(sample) for sample in samples])
    if not variances.sum() > (1e-12 * centre) ** 2:
        return None, None
    freedom = variances.sum() ** 2 / sum(
        variance**2 / (len(sample) - 1) for variance, sample in zip(variances, samples, strict=True)
    )
    low, high = stats.t.interval(LEVEL, freedom, centre, math.sqrt(variances.sum()))
    return float(low), float(high)


def interquartile_mean_over_tasks(
    scores_by_task: Sequence[Sequence[float]],
    references_by_task: Sequence[Sequence[float]] = (),
) -> Summary:
    """One number for several tasks: the IQM of all runs' scores, tasks resampled by themselves.

    Scores must be comparable between tasks, such as shares of the demonstrator's return; or else
    they are divided by the mean of the task's reference runs, which are resampled as well. Every
    task weighs the same, however many runs it has: the runs of each count as often as it takes for
    all tasks to have equally many. The mean is that of the tasks' means; the spread is over all
    runs.
    """
    scores = [np.asarray(values, dtype=np.float64) for values in scores_by_task]
    references = [np.asarray(values, dtype=np.float64) for values in references_by_task]
    equal = math.lcm(*map(len, scores))

    def by_task(samples: Sequence[FloatArray]) -> list[FloatArray]:
        ours, theirs = samples[: len(scores)], samples[len(scores) :]
        if not theirs:
            return list(ours)
        return [a / b.mean(axis=-1, keepdims=True) for a, b in zip(ours, theirs, strict=True)]

    def pooled(*samples: FloatArray, axis: int = -1) -> FloatArray:
        copies = [np.repeat(one, equal // one.shape[-1], axis=-1) for one in by_task(samples)]
        return np.asarray(stats.trim_mean(np.concatenate(copies, axis=-1), 0.25, axis=axis))

    samples = [*scores, *references]
    everything = np.concatenate(by_task(samples))
    low: float | None = None
    high: float | None = None
    if min(map(len, samples)) > 1:
        generator = np.random.default_rng(_STREAM)
        found = stats.bootstrap(
            samples, pooled, confidence_level=LEVEL, n_resamples=NUM_RESAMPLES, batch=1_000,
            method="percentile", vectorized=True, rng=generator,
        ).confidence_interval  # fmt: skip
        if found.low < found.high:
            low, high = float(found.low), float(found.high)
    return Summary(
        num_seeds=min(map(len, scores)),
        mean=float(np.mean([sample.mean() for sample in by_task(samples)])),
        std=float(everything.std(ddof=1)) if len(everything) > 1 else None,
        low=low,
        high=high,
        iqm=float(pooled(*samples)),
    )
