"""How the policy behaves that `smooth` distils: what its students are compared with.

    score = distance of the state marginals (`measuring/imitation_score.py`)
          + fraction of episodes that go astray, beyond the teacher's

An episode is astray that terminates, or that goes where the teacher hardly goes. One of the latter
kind, with a thousand states, would outweigh fourteen that are fine: so the distance is that of the
other episodes, and those astray are counted. How many of them are chance is a number apart:
weights should not move by one fall in fifteen.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import EpisodeTotals, play_for_totals
from spacil.envs.vector_env import VectorEnv
from spacil.measuring.frames import mean_j
from spacil.measuring.imitation_score import (
    DemonstratedStates,
    imitation_score,
    score_threshold,
)
from spacil.measuring.played import random_return, share_of_return
from spacil.nets.policy import moving_std
from spacil.policies.policy import Policy
from spacil.seeding import stream
from spacil.smoothness.action_signal import mean_of_known

SCORE_TOLERANCE = 0.04
"""Imitation score that counts as alike, beyond what two sets of the teacher's episodes differ by;
less than in training, since a teacher can be asked about every state."""
ASTRAY_FACTOR, LEAST_ASTRAY = 3.0, 0.3
"""An episode is astray from so many times the median distance of the teacher's own, and from so
many standard deviations."""
MAX_STATES = 5_000
"""States at which J is measured."""


@dataclass(frozen=True)
class TeacherProfile:
    """How the teacher behaves in one episode per env; the same whenever it is played."""

    average_return: float
    random_return: float
    """Mean return of random actions from the same starts"""
    j: float
    """J in the frame"""
    action_change: float
    frame: CommonFrame
    visited: DemonstratedStates
    """States it visits; their early fraction is that of episodes astray"""
    astray_from: float
    """Distance from which a single episode is astray"""
    threshold: float
    """Score up to which a student counts as like its teacher"""
    action_variance: float
    """E |a - E a|^2 of its executed actions"""

    def share(self, average_return: float) -> float | None:
        """(G - random) / (teacher - random); None where the teacher earns no more than random."""
        return share_of_return(average_return, self.random_return, self.average_return)

    def score(self, played: EpisodeTotals) -> tuple[float, float]:
        """Score of a student's episodes, one in each env, and how much of it may be chance.

        0 is alike. Chance is what one standard error of the fraction astray explains.
        """
        is_astray = played.is_terminated | (_distances(played, self.visited) > self.astray_from)
        is_kept = torch.from_numpy(~is_astray | is_astray.all())[_episode_of_step(played)]
        distance = imitation_score(played.states[is_kept], 0.0, self.visited)
        astray, teachers = float(is_astray.mean()), self.visited.early_fraction
        beyond = max(0.0, astray - teachers)
        pooled = (astray + teachers) / 2
        chance = math.sqrt(2 * pooled * (1 - pooled) / len(is_astray))
        return distance + beyond, min(chance, beyond)


def profile_of(
    teacher: Policy, env: VectorEnv, frame: CommonFrame | None, seed: int
) -> TeacherProfile:
    """Play one episode in each env; without a frame the states visited define one."""
    spec, random = env.spec, random_return(env, seed)
    played = play_for_totals(env, teacher.act, 0, env.num_envs)
    if frame is None:
        frame = CommonFrame(moving_std(played.states), "the states that the teacher visited")
    distances = _distances(played, DemonstratedStates.of(played.states, 0.0))
    astray_from = max(ASTRAY_FACTOR * float(np.median(distances)), LEAST_ASTRAY)
    is_astray = played.is_terminated | (distances > astray_from)
    actions = teacher.act(played.states)
    actions = actions.clamp(*spec.bounds_on(actions.device))
    return TeacherProfile(
        average_return=float(np.mean(played.returns)),
        random_return=random,
        j=j_at(teacher, played.states, frame, seed),
        action_change=mean_of_known(played.action_changes.tolist()) or 0.0,
        frame=frame,
        visited=DemonstratedStates.of(played.states, float(is_astray.mean())),
        astray_from=astray_from,
        threshold=score_threshold(
            played.states,
            _episode_of_step(played),
            stream(seed, "score threshold"),
            SCORE_TOLERANCE,
        ),
        action_variance=float(actions.var(0, correction=0).sum()),
    )


def j_at(source: Policy, states: Tensor, frame: CommonFrame, seed: int) -> float:
    """Mean J in the common frame over a random choice of raw states."""
    rows = torch.randperm(len(states), generator=stream(seed, "subset"))[:MAX_STATES]
    return mean_j(source, states[rows], frame)


def _episode_of_step(played: EpisodeTotals) -> Tensor:
    """The episode of each row of the states of one wave."""
    steps = torch.arange(int(played.lengths.max())).unsqueeze(1)
    return (steps < torch.from_numpy(played.lengths)).nonzero(as_tuple=True)[1]


def _distances(
    played: EpisodeTotals, visited: DemonstratedStates
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The distance of each episode alone."""
    episodes = [played.states[_episode_of_step(played) == i] for i in range(len(played.lengths))]
    return np.array([imitation_score(states, 0.0, visited) for states in episodes])
