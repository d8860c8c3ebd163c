"""Playing a demonstrated episode again, in the env that Gymnasium itself makes.

On the processor that recorded them, episodes come back bit for bit. Elsewhere the mathematics of
the C library rounds differently, and contacts amplify that. Measured over all bundled episodes with
its FMA and AVX2 switched off: HalfCheetah's rewards differ by 1e-11 after 40 steps, by 3e-3 after
80 and soon by all of their size, as Ant's do, while Hopper, Reacher and Walker2d stay within 3e-5
over whole episodes.
"""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.episode import Episode
from spacil.envs.registry import TASKS

PREDICTABLE_STEPS = 30
"""On every task and processor."""
REWARD_TOLERANCE = 1e-9
STATE_TOLERANCE = 1e-6
"""Stored in float32, which rounds by 6e-8."""
PREDICTABLE_TASKS = {"Hopper-v4", "Reacher-v4", "Walker2d-v4"}
"""Also over whole episodes, up to"""
EPISODE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class _Replay:
    rewards: NDArray[np.float64]
    states: NDArray[np.float32]
    is_terminated: bool
    is_truncated: bool


def assert_replays_exactly(demos: Demonstrations, task: str, episodes: list[int]) -> None:
    """From the stored start states: the stored rewards, states and ends, bit for bit."""
    for index in episodes:
        episode, replay = demos.episodes[index], _replay(demos, task, index)
        assert replay.rewards.tolist() == _rewards(episode).tolist()
        assert np.array_equal(replay.states, episode.observations[1:].numpy())
        assert replay.is_terminated == episode.is_terminated
        assert replay.is_truncated == episode.is_truncated


def assert_replays(demos: Demonstrations, task: str, episodes: list[int]) -> None:
    """The same on any processor: tightly at first, then as far as the task can be predicted."""
    for index in episodes:
        episode, replay = demos.episodes[index], _replay(demos, task, index)
        states = episode.observations[1:].numpy()
        steps = slice(PREDICTABLE_STEPS)
        _require_close("reward", replay.rewards[steps], _rewards(episode)[steps], REWARD_TOLERANCE)
        _require_close("state", replay.states[steps], states[steps], STATE_TOLERANCE)
        if task in PREDICTABLE_TASKS:
            _require_close("reward", replay.rewards, _rewards(episode), EPISODE_TOLERANCE)
            _require_close("state", replay.states, states, EPISODE_TOLERANCE)
            assert replay.is_terminated == episode.is_terminated
            assert replay.is_truncated == episode.is_truncated


def _replay(demos: Demonstrations, task: str, index: int) -> _Replay:
    built_in, episode = TASKS[task], demos.episodes[index]
    assert episode.initial_qpos is not None and episode.initial_qvel is not None
    env = gymnasium.make(built_in.gymnasium_id, **built_in.kwargs)
    env.reset(seed=99)  # other noise: everything must come from the stored start
    simulator: Any = env.unwrapped
    simulator.set_state(episode.initial_qpos.numpy(), episode.initial_qvel.numpy())
    rewards, states, is_terminated, is_truncated = [], [], False, False
    for action in episode.executed_actions.numpy():
        assert not is_truncated
        state, reward, is_terminated, is_truncated, _ = env.step(action)
        rewards.append(float(reward))
        states.append(state)
    env.close()
    return _Replay(
        np.array(rewards), np.array(states, dtype=np.float32), is_terminated, is_truncated
    )


def _rewards(episode: Episode) -> NDArray[np.float64]:
    assert episode.rewards is not None
    rewards: NDArray[np.float64] = episode.rewards.double().numpy()
    return rewards


def _require_close(
    noun: str, found: NDArray[Any], expected: NDArray[Any], tolerance: float
) -> None:
    """Within the tolerance, relative where the numbers are larger than 1."""
    errors = np.abs(found.astype(np.float64) - expected) / np.maximum(1.0, np.abs(expected))
    assert errors.max() <= tolerance, f"a {noun} is off by {errors.max():.2g}, over {tolerance}"
