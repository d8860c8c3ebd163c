"""What students are compared with, and how alike they behave, by hand-worked numbers."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import EpisodeTotals
from spacil.envs.vector_env import EnvSpec
from spacil.learning import teacher
from spacil.learning.teacher import TeacherProfile
from spacil.measuring.imitation_score import DemonstratedStates
from spacil.policies.open import open_policy

BOUNDS = np.array([-1.0], dtype=np.float32), np.array([1.0], dtype=np.float32)
SPEC = EnvSpec("Point-v0", 1, 1, *BOUNDS, horizon=4, dt=None)


def episodes(places: list[float], lengths: list[int]) -> EpisodeTotals:
    """Each episode stays at its place, one wave: step by step, those that are still going on."""
    rows = [place for t in range(4) for place, n in zip(places, lengths, strict=True) if t < n]
    nothing, ends = np.zeros(len(lengths)), np.array(lengths)
    return EpisodeTotals(nothing, ends, torch.tensor(rows).unsqueeze(1), nothing, ends < 4)


def test_two_episodes_of_a_teacher_say_how_far_apart_alike_ones_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = episodes([0.0, 1.0], [4, 2])
    monkeypatch.setattr(teacher, "play_for_totals", lambda *_: played)
    monkeypatch.setattr(teacher, "random_return", lambda *_: 0.0)
    env: Any = SimpleNamespace(spec=SPEC, num_envs=2)
    profile = teacher.profile_of(open_policy(torch.nn.Linear(1, 1)), env, None, seed=0)
    assert profile.visited.early_fraction == 0.5
    # The halves are the two episodes, a distance of 1 in units of their std, sqrt(2) / 3; half of
    # it, times 1.3.
    assert profile.threshold == pytest.approx(math.hypot(0.04, 1.3 / 2 * 3 / math.sqrt(2)))
    # Alone, one is a third of 1 away from both together, the other two thirds; three times the
    # median, in the same units.
    assert profile.astray_from == pytest.approx(3 / 2 * 3 / math.sqrt(2), rel=0.05)


def beside(of_teacher: float) -> TeacherProfile:
    frame = CommonFrame(torch.ones(1).double(), "a test")
    visited = DemonstratedStates.of(torch.tensor([[-1.0], [1.0]]), of_teacher)
    return TeacherProfile(110.0, 10.0, 1.0, 1.0, frame, visited, 2.0, 0.05, 1.0)


def test_the_share_counts_from_what_random_actions_earn() -> None:
    profile = beside(0.0)
    assert profile.share(60.0) == pytest.approx(0.5)
    assert replace(profile, random_return=110.0).share(60.0) is None


@pytest.mark.parametrize(
    ("num_astray", "of_teacher", "beyond", "pooled"),
    [(0, 0.0, 0.0, 0.0), (1, 0.0, 0.1, 0.05), (2, 0.0, 0.2, 0.1), (2, 0.1, 0.1, 0.15)],
)
@pytest.mark.parametrize("is_fall", [True, False])
def test_episodes_astray_are_counted_beyond_the_teachers_and_left_out_of_the_distance(
    num_astray: int, of_teacher: float, beyond: float, pooled: float, is_fall: bool
) -> None:
    num_fine = 10 - num_astray
    places = [9.0] * num_astray + [0.0] * num_fine
    lengths = [2 if is_fall else 4] * num_astray + [4] * num_fine
    score, chance = beside(of_teacher).score(episodes(places, lengths))
    of_fine, no_chance = beside(0.0).score(episodes([0.0] * 10, [4] * 10))
    assert no_chance == 0
    assert score == pytest.approx(of_fine + beyond)
    assert chance == pytest.approx(min(beyond, math.sqrt(2 * pooled * (1 - pooled) / 10)))


def test_a_student_that_is_always_astray_is_as_far_as_it_goes() -> None:
    score, _ = beside(0.0).score(episodes([9.0, 9.0], [4, 4]))
    assert score == pytest.approx(1 + 9.0, rel=0.1)
