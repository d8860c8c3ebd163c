"""How demonstrations vary: worked by hand, with a warning where something stands out."""

from typing import Any

import numpy as np
import pytest
import torch
from demo_edits import with_tensors

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.demos.findings import Subject, find, jerky_actions, odd_episode


def _demos(actions: list[Any], returns: list[float] | None = None) -> Demonstrations:
    """Episodes of one-dimensional actions; an episode's return is paid at its first step."""
    columns = [np.asarray(episode, dtype=np.float64).reshape(-1, 1) for episode in actions]
    rewards = None
    if returns is not None:
        pairs = zip(columns, returns, strict=True)
        rewards = [np.r_[paid, np.zeros(len(column) - 1)] for column, paid in pairs]
    observations = [np.zeros((len(column) + 1, 2)) for column in columns]
    return Demonstrations.from_arrays(observations, columns, rewards=rewards)


def _demos_in(states: list[list[float]], times: int = 20) -> Demonstrations:
    """Episodes that repeat some one-dimensional states."""
    columns = [np.tile(np.reshape(episode, (-1, 1)), (times, 1)) for episode in states]
    observations = [np.vstack([column, column[:1]]) for column in columns]
    return Demonstrations.from_arrays(observations, [np.zeros((len(c), 1)) for c in columns])


VARIATION = (odd_episode, jerky_actions)


def _checks(demos: Demonstrations) -> list[tuple[str, int | None]]:
    return [(finding.check, finding.episode) for finding in find(Subject(demos), VARIATION)]


def test_the_relative_change_of_a_ramp_and_of_a_zigzag() -> None:
    # 0 1 2 3: changes of 1; the six pairs differ by 1 1 1 2 2 3, 10/6 in the mean.
    assert Subject(_demos([[0, 1, 2, 3]])).relative_action_change == pytest.approx(6 / 10)
    # 0 1 0 1: changes of 1; the six pairs differ by 1 0 1 1 0 1, 4/6 in the mean.
    assert Subject(_demos([[0, 1, 0, 1]])).relative_action_change == pytest.approx(6 / 4)
    # A jump between episodes is no change of action.
    assert Subject(_demos([[0, 0], [5, 5]])).relative_action_change == 0.0


def test_what_does_not_vary_has_no_relative_change() -> None:
    assert Subject(_demos([[2, 2, 2]])).relative_action_change is None
    assert Subject(_demos([[2]])).relative_action_change is None


def test_sampled_actions_are_told_from_smooth_ones() -> None:
    sampled = np.random.default_rng(0).normal(size=300)
    assert Subject(_demos([sampled])).relative_action_change == pytest.approx(1.0, abs=0.1)
    assert _checks(_demos([np.tile([0.0, 1.0], 150)])) == [("jerky_actions", None)]
    assert _checks(_demos([np.sin(np.arange(300) / 10)])) == []
    assert _checks(_demos([np.tile([0.0, 1.0], 20)])) == []  # too few steps to say


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([100, 101, 99, 100, 30], [("low_return", 4)]),
        ([100, 101, 99, 100, 70], []),
        ([-4, -5, -3, -4, -9], []),  # a task of negative returns that spread anyway
        ([-4, -4.1, -4, -4.1, -30], [("low_return", 4)]),
        ([100, 30, 100], []),  # too few to call one odd
        ([100, 101, np.nan, 100, 30], []),
    ],
)
def test_a_failed_episode_among_good_ones_is_told(returns: list[float], expected: Any) -> None:
    assert _checks(_demos([[0, 0, 0]] * len(returns), returns)) == expected


def test_an_episode_much_shorter_than_the_others_is_told() -> None:
    assert _checks(_demos([[0] * 10, [0] * 2, [0] * 10, [0] * 12])) == [("short_episode", 1)]
    assert _checks(_demos([[0] * 10, [0] * 3, [0] * 10, [0] * 12])) == []


def test_an_episode_elsewhere_than_the_others_is_told_without_rewards() -> None:
    # Means 0 0 0 0 3, their median 0.
    swings = [[-1, 1], [-1, 1], [-1, 1], [-1, 1]]
    (finding,) = find(Subject(_demos_in([*swings, [2, 4]])), VARIATION)
    assert (finding.check, finding.episode) == ("other_states", 4)
    # Squares 8 * 1 + 4 + 16 = 28 over 10 states, less the mean's 0.6^2: std 1.562; 3 / 1.562.
    assert "1.92 standard deviations" in finding.message
    assert _checks(_demos_in([*swings, [-0.6, 1.4]])) == [("other_states", 4)]
    assert _checks(_demos_in([*swings, [-0.8, 1.2]])) == []  # near enough
    assert _checks(_demos_in([*swings, [2, 4]], times=19)) == []  # too few steps to say


def test_episodes_that_all_go_their_own_way_are_not_told() -> None:
    assert _checks(_demos_in([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])) == []


def test_an_episode_is_told_once() -> None:
    demos = _demos_in([[-1, 1], [-1, 1], [-1, 1], [-1, 1], [2, 4]])
    rewards = np.array([50.0] * 160 + [10] * 40)
    told = with_tensors(demos, rewards=torch.from_numpy(rewards))
    assert _checks(told) == [("low_return", 4)]


def test_states_that_never_move_say_nothing_about_where_an_episode_was() -> None:
    assert _checks(_demos_in([[1, 1]] * 5)) == []


@pytest.mark.parametrize("every", [1, 20])
@pytest.mark.parametrize("task", sorted(bundled_demos()))
def test_good_demonstrations_are_not_told_whole_or_thinned(task: str, every: int) -> None:
    assert _checks(load_demos(task).subsample(every)) == []
