"""The search for a weight: integral control of its logarithm, one law per row of a table.

A penalty lowers what it penalises roughly as a power of its weight. So errors are relative, steps
are in log weight, and each step has a largest length: what is measured follows a weight slowly. An
error of 0 or more asks for more weight, one below 0 for less. Records are plain numbers that a
checkpoint keeps; a step is a pure function of record, law and error.

What must be kept, and which evaluated policy is, stands below. A share of the return, or the
likeness to the demonstrations, is turned into one number, the *slack*: 1 for an imitation beyond
doubt, 0 where it is just good enough, below 0 where it is not.

    share of the return >= keep      slack = (share - keep) / (1 - keep)
    imitation score <= threshold     slack = (threshold - score) / threshold

with share = (G - random) / (reference - random). The reference is the demonstrator's return by the
rewards that its demonstrations hold, also where steps were left out.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from spacil.measuring.evaluate import Best

SLOWEST, REGAIN = 0.25, 1.25
"""Least pace of a patient search, and the factor on its pace with each error of 0 or more: one
unlucky evaluation must not slow a search for good."""
TOLERANCE = 0.05
"""A target means "at most"; a value counts as there when it is no further above, which an
evaluation cannot tell apart."""
BIAS_GAIN = 0.5
"""Share of a newly seen bias that is believed: one evaluation is noisy."""
LARGEST_STEP = math.log(2.5)
"""Step of a weight of `smooth` in one round, at most."""


@dataclass(frozen=True)
class Law:
    """How the log weight answers to an error."""

    gain: float
    rise: float
    """Largest step up"""
    fall: float
    """Largest step down"""
    falling_gain: float | None = None
    """Gain for errors below 0; None: the same"""
    least_rise: float = 0.0
    """Smallest step up"""
    patience: float = 0.0
    """Share of the last error: one below 0 that shrank under it may go on shrinking with this
    weight. Each fall of a patient law halves its pace. 0: a law without patience"""
    early_fall: float = math.inf
    """Largest step down before the error was once 0 or more: the policy is young, rather than too
    smooth"""
    least_error: float = 0.0
    """An error below 0 counts as at least so large"""
    proportional: float = 0.0
    """Gain of the proportional term beside the integral one"""


LAWS: Mapping[str, Law] = {
    # The slack of what must be kept. What the weight does shows in the mean policy two or three
    # evaluations later, and a search that does not wait for that overshoots.
    "slack": Law(0.4, 0.2, 0.5, patience=0.75, early_fall=0.15, least_error=0.25),
    # The same for a weight that waits for another search: it gives way, twice as fast.
    "waiting": Law(0.8, 0.0, 1.0, patience=0.75, early_fall=0.0, least_error=0.25),
    # The most weight that a target of the action change may take, by the same slack. The action
    # change answers less to its weight than J does; near the constraint the limit does not creep.
    "limit": Law(0.8, 0.4, 1.0, least_rise=0.2, patience=0.75, early_fall=0.3, least_error=0.25),
    # log(J / J*), each iteration. An untrained policy is smooth: its J, far below any target, must
    # not unwind the weight. A Hopper run of 400 iterations and a HalfCheetah run of 500 ended
    # within 1 % of their targets (docs/results/imitation.md).
    "J": Law(0.1, 0.05, 0.05, proportional=2.0),
    # log(change / wanted change). It rises three times as fast and falls no faster: an untrained
    # policy holds still, too.
    "action change": Law(0.3, 0.15, 0.05, falling_gain=0.1, proportional=2.0),
    # smooth, once a round: by default towards fractions of the teacher's, or to a user's targets.
    # The action change answers less to its weight than J does, and what is measured is a mean of
    # students, which follows late.
    "student J": Law(1.5, LARGEST_STEP, LARGEST_STEP),
    "student change": Law(2.0, LARGEST_STEP, LARGEST_STEP),
    "student to J": Law(2.0, LARGEST_STEP, LARGEST_STEP),
    "student to change": Law(6.0, LARGEST_STEP, LARGEST_STEP),
}
MAX_PROPORTIONAL_ERROR = 0.5


@dataclass(frozen=True)
class WeightSearch:
    """A weight, its bounds, and what its law remembers."""

    weight: float
    lowest: float
    highest: float
    pace: float = 1.0
    """Share of the law's largest rise"""
    last_error: float | None = None
    has_held: bool = False
    """Whether the error was once 0 or more"""

    def times(self, factor: float, lowest: float | None = None) -> Self:
        """Multiply the weight, within its bounds; `lowest` replaces the lower one."""
        floor = self.lowest if lowest is None else lowest
        return replace(self, weight=min(max(factor * self.weight, floor), self.highest))

    def after(self, error: float, law: Law, share: float = 1.0) -> Self:
        """Take the step that a law asks for; of a step up, this share."""
        seen = replace(self, last_error=error, has_held=self.has_held or error >= 0)
        if error >= 0:
            rise = min(max(law.gain * error, law.least_rise), self.pace * law.rise)
            return replace(seen, pace=min(REGAIN * self.pace, 1.0)).times(math.exp(share * rise))
        is_first = self.last_error is None
        if law.patience and (is_first or error > law.patience * (self.last_error or 0.0)):
            return seen
        gain = law.gain if law.falling_gain is None else law.falling_gain
        largest = law.fall if self.has_held else min(law.fall, law.early_fall)
        fallen = seen.times(math.exp(-min(gain * max(-error, law.least_error), largest)))
        if law.patience and self.has_held and fallen.weight < self.weight:
            return replace(fallen, pace=max(self.pace / 2, SLOWEST))
        return fallen


@dataclass(frozen=True)
class Verdict:
    """What became of a target, by an evaluation."""

    gap: float
    """Value / target - 1, with mean actions"""
    is_met: bool
    words: str


@dataclass(frozen=True, kw_only=True)
class TargetSearch(WeightSearch):
    """The multiplier of value <= target: the paper's constrained problem (eq:main_problem).

    `weight` is the integral term. The value is measured on each batch, which noisy actions visit;
    each evaluation says how far that is from the value with mean actions, and the error counts it.
    """

    target: float
    measured: float | None = None
    """Value on the newest batch"""
    log_bias: float = 0.0
    """log of the value as evaluated over the value on the batch of that iteration"""

    @classmethod
    def starting(cls, target: float, weight: float) -> Self:
        return cls(weight=weight, lowest=math.exp(-12), highest=math.exp(4), target=target).times(1)

    @property
    def error(self) -> float:
        """log(value / target), as an evaluation would see it; 0 before it was first measured."""
        if self.measured is None:
            return 0.0
        return math.log(max(self.measured, 1e-12) / self.target) + self.log_bias

    def applied(self, law: Law) -> float:
        """The weight with its proportional term, for the next iteration."""
        error = min(max(self.error, -MAX_PROPORTIONAL_ERROR), MAX_PROPORTIONAL_ERROR)
        return self.times(math.exp(law.proportional * error)).weight

    def after_batch(self, value: float, law: Law) -> Self:
        """Move the integral term by a newly measured value."""
        seen = replace(self, measured=value)
        return seen.after(seen.error, law)

    def after_evaluation(self, value: float) -> Self:
        """Correct the bias by the value of mean actions, right after the batch's."""
        if not self.measured or not value:
            return self
        seen = math.log(value / self.measured)
        return replace(self, log_bias=self.log_bias + BIAS_GAIN * (seen - self.log_bias))

    def verdict(self, value: float, law: Law, name: str = "J") -> Verdict:
        """Whether what is asked for is reached, and if not, why."""
        gap = value / self.target - 1
        if gap <= TOLERANCE:
            return Verdict(gap, True, "met")
        if self.applied(law) >= self.highest * (1 - 1e-9):
            words = f"not met: {name} stays above it with the weight at its bound"
        else:
            words = f"not met: {name} is still above it, and the weight still moving"
        return Verdict(gap, False, words)


SCORE_FALL, SCORE_RISE, EASE = 0.85, 0.25, 0.9
"""Factor when the imitation suffers; most that a rise adds; factor when J is low enough."""
SCORE_GAIN, J_GAIN = 4.0, 3.0
"""A rise is whole until the score is within a quarter of its threshold, or J within a third."""
HIGHEST, LOWEST = 5.0, 0.2
"""Bounds of the weight, in units of the first one."""


@dataclass(frozen=True, kw_only=True)
class ScoreSearch(WeightSearch):
    """The default: the weight follows from what the policy does, and not from its reward.

    At each evaluation of the policy that is handed out: does it still visit the states that were
    demonstrated (`measuring/imitation_score.py`), and how smooth is it already?

        J <= J*              smooth enough, the weight falls: x 0.9, to a fifth of the first one
        else score > tau     it falls: x 0.85, back to the config's at most
        else                 it rises: x up to 1.25, the less the nearer score or J are

    and never beyond five times the first. Where J <= J* and score > tau it falls x 0.85, to a fifth
    of the config's: a weight that stayed there would keep a policy over-smoothed.
    """

    threshold: float
    """tau, the imitation score up to which the policy counts as like the demonstrations"""
    target_j: float
    """J*, in the common frame"""
    config_weight: float
    """Down to which the score alone lowers the weight: the config's"""
    first_weight: float

    @classmethod
    def starting(
        cls, threshold: float, target_j: float, config_weight: float, first: float
    ) -> Self:
        return cls(
            weight=first,
            lowest=LOWEST * config_weight,
            highest=HIGHEST * first,
            threshold=threshold,
            target_j=target_j,
            config_weight=config_weight,
            first_weight=first,
        )

    def after_evaluation(self, score: float, j: float) -> Self:
        """Move the weight by the imitation score and the J of mean actions."""
        is_alike = score <= self.threshold
        if j <= self.target_j and is_alike:
            return self.times(EASE, LOWEST * self.first_weight)
        if j <= self.target_j:
            return self.times(SCORE_FALL)
        if not is_alike:
            return self.times(SCORE_FALL, min(self.weight, self.config_weight))
        room = SCORE_GAIN * (1 - score / self.threshold)
        lack = J_GAIN * (j / self.target_j - 1)
        return self.times(1 + SCORE_RISE * min(1.0, room, lack))


FAR, FAR_FALL, WORSE = 2.0, 0.5, 1.2
"""From how many thresholds on a policy is far from the demonstrations; factor there, whatever J is;
scores up to so many times the best one have not suffered."""
PROGRESS, PATIENCE = 0.95, 4
"""A score below so many times the best one is progress; evaluations without before it counts as all
that there is."""
LABELS_J = 1.5
"""J_ref of demonstrated actions over that of labels: 1.0 to 2.2 on four tasks, as what an inverse
model finds is smoother than what was done."""


@dataclass(frozen=True, kw_only=True)
class SlowSearch(ScoreSearch):
    """The same where labels stand in for actions, or actions are late: a worse start, and slow.

        score > 2 tau            it falls: x 0.5
        J <= J*                  as above
        score > tau, in progress it stays
        score > 1.2 x its best   it falls: x 0.9
        else                     it rises as above

    A score may stay above tau for good. It counts as in progress until four evaluations have not
    brought it 5 % down.
    """

    best_score: float = 0.0
    num_stale: int = 0
    """Evaluations since the last progress"""

    @classmethod
    def of(cls, search: ScoreSearch, factor: float) -> Self:
        """Begin with this factor on J*."""
        given = vars(search) | {"target_j": factor * search.target_j}
        return cls(**given, best_score=HIGHEST * search.threshold)

    def after_evaluation(self, score: float, j: float) -> Self:
        """Move the weight by the imitation score and the J of mean actions."""
        is_progress = score < PROGRESS * self.best_score
        seen = replace(
            self,
            best_score=score if is_progress else self.best_score,
            num_stale=0 if is_progress else self.num_stale + 1,
        )
        tau, limit = self.threshold, WORSE * seen.best_score
        is_alike = score <= tau or (seen.num_stale >= PATIENCE and score <= FAR * tau)
        if score > FAR * tau:
            return seen.times(FAR_FALL)
        if j <= self.target_j:
            floor = LOWEST * self.first_weight if is_alike else None
            return seen.times(EASE if is_alike else SCORE_FALL, floor)
        if not is_alike:
            return seen
        if score > limit:
            return seen.times(EASE, min(self.weight, LOWEST * self.first_weight))
        room = SCORE_GAIN * (1 - score / max(tau, limit))
        lack = J_GAIN * (j / self.target_j - 1)
        return seen.times(1 + SCORE_RISE * min(1.0, room, lack))


T = TypeVar("T")
Rank = Callable[[Best], tuple[float, ...]]
"""An evaluated policy -> numbers that are compared in order"""

RANKS: Mapping[str, Rank] = {
    "last": lambda policy: (policy.iteration,),
    "return": lambda policy: (policy.average_return,),
    "imitation": lambda policy: (-_known(policy.imitation_score),),
}
"""Setting --select -> rank"""


def select(new: T, old: T | None, rank: Callable[[T], tuple[float, ...]]) -> bool:
    """Whether a later policy takes the place of the kept one: by rank, a tie keeps the older."""
    return old is None or rank(new) > rank(old)


@dataclass(frozen=True)
class Constraint:
    """What the smoothest policy must keep; plain numbers that a checkpoint keeps."""

    keep: float
    """Share of the return to keep; 0: the score decides and the return is not read"""
    threshold: float
    """tau, the score that still counts as like the demonstrations"""
    random_return: float = 0.0
    reference_return: float = 0.0
    """The demonstrator's, above that of random actions: a share of 1"""

    def share(self, average_return: float) -> float:
        """Share of the return."""
        return (average_return - self.random_return) / (self.reference_return - self.random_return)

    def slack(self, policy: Best) -> float:
        if not self.keep:
            return (self.threshold - _known(policy.imitation_score)) / self.threshold
        return (self.share(policy.average_return) - self.keep) / (1 - self.keep)

    def rank(self, policy: Best) -> tuple[float, ...]:
        """Rank for `select`: policies that keep the constraint come first.

        Of those the one nearer to a target of the action change wins, and then the smoother one;
        of the others the one that misses the constraint by less, and then the later one.
        """
        slack = self.slack(policy)
        if slack < 0:
            return (0.0, slack, policy.iteration)
        return (1.0, -policy.excess_change, -_known(policy.smoothness_j))

    @property
    def words(self) -> str:
        """The constraint in words."""
        if not self.keep:
            return f"imitation score up to {self.threshold:.3f}"
        return f"{self.keep:.1%} of the demonstrator's return"


def _known(value: float | None) -> float:
    assert value is not None  # measured wherever this rank is asked for
    return value
