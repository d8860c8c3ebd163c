"""Which student `smooth` hands out, and what the weights of its penalties do after each round.

`ReturnGoal`, where a user names weights or targets: the return is read. Weights fall while too
little of it is kept, the temporal one first: a gait needs its fast movements more than its slopes.
Then they come back to what the user gave, grow as long as the return is kept, or go to a target.

`ScoreGoal`, the default: no reward is read. Mean actions are played, and two things are asked: do
they lead to the states that the teacher lives in (`teacher.py`), and how smooth are they?

    room = 1 - (score / threshold)^2, times a gain, within -1 and 1; here the score is without
           what chance explains of it

    room >= 0    each weight moves by integral control of its logarithm, the spatial one towards
                 J*, the temporal one towards the wanted action change; rises are times the room,
                 the temporal one's times its square: where room is scarce, slopes come first
    room <  0    a young student, or one whose score still falls, is left to learn, and episodes
                 astray may be bad luck the first time; else both weights fall, as far as the room
                 says but not below the first ones, the temporal one further

Squares, because what two sets of one policy's episodes differ by and what the students do otherwise
add up as squares. Handed out is the smoothest student whose score is fine, and was the round
before: one episode astray in thirty is more often seen in two evaluations than in one. How the
numbers were chosen: docs/results/smooth.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from spacil.config.settings import WishConfig
from spacil.learning.teacher import TeacherProfile
from spacil.learning.weight_search import LAWS, WeightSearch

REQUIRED_SHARE = 0.98
"""Share of the teacher's return above random actions that must be kept, by default."""
LATE_REQUIRED_SHARE = 0.95
"""The same where commands are late, of the return without delay."""
TARGET_TOLERANCE = 1.02
"""Factor above a target that still meets it: two evaluations differ by as much."""
FIRST_MATURE_ROUND = 4
"""Round before which a student falls because it is young, whatever the weights."""
HIGHEST = 1e6
"""Factor on a first weight that no search passes."""

SHARE_STILL_RISING = 0.005
"""A share that rose by so much since the last evaluation may rise on with the same weights."""
GROWTH, FALL_OF_EXACT, FALL_OF_CATS = 1.5, 0.5, 0.25
"""Factors on the weights while the return is kept, and where it is not."""
LEAST_CATS = 0.02
"""Temporal weight below which the spatial one falls."""

J_FRACTION, CHANGE_FRACTION = 0.35, 0.78
"""J* and the wanted action change, as fractions of the teacher's."""
FIRST_EXACT, FIRST_CATS = 0.06, 0.02
"""First weights: of the slope in units of the teacher's J, of the squared change in those of its
own, beside a squared error in those of the variance of its actions."""
SCORE_FALL_OF_EXACT, SCORE_FALL_OF_CATS = 0.7, 0.5
"""Factors on the weights at room -1."""
ROOM_GAIN = 1.5
"""A rise is whole up to 0.58 of the threshold, a fall from 1.29 times it."""
SCORE_STILL_FALLING = 0.9
"""A score below so much of the last one may fall on with the same weights."""
SCORE_PRICE = 0.05
"""How much smoother, in logarithms, a student at the threshold must be than one whose score is 0:
of many rounds the score of the smoothest is low in part by luck."""


@dataclass(frozen=True)
class StudentEvaluation:
    """One evaluated student."""

    iteration: int
    share: float | None
    """Share of the teacher's return; None where that is no more than random actions earn"""
    j: float
    action_change: float | None = None
    """None where no episode has two steps"""
    score: float = math.inf
    """Distance of the states it visits from the teacher's; lower is more alike"""
    chance: float = 0.0
    """Part of the score that may be bad luck"""

    def averaged_with(self, former: "StudentEvaluation | None") -> "StudentEvaluation":
        """Take the mean share and score of two rounds, whose episodes are of nearly one policy."""
        if former is None:
            return self
        share = self.share
        if share is not None and former.share is not None:
            share = (share + former.share) / 2
        return replace(self, share=share, score=(self.score + former.score) / 2)


@dataclass(frozen=True)
class PenaltySearches:
    """Factors on the weights of both penalties, as the rounds move them."""

    exact: WeightSearch
    cats: WeightSearch

    @classmethod
    def starting(cls, highest: float) -> "PenaltySearches":
        search = WeightSearch(1.0, lowest=1e-6, highest=highest)
        return cls(search, search)

    def times(self, exact: float, cats: float) -> "PenaltySearches":
        return PenaltySearches(self.exact.times(exact), self.cats.times(cats))


@dataclass(frozen=True)
class ReturnGoal:
    """What a user asks of the return, J and the action change."""

    wish: WishConfig
    required: float = REQUIRED_SHARE

    @property
    def share(self) -> float:
        """Least share of the return"""
        return self.wish.keep_return or self.required

    @property
    def highest(self) -> float:
        """Weights grow beyond those given only for the smoothest policy or towards a target."""
        wish = self.wish
        is_open = wish.wants_smoothest or wish.smoothness_target or wish.fluctuation_target
        return HIGHEST if is_open else 1.0

    def rank(self, student: StudentEvaluation) -> tuple[float, ...]:
        """Rank for `select`: students that keep the return come first, then those on target.

        Among equals the later one has seen more states and is the better student, unless the
        smoothest is asked for.
        """
        wish, share = self.wish, -math.inf if student.share is None else student.share
        targets = (
            (student.j, wish.smoothness_target),
            (student.action_change, wish.fluctuation_target),
        )
        is_met = all(
            not target or (value is not None and value <= TARGET_TOLERANCE * target)
            for value, target in targets
        )
        if share < self.share:
            return (0.0, is_met, share, student.iteration)
        return (1.0, is_met, -student.j if wish.wants_smoothest else 0.0, student.iteration)

    def next_searches(
        self,
        searches: PenaltySearches,
        new: StudentEvaluation,
        former: StudentEvaluation | None = None,
    ) -> PenaltySearches:
        """Update the searches from an evaluation; `former` is the one before."""
        wish, exact, cats = self.wish, searches.exact, searches.cats
        if new.iteration < FIRST_MATURE_ROUND or new.share is None:
            return searches
        if new.share < self.share:
            before = None if former is None else former.share
            if before is not None and new.share > before + SHARE_STILL_RISING:
                return searches
            if cats.weight > LEAST_CATS:
                return searches.times(1.0, FALL_OF_CATS)
            return searches.times(FALL_OF_EXACT, 1.0)
        if not wish.smoothness_target and not wish.fluctuation_target:
            return searches.times(GROWTH, GROWTH)
        if wish.smoothness_target:
            exact = exact.after(_log_ratio(new.j, wish.smoothness_target), LAWS["student to J"])
        elif wish.wants_smoothest:
            exact = exact.times(GROWTH)
        if wish.fluctuation_target and new.action_change is not None:
            error = _log_ratio(new.action_change, wish.fluctuation_target)
            cats = cats.after(error, LAWS["student to change"])
        return PenaltySearches(exact, cats)

    def verdict(
        self,
        share: float | None,
        js: Sequence[float | None],
        action_changes: Sequence[float | None],
        worse: Sequence[str] = (),
        as_good: Sequence[str] = (),
    ) -> tuple[bool, str]:
        """Whether a run did what it was asked for, and the sentence that says so.

        Done: the share of the return is kept, targets are met, and neither J nor the action
        change, each of student and teacher, is above the teacher's, and nothing is `worse` under
        noise or delay. `as_good` are filters on the teacher that do as well.
        """
        if share is None:
            return False, "no verdict: the teacher earns no more than random actions"
        kept, ratios = f"{share:.1%} of the teacher's return is kept", []
        if share < self.share:
            return False, (
                f"NOT done: only {kept}, below {self.share:.0%}; more --iterations, smaller "
                "weights in --penalty, or --keep-return, which looks for them, may help"
            )
        for name, (value, teachers), target in (
            ("J", js, self.wish.smoothness_target or None),
            ("the action change", action_changes, self.wish.fluctuation_target or None),
        ):
            limits = (("the target", target, TARGET_TOLERANCE), ("the teacher's", teachers, 1.0))
            for whose, limit, tolerance in limits:
                if value is not None and limit is not None and value > tolerance * limit:
                    return False, (
                        f"NOT done: {kept}, but {name} is {value:.3g}, above {whose} {limit:.3g}; "
                        "more --iterations, more --fit-steps or larger weights in --penalty may "
                        "help"
                    )
            if value is not None and teachers:
                ratios.append(f"{name} is {value / teachers:.2f} times the teacher's")
        found = ", ".join([kept, *ratios])
        if not worse:
            return True, f"done: {found}"
        remedy = "train for it with --action-delay 1 or --sensor-noise 0.1"
        if as_good:
            remedy = f"a filter on the teacher is as good here: {', '.join(as_good)}"
        return (
            False,
            f"NOT done: {found}, but {' and '.join(worse)}: no better on a robot; {remedy}",
        )


@dataclass(frozen=True)
class ScoreGoal:
    """The states and the smoothness that a student should have, as its teacher's profile says."""

    profile: TeacherProfile
    highest = HIGHEST

    def rank(self, student: StudentEvaluation) -> tuple[float, ...]:
        """Rank for `select`: alike students come first, of those the smoother one.

        Smoothness is how far, in logarithms, J and action change are above what is wanted, plus a
        little for the score; of students that are not alike the more alike one is preferred.
        """
        if student.score > self.profile.threshold:
            return (0.0, -student.score, student.iteration)
        price = SCORE_PRICE * (student.score / self.profile.threshold) ** 2
        cost = sum(max(0.0, error) for error in self._errors(student)) + price
        return (1.0, -cost, student.iteration)

    def next_searches(
        self,
        searches: PenaltySearches,
        new: StudentEvaluation,
        former: StudentEvaluation | None = None,
    ) -> PenaltySearches:
        """Update the searches from an evaluation; `former` is the one before."""
        score = new.score - new.chance
        room = ROOM_GAIN * (1 - (score / self.profile.threshold) ** 2)
        room = min(max(room, -1.0), 1.0)
        exact, cats = searches.exact, searches.cats
        if room < 0:
            is_young = new.iteration < FIRST_MATURE_ROUND
            before = math.inf if former is None else former.score - former.chance
            is_sudden = new.chance > 0 and former is not None and former.chance == 0
            if is_young or is_sudden or score < SCORE_STILL_FALLING * before:
                return searches
            # With less than the first weights students follow every twitch of a restless teacher,
            # and go astray the more for it.
            return PenaltySearches(
                exact.times(SCORE_FALL_OF_EXACT**-room, min(exact.weight, 1.0)),
                cats.times(SCORE_FALL_OF_CATS**-room, min(cats.weight, 1.0)),
            )
        error_of_j, error_of_change = self._errors(new)
        return PenaltySearches(
            exact.after(error_of_j, LAWS["student J"], room),
            cats.after(error_of_change, LAWS["student change"], room**2),
        )

    def _errors(self, student: StudentEvaluation) -> tuple[float, float]:
        """log(J / J*), log(change / wanted change); 0 where the teacher has nothing to smooth."""
        change, wanted = student.action_change, CHANGE_FRACTION * self.profile.action_change
        of_change = 0.0 if change is None else _log_ratio(change, wanted)
        return _log_ratio(student.j, J_FRACTION * self.profile.j), of_change


def first_weights(profile: TeacherProfile, half_range: float) -> dict[str, float]:
    """The weights that the search of `ScoreGoal` multiplies, in units of the actions.

    Units cancel: one motor or eight, gentle or hard, the weights mean the same. `half_range` is
    one typical unit.
    """
    variance, j, change = profile.action_variance, profile.j, profile.action_change
    return {
        "exact": FIRST_EXACT * variance / (j * half_range) if j > 0 else 0.0,
        "cats": FIRST_CATS * variance / change**2 if change > 0 else 0.0,
    }


def _log_ratio(value: float, target: float) -> float:
    return math.log(max(value, 1e-12) / target) if target > 0 else 0.0
