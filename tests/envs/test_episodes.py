"""The player of whole episodes: who plays, who waits, and what its callers keep."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from countdown import Countdown, countdown
from torch import Tensor

from spacil.envs.episodes import DEFAULT_EPISODE_LIMIT, all_states, play, play_for_totals, play_wave
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.errors import DivergedError
from spacil.nets.mlp import MLP
from spacil.smoothness.action_signal import action_fluctuation


@pytest.fixture
def reacher() -> Iterator[VectorEnv]:
    env = make_vector_env("Reacher-v4", 2, ResetSeeds(0, "test"))
    yield env
    env.close()


def make_policy() -> MLP:
    return MLP([11, 16, 2], generator=torch.Generator().manual_seed(0)).requires_grad_(False)


def stand_still(states: Tensor) -> Tensor:
    return torch.zeros(len(states), 1)


def test_an_env_whose_episode_is_over_waits_and_is_still_shown_to_the_actor() -> None:
    env = countdown(3, longest=9)
    first_states = env.reset(0)
    starts = first_states[:, 0].int().tolist()
    assert len(set(starts)) > 1
    shapes: list[tuple[int, ...]] = []

    def act(states: Tensor) -> Tensor:
        shapes.append(tuple(states.shape))
        return stand_still(states)

    wave = play_wave(env, act, first_states, 2)
    assert wave.lengths == starts[:2]
    assert shapes == [(3, 1)] * max(starts[:2])
    for t, is_active in enumerate(wave.is_active.tolist()):
        assert is_active == [t < starts[0], t < starts[1], False]
    assert torch.equal(wave.rewards, wave.is_active.double())
    assert wave.final_states[:2, 0].tolist() == [0, 0]
    assert wave.terminated.tolist() == [True, True, False] and not wave.truncated.any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_action_that_is_no_number_stops_before_clipping_hides_it(value: float) -> None:
    env = countdown(2, longest=9)
    with pytest.raises(DivergedError, match="nothing was stepped"):
        play_for_totals(env, lambda states: torch.full((len(states), 1), value), 0, 2)


def test_an_episode_that_never_ends_is_cut_at_the_limit() -> None:
    episodes = play_for_totals(countdown(2, longest=0), stand_still, 0, 2)
    assert DEFAULT_EPISODE_LIMIT == 1_000
    assert episodes.lengths.tolist() == episodes.returns.tolist() == [1_000, 1_000]
    assert not episodes.is_terminated.any()


def test_every_env_plays_one_whole_episode_per_wave() -> None:
    env = countdown(4, longest=9)
    starts = [env.reset(first_episode=episode)[:, 0] for episode in (5, 6, 7)]
    lengths = np.concatenate(starts)[:10]  # three waves, the last one of two envs
    episodes = play_for_totals(env, stand_still, first_episode=5, num_episodes=10)
    assert episodes.lengths.tolist() == lengths.tolist()
    assert episodes.returns.tolist() == lengths.tolist()
    assert len(episodes.states) == lengths.sum()
    # Each episode of n steps acts on the states n, n - 1, ..., 1.
    expected = sorted(left for length in lengths for left in range(1, int(length) + 1))
    assert sorted(episodes.states[:, 0].tolist()) == expected


@pytest.mark.parametrize(
    ("terminates", "truncates", "expected"),
    [(True, False, True), (False, True, False), (True, True, False)],
)
def test_how_an_episode_ended_is_what_the_env_says_whether_or_not_its_time_limit_is_known(
    terminates: bool, truncates: bool, expected: bool
) -> None:
    class OwnClock(Countdown):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            states, reward, is_over, _, info = super().step(action)
            return states, reward, is_over and terminates, is_over and truncates, info

    env = make_vector_env(lambda: OwnClock(5), 2, ResetSeeds(0, "test"))
    assert env.spec.horizon is None
    episodes = play_for_totals(env, stand_still, 0, 3)
    assert episodes.is_terminated.tolist() == [expected] * 3


def test_totals_are_those_of_the_trajectories() -> None:
    env = make_vector_env("Hopper-v4", 3, ResetSeeds(0, "test"))
    policy = MLP([11, 16, 3], generator=torch.Generator().manual_seed(0)).requires_grad_(False)
    try:
        trajectories = play(env, lambda: policy, 5)
        totals = play_for_totals(env, policy, 0, 5)
    finally:
        env.close()
    assert totals.lengths.tolist() == [len(trajectory) for trajectory in trajectories]
    returns = [trajectory.total_return for trajectory in trajectories]
    assert totals.returns.tolist() == pytest.approx(returns, rel=1e-12)
    changes = [action_fluctuation(trajectory.actions) for trajectory in trajectories]
    assert totals.action_changes.tolist() == pytest.approx(changes, rel=1e-12)
    # The same states, here in the order of time, there episode by episode.
    ours, theirs = totals.states, all_states(trajectories)
    assert sorted(ours.tolist()) == sorted(theirs.tolist())


def test_the_action_change_of_an_episode_counts_its_own_steps_alone() -> None:
    """The action is the square of the steps left over 100: it changes by (2 n - 1) / 100."""
    totals = play_for_totals(countdown(4, longest=9), lambda states: states**2 / 100, 0, 8)
    lengths = totals.lengths.tolist()
    assert 1 in lengths and max(lengths) > 2
    for length, change in zip(lengths, totals.action_changes.tolist(), strict=True):
        # from n^2 to 1 in n - 1 steps: n + 1 hundredths each, on average
        expected = (length + 1) / 100 if length > 1 else np.nan
        assert change == pytest.approx(expected, nan_ok=True, rel=1e-5)


def test_action_changes_are_those_of_the_executed_actions() -> None:
    totals = play_for_totals(countdown(2, longest=0), lambda states: 5 + states.abs(), 0, 2)
    assert totals.action_changes.tolist() == [0.0, 0.0]  # always at the upper bound


def test_episodes_come_whole_in_order_and_add_up(reacher: VectorEnv) -> None:
    played = play(reacher, make_policy, 3)
    assert [len(trajectory) for trajectory in played] == [50, 50, 50]
    assert all_states(played).shape == (150, 11)
    again = play(reacher, make_policy, 3)
    assert all(torch.equal(a.rewards, b.rewards) for a, b in zip(played, again, strict=True))
    assert played[0].total_return == pytest.approx(float(played[0].rewards.sum()))
    # episode 1 of env 0 is the third; it differs from episode 0
    assert not torch.equal(played[2].states[0], played[0].states[0])


def test_actions_are_kept_as_the_env_executed_them(reacher: VectorEnv) -> None:
    (played,) = play(reacher, lambda: lambda s: torch.full((len(s), 2), 7.0), 1)
    assert bool((played.actions == 1.0).all())
