"""What a handful of episodes says about a policy's return, in one place for every report."""

from dataclasses import dataclass

import numpy as np

from spacil.envs.vector_env import FloatArray


@dataclass(frozen=True)
class ReturnStatistics:
    """The undiscounted returns of whole episodes of one policy; keys are stable."""

    average_return: float
    return_std: float
    """Over episodes, with Bessel's correction; 0 for one episode"""
    return_low: float
    return_high: float
    """95 % bootstrap interval of the mean over episodes of this one policy"""
    num_episodes: int


def return_statistics(returns: FloatArray) -> ReturnStatistics:
    """Of returns [episodes], at least one."""
    low, high = mean_interval(returns)
    return ReturnStatistics(
        average_return=float(returns.mean()),
        return_std=float(returns.std(ddof=1)) if len(returns) > 1 else 0.0,
        return_low=low,
        return_high=high,
        num_episodes=len(returns),
    )


def mean_interval(
    values: FloatArray, level: float = 0.95, resamples: int = 2_000
) -> tuple[float, float]:
    """Bootstrap interval of the mean, always from the same draws."""
    draws = np.random.default_rng(0).integers(len(values), size=(resamples, len(values)))
    tail = (1 - level) / 2
    low, high = np.quantile(values[draws].mean(axis=1), [tail, 1 - tail])
    return float(low), float(high)
