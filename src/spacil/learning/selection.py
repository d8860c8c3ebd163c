"""Which evaluated policy is kept: one `select`, by a rank; and what the smoothest one must keep.

What must be kept is a share of the return, or the likeness to the demonstrations. Either is turned
into one number, the *slack*: 1 for an imitation beyond doubt, 0 where it is just good enough, below
0 where it is not.

    share of the return >= keep      slack = (share - keep) / (1 - keep)
    imitation score <= threshold     slack = (threshold - score) / threshold

with share = (G - random) / (reference - random). The reference is the demonstrator's return by the
rewards that its demonstrations hold, also where steps were left out; without rewards there it is
the best return of a regular evaluation so far, which moves with the run.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from spacil.measuring.evaluate import Best
from spacil.measuring.played import share_of_return

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
    reference_return: float | None = None
    """Return that counts as a share of 1; None before anything was seen"""
    follows_best: bool = False
    """Whether the reference is the best return seen so far, and not the demonstrator's"""

    def share(self, average_return: float) -> float | None:
        """Share of the return; None without a reference that earns more than random actions."""
        if self.reference_return is None:
            return None
        return share_of_return(average_return, self.random_return, self.reference_return)

    def slack(self, policy: Best) -> float | None:
        """Compute the slack; None where the share is not known yet."""
        if not self.keep:
            return (self.threshold - _known(policy.imitation_score)) / self.threshold
        share = self.share(policy.average_return)
        return None if share is None else (share - self.keep) / (1 - self.keep)

    def rank(self, policy: Best) -> tuple[float, ...]:
        """Rank for `select`: policies that keep the constraint come first.

        Of those the one nearer to a target of the action change wins, and then the smoother one;
        of the others the one that misses the constraint by less, and then the later one.
        """
        slack = self.slack(policy)
        if slack is None or slack < 0:
            return (0.0, -math.inf if slack is None else slack, policy.iteration)
        return (1.0, -policy.excess_change, -_known(policy.smoothness_j))

    def after_evaluation(self, average_return: float) -> "Constraint":
        """A return above all before it is the new reference, where there is no demonstrator's."""
        is_new = self.reference_return is None or average_return > self.reference_return
        if not (self.keep and self.follows_best and is_new):
            return self
        return replace(self, reference_return=average_return)

    def has_outgrown(self, former: "Constraint") -> bool:
        """Whether the best return has just risen by more than may be lost: the run still learns.

        Its newest policy then has a share of 1, however young it is.
        """
        if not (self.keep and self.follows_best):
            return False
        before = None if former.reference_return is None else self.share(former.reference_return)
        return before is None or before < self.keep

    @property
    def words(self) -> str:
        """The constraint in words."""
        if not self.keep:
            return f"imitation score up to {self.threshold:.3f}"
        whose = "best return seen" if self.follows_best else "demonstrator's return"
        return f"{self.keep:.1%} of the {whose}"


def _known(value: float | None) -> float:
    assert value is not None  # measured wherever this rank is asked for
    return value
