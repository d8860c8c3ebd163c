"""As smooth as the imitation allows: a dual variable on what must be kept.

The weight has no goal of its own. At each evaluation of the policy that is handed out, log lambda
follows the slack of the constraint (`constraint.py`) by integral control:

    slack >= 0                           log lambda += min(0.4 slack, r)
    slack < 0, a quarter less than last  it stays: the policy recovers
    slack < 0                            log lambda += max(0.4 min(slack, -0.25), -0.5)

So it slows near the constraint from either side, but from the wrong one it does not creep. What
the weight does shows in the mean policy two or three evaluations later, and a search that does not
wait for that overshoots: every fall halves the largest rise r, from 0.2 down to 0.05, and every
evaluation that keeps the constraint gives a quarter of it back. Before the constraint has once been
kept, the policy is young rather than too smooth, and a fall is at most 0.15.

The weight stays below 30 times the first one. Where a share of the return must be kept it may fall
to a tenth of the first one; where a score decides, which may ask for too much, it never falls below
it, so that the policy is as smooth as without the wish.

With a fluctuation target the same law bounds the weight that the target may take (`ChangeLimit`):
first comes the constraint, then the action change, then J. So until the target is met J's weight
does not rise, and what it gave way (`yielded`) it does not get back, as the other does.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

from spacil.learning.control import log_step
from spacil.learning.target import MAX_LOG_WEIGHT

GAIN = 0.4
RISE, LEAST_RISE = 0.2, 0.05
REGAIN = 1.25
"""Factor on the largest rise when the constraint is kept: one unlucky evaluation must not slow a
search for good"""
FALL, FALL_OF_THE_YOUNG = 0.5, 0.15
RECOVERING = 0.75
"""Share of the last violation; one that shrank below it may go on shrinking with this weight."""
LEAST_VIOLATION = 0.25
"""A constraint that is missed counts as missed by so much."""
MAX_FACTOR = 30.0
"""Highest weight, in units of the first one."""
MIN_FACTOR_BY_RETURN, MIN_FACTOR_BY_SCORE = 0.1, 1.0
"""Lowest weight, in units of the first one."""


@dataclass(frozen=True)
class Smoothest:
    """The weight, and what its controller remembers; plain numbers that a checkpoint keeps."""

    log_weight: float
    log_lowest: float
    log_highest: float
    largest_rise: float = RISE
    last_slack: float | None = None
    was_kept: bool = False
    """Whether the constraint has held at some evaluation"""

    pace = 1.0
    """On every step"""
    least_rise = 0.0
    """While the constraint is kept, however narrowly"""

    @classmethod
    def starting(cls, weight: float, min_factor: float) -> Self:
        first = math.log(weight)
        return cls(first, first + math.log(min_factor), first + math.log(MAX_FACTOR))

    @property
    def weight(self) -> float:
        """lambda"""
        return math.exp(self.log_weight)

    def after_evaluation(self, slack: float | None) -> Self:
        """With the slack of the constraint; None where it is not known yet."""
        if slack is None:
            return self
        seen = replace(self, last_slack=slack, was_kept=self.was_kept or slack >= 0)
        if slack >= 0:
            faster = replace(seen, largest_rise=min(REGAIN * self.largest_rise, RISE))
            rise = max(GAIN * slack, self.least_rise)
            return faster._moved(min(rise, self.largest_rise))
        if self.last_slack is None or slack > RECOVERING * self.last_slack:
            return seen
        violation = min(slack, -LEAST_VIOLATION)
        if not self.was_kept:
            return seen._moved(log_step(violation, GAIN, 0.0, FALL_OF_THE_YOUNG))
        slower = replace(seen, largest_rise=max(self.largest_rise / 2, LEAST_RISE))
        return slower._moved(log_step(violation, GAIN, 0.0, FALL))

    def yielded(self, slack: float | None) -> Self:
        """The same for a weight that waits for another search.

        It does not rise, and gives way in steps twice as long; not for a policy that is young.
        """
        heard = self.after_evaluation(slack)
        fall = min(heard.log_weight - self.log_weight, 0.0) if self.was_kept else 0.0
        return replace(heard, log_weight=self.log_weight)._moved(2 * fall)

    def _moved(self, step: float) -> Self:
        moved = self.log_weight + self.pace * step
        return replace(self, log_weight=min(max(moved, self.log_lowest), self.log_highest))


class ChangeLimit(Smoothest):
    """The most weight that the search for an action change may take, by the same slack.

    It starts at the first weight, which is also the least, and moves in steps twice as long,
    because the action change answers less to its weight than J does. A target alone raises that
    weight fourfold from one evaluation to the next, which is past what the constraint allows before
    the mean policy shows it. Near the constraint the limit does not creep: what misses it is not
    handed out.
    """

    pace = 2.0
    least_rise = 0.1

    @classmethod
    def starting(cls, weight: float, min_factor: float = 1.0) -> Self:
        first = math.log(weight)
        return cls(first, first + math.log(min_factor), MAX_LOG_WEIGHT)

    def after_evaluation_with(self, weight: float, slack: float | None) -> Self:
        """With the slack, and the weight that the next iteration would have without it."""
        if slack is None or slack >= 0:
            return self.after_evaluation(slack)
        used = replace(self, log_weight=min(self.log_weight, math.log(weight)))
        if used.log_weight <= self.log_lowest:  # nothing of it to take back: it was not too fast
            return replace(used, log_weight=self.log_lowest, last_slack=slack)
        return used.after_evaluation(slack)


@dataclass(frozen=True)
class Candidate:
    """One evaluated policy, as far as choosing among them goes."""

    iteration: int
    average_return: float
    score: float
    j: float
    excess: float = 0.0
    """Of its action change over what a target asks for, relative; 0 where that is met"""


def is_preferred(
    new: Candidate, slack: float | None, old: Candidate, old_slack: float | None
) -> bool:
    """Whether a later policy takes the place of the one chosen so far.

    One that keeps the constraint beats one that does not; of two that keep it, the one nearer to a
    fluctuation target wins, and then the smoother one; of two that do not keep it, the one that
    misses it by less. Both slacks are those of the newest constraint.
    """
    slacks = [-math.inf if known is None else known for known in (slack, old_slack)]
    is_kept, was_kept = (known >= 0 for known in slacks)
    if is_kept != was_kept:
        return is_kept
    if not is_kept:
        return slacks[0] >= slacks[1]
    return (new.excess, new.j) < (old.excess, old.j)
