"""What the teacher and random actions earn, and how smooth the teacher is: where both ends lie."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.measuring.imitation_score import (
    DemonstratedStates,
    imitation_score,
    score_threshold,
)
from spacil.measuring.lens import make_lens
from spacil.measuring.played import random_return, share_of_return
from spacil.policies.source import PolicySource
from spacil.sampling.episodes import EpisodeTotals, play_for_totals
from spacil.seeding import stream
from spacil.smoothing.fit import Units, Weights
from spacil.smoothing.weight_rule import first_weights
from spacil.smoothness.action_signal import mean_of_known
from spacil.training.wishes.likeness import early_fraction

_MAX_STATES = 5_000
"""States at which the teacher's J is measured while it is distilled."""

SCORE_TOLERANCE = 0.048
"""Imitation score that counts as alike, beyond what two sets of the teacher's episodes differ by;
less than in training, since a teacher can be asked about every state."""


@dataclass(frozen=True)
class References:
    """Plain numbers that a resumed run must find again."""

    teacher_return: float
    teacher_j: float
    """In the common frame"""
    teacher_fluctuation: float
    random_return: float

    def share(self, average_return: float) -> float | None:
        """(G - random) / (teacher - random); None where the teacher earns no more than random."""
        return share_of_return(average_return, self.random_return, self.teacher_return)

    def ratios(self, j: float, change: float | None) -> dict[str, float | None]:
        """J and action change of a student, of the teacher's; None where that is 0."""
        return {
            "teacher_j_ratio": _ratio(j, self.teacher_j),
            "teacher_fluctuation_ratio": _ratio(change, self.teacher_fluctuation),
        }


@dataclass(frozen=True)
class Likeness:
    """What the states of a student are compared with, and up to where they are alike."""

    visited: DemonstratedStates
    """By the teacher"""
    threshold: float
    action_variance: float
    """E |a - E a|^2 of the teacher's executed actions"""

    def score(self, episodes: EpisodeTotals, spec: EnvSpec) -> float:
        """The imitation score of a student's episodes.

        Episodes that end early count beyond the teacher's and one standard error of the
        difference: one fall of fifteen may be chance, two are not.
        """
        early = early_fraction(episodes, spec)
        pooled = (early + self.visited.early_fraction) / 2
        chance = math.sqrt(2 * pooled * (1 - pooled) / len(episodes.lengths))
        return imitation_score(episodes.states, early - chance, self.visited)

    @classmethod
    def of(
        cls, played: EpisodeTotals, teacher: PolicySource, spec: EnvSpec, seed: int
    ) -> "Likeness":
        """From one episode of the teacher in each env."""
        steps = torch.arange(int(played.lengths.max())).unsqueeze(1)
        _, episode_of_step = (steps < torch.from_numpy(played.lengths)).nonzero(as_tuple=True)
        generator = stream(seed, "score threshold")
        with torch.no_grad():
            actions = teacher.mean(played.states.to(teacher.dtype)).clamp(
                torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
            )
        return cls(
            DemonstratedStates.of(played.states, early_fraction(played, spec)),
            score_threshold(played.states, episode_of_step, generator, SCORE_TOLERANCE),
            float(actions.var(0, correction=0).sum()),
        )


def play_teacher(teacher: PolicySource, env: VectorEnv) -> EpisodeTotals:
    """One whole episode in every env; the same one whenever it is asked for."""
    return play_for_totals(env, lambda s: teacher.mean(s.to(teacher.dtype)), 0, env.num_envs)


def references_of(
    played: EpisodeTotals,
    teacher: PolicySource,
    env: VectorEnv,
    frame: CommonFrame | None,
    seed: int,
) -> tuple[References, CommonFrame]:
    """From episodes of the teacher, and random actions from the same starts.

    Without a frame the states that the teacher visits define one.
    """
    random = random_return(env, seed)
    if frame is None:
        std = played.states.double().std(0, correction=0)
        frame = CommonFrame(std, "the states that the teacher visited")
    found = References(
        teacher_return=float(np.mean(played.returns)),
        teacher_j=j_at(teacher, played.states, frame, seed),
        teacher_fluctuation=mean_of_known(played.action_changes.tolist()) or 0.0,
        random_return=random,
    )
    return found, frame


def j_at(source: PolicySource, states: Tensor, frame: CommonFrame, seed: int) -> float:
    """Mean J in the common frame over a random choice of raw states."""
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:_MAX_STATES]
    lens = make_lens(source, frame.std.to(source.dtype), frame, source.action_bounds)
    common = lens.constants(states[rows].to(source.dtype)).common
    assert common is not None
    return float(common.mean())


def starting_weights(likeness: Likeness, references: References, units: Units) -> Weights:
    """Where the rule without a reward starts from."""
    return Weights(
        *first_weights(
            likeness.action_variance,
            references.teacher_j,
            references.teacher_fluctuation,
            float(units.half_range.mean()),
        )
    )


def _ratio(value: float | None, reference: float) -> float | None:
    return None if value is None or reference <= 0 else value / reference
