"""Policies that play the same episodes: starts, cuts, numbers, and time."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError, DataError
from spacil.film.record import Recording, drawable_env, record
from spacil.policies.open import open_policy
from spacil.policies.policy import Policy


def still() -> Policy:
    return open_policy(lambda states: torch.zeros(len(states), 2))


def played(seconds: float) -> Recording:
    policies = {"expert": open_policy("Reacher-v4"), "still": still()}
    return record(policies, "Reacher-v4", 0, seconds, demonstrator=False)


def test_everybody_starts_every_episode_from_the_same_state() -> None:
    recording = played(2.5)
    expert, idle = recording.panels
    assert [len(clip) for clip in expert.clips] == [50, 50, 25]
    for ours, theirs in zip(expert.clips, idle.clips, strict=True):
        assert torch.equal(ours.trajectory.states[0], theirs.trajectory.states[0])
        assert np.array_equal(ours.poses[0], theirs.poses[0])
        assert not np.array_equal(ours.poses[-1], theirs.poses[-1])
    first, second, _ = expert.clips
    assert not torch.equal(first.trajectory.states[0], second.trajectory.states[0])
    assert (first.is_whole, expert.clips[2].is_whole) == (True, False)


def test_the_same_seed_plays_the_same_film() -> None:
    once, again = played(0.5), played(0.5)
    for one, other in zip(once.panels, again.panels, strict=True):
        assert np.array_equal(one.clips[0].poses, other.clips[0].poses)
        assert (one.smoothness_j, one.action_change) == (other.smoothness_j, other.action_change)


def test_a_policy_that_does_nothing_has_no_change_and_no_slope() -> None:
    expert, idle = played(1.0).panels
    assert (idle.smoothness_j, idle.action_change) == (0.0, 0.0)
    assert expert.smoothness_j is not None and expert.smoothness_j > 0
    assert expert.clips[0].trajectory.total_return == pytest.approx(expert.total_return)


@pytest.mark.parametrize(
    ("task", "rate"),
    [("Reacher-v4", Fraction(25)), ("Hopper-v4", Fraction(125, 4)), ("Ant-v4", Fraction(20))],
)
def test_a_second_of_film_is_a_second_of_simulated_time(task: str, rate: Fraction) -> None:
    env = make_vector_env(task, 1, ResetSeeds(0, "evaluate"))
    recording = Recording(env.spec, 0, (), None)
    assert recording.rate == rate
    assert (
        recording.rate
        * recording.steps_per_frame
        * Fraction(env.spec.dt or 0).limit_denominator(1000)
        == 1
    )
    env.close()


def test_a_policy_of_another_task_is_refused() -> None:
    with pytest.raises(DataError, match="3 action dims, Reacher-v4 has 2"):
        record({"hopper": open_policy("Hopper-v4")}, "Reacher-v4", 0, 1.0)


def test_poses_of_a_gymnasium_env_are_those_of_ours() -> None:
    import gymnasium

    sources = ("Hopper-v5", lambda: gymnasium.make("Hopper-v5"))
    action = torch.tensor([[0.5, -0.2, 0.1]])
    found = []
    for source in sources:
        with drawable_env(source, 3) as (env, scene):
            env.reset()
            poses = [scene.pose()]
            for _ in range(5):
                env.step(action)
                poses.append(scene.pose())
            found.append(poses)
    assert np.array_equal(*found)


def test_an_env_without_mujoco_says_that_it_cannot_be_drawn() -> None:
    with pytest.raises(ConfigError, match="Pendulum-v1 cannot be drawn"):
        drawable_env("Pendulum-v1", 0).__enter__()
