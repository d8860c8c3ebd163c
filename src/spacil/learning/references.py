"""What the teacher and random actions earn, and how smooth the teacher is: where both ends lie."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import EpisodeTotals, play_for_totals
from spacil.envs.vector_env import VectorEnv
from spacil.errors import DataError
from spacil.learning.fit import Units, Weights
from spacil.learning.smoothing_likeness import Likeness
from spacil.learning.smoothing_weight_rule import first_weights
from spacil.measuring.lens import make_lens
from spacil.measuring.played import random_return, share_of_return
from spacil.policies.source import PolicySource
from spacil.seeding import stream
from spacil.smoothness.action_signal import mean_of_known

_MAX_STATES = 5_000
"""States at which the teacher's J is measured while it is distilled."""


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
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square([*played.returns, random]).sum()):
            raise DataError(
                f"{env.spec.task}: the returns of teacher and random actions, "
                f"{played.returns[0]:.3g} and {random:.3g}, are too large for their squares: "
                "scale the rewards of the env down"
            )
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
