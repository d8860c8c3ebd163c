"""How like its teacher a student behaves, by the states that both visit; no reward is looked at.

    score = distance of the state marginals (`measuring/imitation_score.py`)
          + fraction of episodes that go astray, beyond the teacher's

An episode is astray that terminates, or that goes where the teacher hardly goes. One of the latter
kind, with a thousand states, would outweigh fourteen that are fine. So the distance is that of the
other episodes, and those astray are counted. How many of them are chance is told apart:
weights should not move by one fall in fifteen, and a student should not be handed out with it.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spacil.envs.episodes import EpisodeTotals
from spacil.envs.vector_env import EnvSpec
from spacil.measuring.imitation_score import (
    DemonstratedStates,
    marginal_distance,
    quantiles,
    score_threshold,
)
from spacil.policies.source import PolicySource
from spacil.seeding import stream

SCORE_TOLERANCE = 0.04
"""Imitation score that counts as alike, beyond what two sets of the teacher's episodes differ by;
less than in training, since a teacher can be asked about every state."""
ASTRAY_FACTOR, LEAST_ASTRAY = 3.0, 0.3
"""An episode is astray from so many times the median distance of the teacher's own, and from so
many standard deviations."""


@dataclass(frozen=True)
class Score:
    """Of one student's episodes; 0 is alike."""

    value: float
    chance: float
    """Of the value, what one standard error of the fraction astray explains"""


@dataclass(frozen=True)
class Likeness:
    """What the states of a student are compared with, and up to where they are alike."""

    visited: DemonstratedStates
    """By the teacher; its early fraction is that of episodes astray"""
    astray_from: float
    """Distance of a single episode"""
    threshold: float
    action_variance: float
    """E |a - E a|^2 of the teacher's executed actions"""

    @classmethod
    def of(
        cls, played: EpisodeTotals, teacher: PolicySource, spec: EnvSpec, seed: int
    ) -> "Likeness":
        """From one episode of the teacher in each env."""
        episode_of_step = _episode_of_step(played)
        visited = DemonstratedStates.of(played.states, early_fraction=0.0)
        distances = _distances(played, episode_of_step, visited)
        astray_from = max(ASTRAY_FACTOR * float(np.median(distances)), LEAST_ASTRAY)
        is_astray = played.is_terminated | (distances > astray_from)
        bounds = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
        with torch.no_grad():
            actions = teacher.mean(played.states.to(teacher.dtype)).clamp(*bounds)
        return cls(
            DemonstratedStates.of(played.states, float(is_astray.mean())),
            astray_from,
            score_threshold(
                played.states, episode_of_step, stream(seed, "score threshold"), SCORE_TOLERANCE
            ),
            float(actions.var(0, correction=0).sum()),
        )

    def score(self, played: EpisodeTotals) -> Score:
        """Of a student's episodes, one in each env."""
        episode_of_step = _episode_of_step(played)
        distances = _distances(played, episode_of_step, self.visited)
        is_astray = played.is_terminated | (distances > self.astray_from)
        is_kept = torch.from_numpy(~is_astray | is_astray.all())[episode_of_step]
        distance = _distance(played.states[is_kept], self.visited)
        astray, teachers = float(is_astray.mean()), self.visited.early_fraction
        beyond = max(0.0, astray - teachers)
        pooled = (astray + teachers) / 2
        chance = math.sqrt(2 * pooled * (1 - pooled) / len(is_astray))
        return Score(distance + beyond, min(chance, beyond))


def _episode_of_step(played: EpisodeTotals) -> Tensor:
    """Of each row of the states of one wave."""
    steps = torch.arange(int(played.lengths.max())).unsqueeze(1)
    return (steps < torch.from_numpy(played.lengths)).nonzero(as_tuple=True)[1]


def _distances(
    played: EpisodeTotals, episode_of_step: Tensor, visited: DemonstratedStates
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of each episode alone."""
    num_episodes = len(played.lengths)
    return np.array(
        [_distance(played.states[episode_of_step == i], visited) for i in range(num_episodes)]
    )


def _distance(states: Tensor, visited: DemonstratedStates) -> float:
    live = states.float()[:, visited.is_live]
    return marginal_distance(quantiles(live), visited.quantiles, visited.std)
