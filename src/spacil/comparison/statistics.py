"""Statistics over seeds: the seed is the unit, and no mean stands without its interval.

Pure functions on numbers. Intervals are percentile bootstrap intervals from a fixed stream, so one
set of numbers always has one interval. With three seeds an interval is a hint, not a test: it can
be no wider than the three numbers themselves.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
"""Reduces the last axis: [..., N] -> [...]"""

LEVEL = 0.95
NUM_RESAMPLES = 50_000
_STREAM = 20_211


@dataclass(frozen=True)
class Summary:
    """One number per seed, summed up; keys are stable."""

    num_seeds: int
    mean: float
    std: float | None
    """Over seeds, with Bessel's correction; None for one seed"""
    low: float | None
    high: float | None
    """95 % bootstrap interval of the mean over seeds; None for one seed"""
    iqm: float
    """Interquartile mean"""


def summarize(values: Sequence[float]) -> Summary:
    """Of one value per seed, at least one."""
    array = np.asarray(values, dtype=np.float64)
    mean, iqm = float(array.mean()), float(interquartile_mean(array))
    std = float(array.std(ddof=1)) if len(array) > 1 else None
    low, high = interval_over_seeds([array], lambda samples: samples[0].mean(axis=-1))
    return Summary(len(array), mean, std, low, high, iqm)


def interquartile_mean(values: FloatArray) -> FloatArray:
    """Mean of [..., N] without the floor(N/4) lowest and the floor(N/4) highest values.

    Less moved by one lucky or unlucky seed than the mean, and less wasteful than the median; below
    four values it is the mean.
    """
    cut = values.shape[-1] // 4
    middle = np.sort(values, axis=-1)[..., cut : values.shape[-1] - cut]
    return np.asarray(middle.mean(axis=-1))


def bootstrap_interval(
    samples: Sequence[FloatArray],
    statistic: Callable[[Sequence[FloatArray]], FloatArray],
    level: float = LEVEL,
    num_resamples: int = NUM_RESAMPLES,
) -> tuple[float, float]:
    """Percentile interval of a statistic of independent samples, each resampled by itself.

    Several samples are strata: the tasks of an aggregate, or the two sides of a comparison.
    `statistic` takes resamples [R, N_i] of each sample and returns [R].
    """
    generator = np.random.default_rng(_STREAM)
    resampled = [
        sample[generator.integers(len(sample), size=(num_resamples, len(sample)))]
        for sample in samples
    ]
    tail = (1 - level) / 2
    low, high = np.quantile(statistic(resampled), [tail, 1 - tail])
    return float(low), float(high)


def interval_over_seeds(
    samples: Sequence[FloatArray], statistic: Callable[[Sequence[FloatArray]], FloatArray]
) -> tuple[float | None, float | None]:
    """`bootstrap_interval`; None where a sample is one seed, of whose spread nothing is known."""
    if min(map(len, samples)) == 1:
        return None, None
    return bootstrap_interval(samples, statistic)


@dataclass(frozen=True)
class Improvement:
    """How likely a run of one method beats a run of another; keys are stable."""

    probability: float
    low: float | None
    high: float | None
    """95 % bootstrap interval over the seeds of both; None where one of them has one seed"""


def improvement(ours: Sequence[float], theirs: Sequence[float]) -> Improvement:
    """P(ours > theirs) of a random seed of each: the Mann-Whitney statistic as a probability."""
    pair = [np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)]
    low, high = interval_over_seeds(pair, lambda both: probability_greater(both[0], both[1]))
    return Improvement(float(probability_greater(pair[0], pair[1])), low, high)


def probability_greater(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """Share of pairs ([..., N], [..., M]) with ours > theirs; a tie counts one half."""
    difference = ours[..., :, None] - theirs[..., None, :]
    return np.asarray((np.sign(difference) / 2 + 0.5).mean(axis=(-2, -1)))


@dataclass(frozen=True)
class Ratio:
    """Mean of one method over the mean of another; keys are stable."""

    value: float
    low: float | None
    high: float | None
    """95 % bootstrap interval over the seeds of both; None where one of them has one seed"""


def ratio_of_means(ours: Sequence[float], theirs: Sequence[float]) -> Ratio | None:
    """mean(ours) / mean(theirs), seeds of each resampled by themselves; None for a zero mean."""
    pair = [np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)]
    if pair[1].mean() == 0:
        return None
    value = float(pair[0].mean() / pair[1].mean())
    low, high = interval_over_seeds(pair, lambda both: both[0].mean(-1) / both[1].mean(-1))
    return Ratio(value, low, high)


def interquartile_mean_over_tasks(
    scores_by_task: Sequence[Sequence[float]],
    references_by_task: Sequence[Sequence[float]] = (),
) -> Summary:
    """One number for several tasks: the IQM of all runs' scores, tasks resampled by themselves.

    Scores must be comparable between tasks, such as shares of the demonstrator's return; or else
    they are divided by the mean of the task's reference runs, which are resampled as well. Every
    task weighs the same, however many runs it has: as if the runs of each were copied until all
    tasks had equally many. The mean is that of the tasks' means; the spread is over all runs.
    """
    scores, references = (
        [np.asarray(values, dtype=np.float64) for values in by_task]
        for by_task in (scores_by_task, references_by_task)
    )
    num_runs = [len(sample) for sample in scores]
    copies = _copies_for_equal_weight(num_runs)

    def comparable(resamples: Sequence[FloatArray]) -> Sequence[FloatArray]:
        if not references:
            return resamples
        ours, theirs = resamples[: len(scores)], resamples[len(scores) :]
        return [a / b.mean(axis=-1, keepdims=True) for a, b in zip(ours, theirs, strict=True)]

    def pooled(resamples: Sequence[FloatArray]) -> FloatArray:
        together = np.concatenate(comparable(resamples), axis=-1)
        return interquartile_mean_of_copies(together, copies)

    samples = [*scores, *references]
    by_task = comparable(samples)
    everything = np.concatenate(by_task)
    low, high = interval_over_seeds(samples, pooled)
    return Summary(
        num_seeds=min(num_runs),
        mean=float(np.mean([sample.mean() for sample in by_task])),
        std=float(everything.std(ddof=1)) if len(everything) > 1 else None,
        low=low,
        high=high,
        iqm=float(pooled(samples)),
    )


def interquartile_mean_of_copies(values: FloatArray, copies: NDArray[np.int64]) -> FloatArray:
    """`interquartile_mean` of [..., N], as if value i were there `copies[i]` times."""
    order = np.argsort(values, axis=-1)
    upto = np.cumsum(copies[order], axis=-1)
    num_copies = int(copies.sum())
    first, end = num_copies // 4, num_copies - num_copies // 4
    kept = upto.clip(first, end) - (upto - copies[order]).clip(first, end)
    ordered = np.take_along_axis(values, order, axis=-1)
    return np.asarray((kept * ordered).sum(axis=-1) / (end - first))


def _copies_for_equal_weight(num_runs: Sequence[int]) -> NDArray[np.int64]:
    """How often each run counts so that all tasks count the same; of all runs, task by task."""
    per_task = math.lcm(*num_runs)
    return np.repeat([per_task // count for count in num_runs], num_runs)
