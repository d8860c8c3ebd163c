"""Our simulator beside its origin: equal to Gymnasium's in every bit.

A short version of the tests of this room, for the machine a user has.
"""

import warnings

import gymnasium
import numpy as np
import torch

from spacil.envs.mujoco_tasks import MujocoTask
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import ResetSeeds


def difference_from_gymnasium(task: MujocoTask, num_steps: int) -> str | None:
    """Where an env of ours first differs from `gymnasium.make`, in words; None if nowhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there is a newer version
        theirs = gymnasium.make(task.gymnasium_id, **task.kwargs)
    episode, seeds = 0, ResetSeeds(root_seed=0, stream="fidelity")
    script = np.random.default_rng(0).uniform(-1, 1, (num_steps, 1, task.num_actions))
    try:
        with ThreadedMujocoEnv(task, 1, seeds, num_threads=1) as ours:
            state, _ = theirs.reset(seed=seeds(0, episode))
            if not np.array_equal(ours.reset()[0], state):
                return f"{task.name}: the first state differs"
            for step, actions in enumerate(torch.from_numpy(script.astype(np.float32)), start=1):
                result = ours.step(actions)
                state, reward, terminated, truncated, _ = theirs.step(actions[0].numpy())
                flags = (bool(result.terminated[0]), bool(result.truncated[0]))
                is_same = np.array_equal(result.final_observations[0], state)
                if not is_same or result.rewards[0] != reward or flags != (terminated, truncated):
                    return f"{task.name}: step {step} differs"
                if terminated or truncated:
                    episode += 1
                    theirs.reset(seed=seeds(0, episode))
    finally:
        theirs.close()
    return None
