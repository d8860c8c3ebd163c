"""Playing a demonstrated episode again, in the env that Gymnasium itself makes."""

from typing import Any

import gymnasium
import numpy as np

from spacil.demos.demonstrations import Demonstrations
from spacil.envs.registry import TASKS


def assert_replays_exactly(demos: Demonstrations, task: str, episodes: list[int]) -> None:
    """From the stored start states: the stored rewards, states and ends, bit for bit."""
    built_in = TASKS[task]
    env = gymnasium.make(built_in.gymnasium_id, **built_in.kwargs)
    for index in episodes:
        episode = demos.episode(index)
        assert episode.rewards is not None
        assert episode.initial_qpos is not None and episode.initial_qvel is not None
        env.reset(seed=99)  # other noise: everything must come from the stored start
        simulator: Any = env.unwrapped
        simulator.set_state(episode.initial_qpos.numpy(), episode.initial_qvel.numpy())
        rewards, states, is_terminated, is_truncated = [], [], False, False
        for action in episode.executed_actions.numpy():
            assert not (is_terminated or is_truncated)
            state, reward, is_terminated, is_truncated, _ = env.step(action)
            rewards.append(reward)
            states.append(state)
        assert rewards == episode.rewards.tolist()
        assert np.array_equal(np.array(states, dtype=np.float32), episode.observations[1:].numpy())
        assert (is_terminated, is_truncated) == (episode.is_terminated, episode.is_truncated)
    env.close()
