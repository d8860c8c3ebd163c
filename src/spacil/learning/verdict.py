"""When a smooth policy is good enough, and what the weights do until it is."""

import math
from dataclasses import dataclass

from spacil.config.train_config import TrainConfig
from spacil.learning.control import log_step

REQUIRED_SHARE = 0.98
"""Of the teacher's return above random actions; less is a fall, unless a user asks for less."""
TARGET_TOLERANCE = 1.02
"""A J or change so much above its target still meets it: two evaluations differ by as much."""

FIRST_JUDGED_ROUND = 4
"""Before it a student falls because it is young, whatever the weights."""

STILL_LEARNING = 0.005
"""A share that rose by so much since the last evaluation may rise on with the same weights."""

_GROWTH, _RETREAT, _RETREAT_OF_CATS = 1.5, 0.5, 0.25
_LEAST_CATS = 0.02
_LARGEST_STEP = math.log(2.5)
_GAIN_OF_J, _GAIN_OF_CHANGE = 2.0, 6.0
"""J falls slowly as its weight grows, and the action change slower still: these bring either to its
target in a few rounds."""


@dataclass(frozen=True)
class Strengths:
    """Factors on the weights of the penalties, as the rounds move them."""

    exact: float = 1.0
    cats: float = 1.0

    def retreat(self) -> "Strengths":
        """The temporal penalty first: a gait needs its fast movements more than its slopes."""
        if self.cats > _LEAST_CATS:
            return Strengths(self.exact, _RETREAT_OF_CATS * self.cats)
        return Strengths(_RETREAT * self.exact, self.cats)

    def advance(self, limit: float) -> "Strengths":
        """Both up, at most to `limit` of the weights as given."""
        exact, cats = (min(_GROWTH * factor, limit) for factor in (self.exact, self.cats))
        return Strengths(exact, cats)


@dataclass(frozen=True)
class Goal:
    """What a run is asked for."""

    share: float
    """Of the return, at least"""
    target_j: float | None
    """J, at most"""
    target_change: float | None
    """Action change from one step to the next, at most"""
    wants_smoothest: bool
    """Whether the weights grow as long as the return is kept"""

    @classmethod
    def of(cls, config: TrainConfig) -> "Goal":
        wish = config.wish
        return cls(
            wish.keep_return or REQUIRED_SHARE,
            wish.smoothness_target or None,
            wish.fluctuation_target or None,
            wish.wants_smoothest,
        )

    def keeps(self, share: float | None) -> bool:
        return share is not None and share >= self.share

    def meets(self, judged: "Judged") -> bool:
        """Whether its J and its action change are at most what is asked."""
        return _is_within(judged.j, self.target_j) and _is_within(judged.change, self.target_change)

    def prefers(self, new: "Judged", old: "Judged | None") -> bool:
        """Whether a later student takes the place of the one chosen so far.

        One that keeps the return beats one that does not. Among equals the later one has seen
        more states and is the better student, unless the smoothest is asked for.
        """
        if old is None or self._rank(new) != self._rank(old):
            return old is None or self._rank(new) > self._rank(old)
        if not self.keeps(new.share):
            return (new.share or -math.inf) >= (old.share or -math.inf)
        return new.j <= old.j if self.wants_smoothest else True

    def next_strengths(
        self, strengths: Strengths, judged: "Judged", former: "Judged | None" = None
    ) -> Strengths:
        """Those of the next round: less where the return fell, and back up where it is kept.

        `former` is the evaluation before: a student that is still getting better is left alone.
        Beyond the weights as given they grow only where a wish asks.
        """
        if judged.iteration < FIRST_JUDGED_ROUND or judged.share is None:
            return strengths
        if not self.keeps(judged.share):
            known = None if former is None else former.share
            is_learning = known is not None and judged.share > known + STILL_LEARNING
            return strengths if is_learning else strengths.retreat()
        if self.target_j is None and self.target_change is None:
            return strengths.advance(math.inf if self.wants_smoothest else 1.0)
        exact = strengths.exact * _factor(judged.j, self.target_j, _GAIN_OF_J)
        if self.wants_smoothest:
            exact *= _GROWTH
        return Strengths(
            exact, strengths.cats * _factor(judged.change, self.target_change, _GAIN_OF_CHANGE)
        )

    def _rank(self, judged: "Judged") -> tuple[bool, bool]:
        return self.keeps(judged.share), self.meets(judged)


@dataclass(frozen=True)
class Judged:
    """One evaluated student."""

    iteration: int
    share: float | None
    j: float
    change: float | None = None
    """Action change from one step to the next; None where no episode has two"""
    score: float | None = None
    """How far the states it visits are from the teacher's; lower is more alike"""
    chance: float = 0.0
    """Of the score, what may be bad luck"""


def _is_within(value: float | None, target: float | None) -> bool:
    return target is None or (value is not None and value <= TARGET_TOLERANCE * target)


def _factor(value: float | None, target: float | None, gain: float) -> float:
    """On the weight of what has a target: integral control of its logarithm."""
    if target is None or value is None:
        return 1.0
    error = math.log(max(value, 1e-12) / target)
    return math.exp(log_step(error, gain, _LARGEST_STEP, _LARGEST_STEP))


@dataclass(frozen=True)
class Verdict:
    """Whether a smoothing run did what it was asked for, and the sentence that says so."""

    is_done: bool
    words: str


def verdict(
    goal: Goal, judged: Judged, teacher_j: float, teacher_change: float | None = None
) -> Verdict:
    """Done: the return is kept, targets are met, and nothing is rougher than the teacher."""
    if judged.share is None:
        return Verdict(False, "not judged: the teacher earns no more than random actions")
    if not goal.keeps(judged.share):
        return Verdict(
            False,
            f"NOT done: only {judged.share:.1%} of the teacher's return is kept, below "
            f"{goal.share:.0%}; more --iterations, smaller weights in --penalty, or "
            "--keep-return, which looks for them, may help",
        )
    kept = f"{judged.share:.1%} of the teacher's return is kept"
    for name, value, target, teachers in (
        ("J", judged.j, goal.target_j, teacher_j),
        ("the action change", judged.change, goal.target_change, teacher_change),
    ):
        if not _is_within(value, target):
            found = "not known" if value is None else f"{value:.3g}, above the target {target:.3g}"
            words = f"{kept}, but {name} is {found}; more --iterations may get there"
            return Verdict(False, f"NOT done: {words}")
        if value is not None and teachers is not None and value > teachers:
            return Verdict(
                False,
                f"NOT done: {kept}, but {name} is {value:.3g}, above the teacher's {teachers:.3g}; "
                "more --iterations, more --fit-steps or larger weights in --penalty may help",
            )
    ratio = f"J is {judged.j / teacher_j:.2f} times the teacher's" if teacher_j > 0 else "J is 0"
    if judged.change is not None and teacher_change:
        ratio += f", the action change {judged.change / teacher_change:.2f} times"
    return Verdict(True, f"done: {kept}, {ratio}")
