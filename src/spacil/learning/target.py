"""A wanted smoothness instead of a weight: the paper's constrained problem (eq:main_problem).

The multiplier lambda of the constraint J <= J* is found while training. The policy penalty lowers
J roughly as a power of its weight, so the controller works on logarithms: log lambda follows the
error log(J / J*) by a proportional and an integral term. J is measured each iteration on states of
the batch, which noisy actions visit; each evaluation says how far that is from J with mean actions,
and the controller corrects for it.

The same law serves the action change, with the weight of a temporal penalty (`ChangeDual`): what
is said of J here holds for either.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

from spacil.learning.control import limited

MIN_LOG_WEIGHT = -12.0
MAX_LOG_WEIGHT = 4.0
TOLERANCE = 0.05
"""A target means "at most"; J counts as there when it is no further above, which an evaluation
cannot tell apart."""

# With these gains a Hopper run of 400 iterations and a HalfCheetah run of 500 ended within 1 % of
# their targets (docs/results/imitation.md).
PROPORTIONAL_GAIN = 2.0
INTEGRAL_GAIN = 0.1
MAX_ERROR = 0.5
"""An untrained policy is smooth: its J, far below any target, must not unwind the weight."""
BIAS_GAIN = 0.5
"""Share of a newly seen bias that is believed: one evaluation is noisy."""


@dataclass(frozen=True)
class Dual:
    """The multiplier of J <= J*, and what its controller remembers; plain numbers."""

    target: float
    """J*, in the common frame"""
    log_weight: float
    """The integral term: log lambda when J is at its target"""
    batch_j: float | None = None
    """J on the newest batch"""
    log_bias: float = 0.0
    """log of J as evaluated over J on the batch of that iteration"""

    rising_gain = INTEGRAL_GAIN

    @classmethod
    def starting(cls, target: float, weight: float) -> Self:
        return cls(target, _clamped(math.log(weight)))

    @property
    def error(self) -> float:
        """log(J / J*), as an evaluation would see it; 0 before J was first measured."""
        if self.batch_j is None:
            return 0.0
        return math.log(max(self.batch_j, 1e-12) / self.target) + self.log_bias

    @property
    def gap(self) -> float:
        """J / J* - 1"""
        return math.expm1(self.error)

    @property
    def weight(self) -> float:
        """lambda"""
        return math.exp(
            _clamped(self.log_weight + PROPORTIONAL_GAIN * limited(self.error, MAX_ERROR))
        )

    def after_batch(self, batch_j: float) -> Self:
        """With a newly measured J: the integral term moves."""
        seen = replace(self, batch_j=batch_j)
        gain = self.rising_gain if seen.error > 0 else INTEGRAL_GAIN
        step = gain * limited(seen.error, MAX_ERROR)
        return replace(seen, log_weight=_clamped(self.log_weight + step))

    def at_most(self, log_weight: float) -> Self:
        """With an integral term that has not run away from a limit on the weight."""
        return replace(self, log_weight=min(self.log_weight, log_weight))

    def after_evaluation(self, evaluated_j: float) -> Self:
        """With the J of mean actions, right after the batch's: the bias moves."""
        if not self.batch_j or not evaluated_j:
            return self
        seen = math.log(evaluated_j / self.batch_j)
        return replace(self, log_bias=self.log_bias + BIAS_GAIN * (seen - self.log_bias))


class ChangeDual(Dual):
    """The multiplier of an action change that is to be at most so much.

    It answers far less to its weight than J does, so the weight rises three times as fast. It
    falls no faster: an untrained policy holds still, too.
    """

    rising_gain = 3 * INTEGRAL_GAIN


def _clamped(log_weight: float) -> float:
    return min(max(log_weight, MIN_LOG_WEIGHT), MAX_LOG_WEIGHT)


@dataclass(frozen=True)
class Verdict:
    """What became of a target, by an evaluation."""

    gap: float
    """J / J* - 1, with mean actions"""
    is_met: bool
    words: str


def verdict(dual: Dual, evaluated: float, name: str = "J") -> Verdict:
    """Whether what is asked for is reached, and if not, why."""
    gap = evaluated / dual.target - 1
    return Verdict(gap, gap <= TOLERANCE, _reason(dual, gap, name))


def _reason(dual: Dual, gap: float, name: str) -> str:
    if gap <= TOLERANCE:
        return "met"
    if math.log(dual.weight) >= MAX_LOG_WEIGHT - 1e-9:
        return f"not met: {name} stays above it with the weight at its bound"
    return f"not met: {name} is still above it, and the weight still moving"
