"""Both weights by what the student does, without a reward: the default.

After each round mean actions are played, and two things are asked: do they lead to the states that
the teacher lives in (`measuring/imitation_score.py`), and how smooth are they beside its own?

    room = 1 - (score / threshold)^2, times a gain, within -1 and 1; here the score is without
           what chance explains of it

    room >= 0    each weight moves by integral control of its logarithm, the spatial one towards
                 J*, the temporal one towards the wanted action change; rises are times the room,
                 the temporal one's times its square: where room is scarce, slopes come first
    room <  0    a young student, or one whose score still falls, is left to learn, and episodes
                 astray may be bad luck the first time; else both weights fall, as far as the room
                 says but not below the first ones, the temporal one further: a gait needs its fast
                 movements more than its slopes

Squares, because what two sets of one policy's episodes differ by and what the students do otherwise
add up as squares. J* and the wanted change are fractions of the teacher's. Handed out is the
smoothest student whose score is fine, and was the round before, when most of it was there already:
one episode astray in thirty is more often seen in two evaluations than in one. How the numbers were
chosen: docs/results/smooth.md.
"""

import math
from dataclasses import dataclass, replace

from spacil.learning.control import limited, log_step
from spacil.learning.verdict import FIRST_JUDGED_ROUND, Judged, Strengths

FIRST_EXACT, FIRST_CATS = 0.06, 0.02
"""What the rule starts from: the slope in units of the teacher's J, the squared change in those of
its own, the squared error in those of the variance of its actions."""
J_FRACTION, CHANGE_FRACTION = 0.35, 0.78
"""J* and the wanted action change, of the teacher's."""
GAIN_OF_J, GAIN_OF_CHANGE = 1.5, 2.0
"""J falls slowly as its weight grows, and the action change slower still; what is measured is a
mean of students, and follows the weights late."""
LARGEST_STEP = math.log(2.5)
FALL_OF_EXACT, FALL_OF_CATS = 0.7, 0.5
"""At room -1."""
FALLS_END = 1.0
"""No fall goes below the first weights: with less of them students follow every twitch of a
restless teacher, and go astray the more for it."""
ROOM_GAIN = 1.5
"""A rise is whole up to 0.58 of the threshold, a fall from 1.29 times it."""
STILL_LEARNING = 0.9
"""A score below so much of the last one may fall on with the same weights."""
SCORE_PRICE = 0.05
"""How much smoother, in logarithms, a student at the threshold must be than one whose score is 0:
of many rounds the score of the smoothest is low in part by luck."""


@dataclass(frozen=True)
class RewardFreeRule:
    """Which student is handed out, and the weights of the next round."""

    threshold: float
    """Imitation score up to which a student counts as like its teacher"""
    target_j: float
    target_change: float

    @classmethod
    def beside(cls, threshold: float, teacher_j: float, teacher_change: float) -> "RewardFreeRule":
        return cls(threshold, J_FRACTION * teacher_j, CHANGE_FRACTION * teacher_change)

    def is_alike(self, judged: Judged) -> bool:
        return judged.score is not None and judged.score <= self.threshold

    def cost(self, judged: Judged) -> float:
        """How far, in logarithms, J and action change are above what is wanted, plus a little for
        the score."""
        errors = self._error_of_j(judged), self._error_of_change(judged)
        price = SCORE_PRICE * self._used(_known(judged.score))
        return sum(max(0.0, error) for error in errors) + price

    def prefers(self, new: Judged, old: Judged | None) -> bool:
        """Whether a later student takes the place of the one chosen so far.

        One that is alike beats one that is not. Of those the smoother one is taken; of others the
        one that is more alike.
        """
        if old is None or self.is_alike(new) != self.is_alike(old):
            return old is None or self.is_alike(new)
        if not self.is_alike(new):
            return _known(new.score) <= _known(old.score)
        return self.cost(new) <= self.cost(old)

    def next_strengths(
        self, strengths: Strengths, judged: Judged, former: Judged | None = None
    ) -> Strengths:
        """Those of the next round; `former` is the evaluation before."""
        score = _known(judged.score) - judged.chance
        room = limited(ROOM_GAIN * (1 - self._used(score)), 1.0)
        if room < 0:
            is_young = judged.iteration < FIRST_JUDGED_ROUND
            known = math.inf if former is None else _known(former.score) - former.chance
            is_learning = score < STILL_LEARNING * known
            is_sudden = judged.chance > 0 and former is not None and former.chance == 0
            if is_young or is_learning or is_sudden:
                return strengths
            return Strengths(
                _fallen(strengths.exact, FALL_OF_EXACT**-room),
                _fallen(strengths.cats, FALL_OF_CATS**-room),
            )

        def factor(error: float, gain: float, share: float) -> float:
            step = log_step(error, gain, LARGEST_STEP, LARGEST_STEP)
            return math.exp(share * step if step > 0 else step)

        return Strengths(
            strengths.exact * factor(self._error_of_j(judged), GAIN_OF_J, room),
            strengths.cats * factor(self._error_of_change(judged), GAIN_OF_CHANGE, room**2),
        )

    def _used(self, score: float) -> float:
        """How much of the threshold a score uses up, in squares: 1 is at it."""
        return (score / self.threshold) ** 2

    def _error_of_j(self, judged: Judged) -> float:
        return _log_ratio(judged.j, self.target_j)

    def _error_of_change(self, judged: Judged) -> float:
        return 0.0 if judged.change is None else _log_ratio(judged.change, self.target_change)


def confirmed(judged: Judged, former: Judged | None) -> Judged:
    """With the mean share and score of two rounds, whose episodes are of nearly one policy."""
    if former is None:
        return judged
    return replace(
        judged,
        share=_mean_with(judged.share, former.share),
        score=_mean_with(judged.score, former.score),
    )


def first_weights(
    action_variance: float, teacher_j: float, teacher_change: float, half_range: float
) -> tuple[float, float]:
    """Of exact and cats, all in units of the actions, of which `half_range` is one typical unit.

    Units cancel: one motor or eight, gentle or hard, the weights mean the same.
    """
    return (
        FIRST_EXACT * action_variance / (teacher_j * half_range) if teacher_j > 0 else 0.0,
        FIRST_CATS * action_variance / teacher_change**2 if teacher_change > 0 else 0.0,
    )


def _fallen(strength: float, factor: float) -> float:
    return max(factor * strength, min(strength, FALLS_END))


def _mean_with(new: float | None, old: float | None) -> float | None:
    return new if new is None or old is None else (new + old) / 2


def _known(score: float | None) -> float:
    return math.inf if score is None else score


def _log_ratio(value: float, target: float) -> float:
    """log(value / target); 0 where the teacher itself has nothing to smooth."""
    return math.log(max(value, 1e-12) / target) if target > 0 else 0.0
