"""Playing a demonstrated episode again, in the env that Gymnasium itself makes.

On the processor that recorded them, episodes come back bit for bit. Elsewhere the mathematics of
the C library rounds differently, and contacts amplify that. Measured over all bundled episodes with
its FMA and AVX2 switched off: HalfCheetah's rewards differ by 1e-11 after 40 steps, by 3e-3 after
80 and soon by all of their size, as Ant's do, while Hopper, Reacher and Walker2d stay within 3e-5
over whole episodes.
"""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from spacil.demos.demonstrations import Demonstrations
from spacil.envs.registry import TASKS

PREDICTABLE_STEPS = 30
"""On every task and processor."""
TOLERANCES = {"reward": 1e-9, "state": 1e-6}
"""States are stored in float32, which rounds by 6e-8."""
PREDICTABLE_TASKS = {"Hopper-v4", "Reacher-v4", "Walker2d-v4"}
"""Also over whole episodes, up to"""
EPISODE_TOLERANCE = 1e-3


def assert_replays(
    demos: Demonstrations, task: str, episodes: list[int], *, is_exact: bool = False
) -> None:
    """From the stored start states: the stored rewards, states and ends.

    Bit for bit, or as on any processor: tightly at first, then as far as the task can be predicted.
    """
    for index in episodes:
        episode, (rewards, states, ends) = demos.episodes[index], _replay(demos, task, index)
        assert episode.rewards is not None
        expected = (episode.rewards.double().numpy(), episode.observations[1:].numpy())
        is_predictable = task in PREDICTABLE_TASKS
        for noun, found, stored in zip(TOLERANCES, (rewards, states), expected, strict=True):
            if is_exact:
                assert np.array_equal(found, stored)
                continue
            first = slice(PREDICTABLE_STEPS)
            _require_close(noun, found[first], stored[first], TOLERANCES[noun])
            if is_predictable:
                _require_close(noun, found, stored, EPISODE_TOLERANCE)
        if is_exact or is_predictable:
            assert ends == (episode.is_terminated, episode.is_truncated)


def _replay(
    demos: Demonstrations, task: str, index: int
) -> tuple[NDArray[np.float64], NDArray[np.float32], tuple[bool, bool]]:
    """Rewards, states, and whether the episode was terminated and truncated."""
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
    return np.array(rewards), np.array(states, dtype=np.float32), (is_terminated, is_truncated)


def _require_close(
    noun: str, found: NDArray[Any], expected: NDArray[Any], tolerance: float
) -> None:
    """Within the tolerance, relative where the numbers are larger than 1."""
    errors = np.abs(found.astype(np.float64) - expected) / np.maximum(1.0, np.abs(expected))
    assert errors.max() <= tolerance, f"a {noun} is off by {errors.max():.2g}, over {tolerance}"
