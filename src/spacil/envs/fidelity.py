"""Our simulator beside its origins: equal to Gymnasium's in every bit, near MuJoCo's own speed.

Short versions of the tests and benchmarks of this room, for the machine a user has.
"""

import time
import timeit
import warnings

import gymnasium
import mujoco
import numpy as np
import torch
from torch import Tensor

from spacil.envs.mujoco_model import load_model
from spacil.envs.mujoco_tasks import MujocoTask
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import ResetSeeds

_SEEDS = ResetSeeds(root_seed=0, stream="fidelity")
_NUM_ENVS = 20


def difference_from_gymnasium(task: MujocoTask, num_steps: int) -> str | None:
    """Where an env of ours first differs from `gymnasium.make`, in words; None if nowhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there is a newer version
        theirs = gymnasium.make(task.gymnasium_id, **task.kwargs)
    episode = 0
    try:
        with ThreadedMujocoEnv(task, 1, _SEEDS, num_threads=1) as ours:
            state, _ = theirs.reset(seed=_SEEDS(0, episode))
            if not np.array_equal(ours.reset()[0], state):
                return f"{task.name}: the first state differs"
            for step, actions in enumerate(_random_actions(task, 1, num_steps), start=1):
                result = ours.step(actions)
                state, reward, terminated, truncated, _ = theirs.step(actions[0].numpy())
                flags = (bool(result.terminated[0]), bool(result.truncated[0]))
                if (
                    not np.array_equal(result.final_observations[0], state)
                    or result.rewards[0] != reward
                    or flags != (terminated, truncated)
                ):
                    return f"{task.name}: step {step} differs"
                if terminated or truncated:
                    episode += 1
                    theirs.reset(seed=_SEEDS(0, episode))
    finally:
        theirs.close()
    return None


def share_of_raw_speed(task: MujocoTask, rounds: int = 3, repeats: int = 3) -> float:
    """Env steps/s of ours over those of bare `mj_step` calls, in one thread; the best of a few.

    In processor time, which others on the machine do not take away.
    """
    model, script = load_model(task), _random_actions(task, _NUM_ENVS, 25)
    datas = [mujoco.MjData(model) for _ in range(_NUM_ENVS)]

    with ThreadedMujocoEnv(task, _NUM_ENVS, _SEEDS, num_threads=1) as env:
        env.reset()

        def ours() -> None:
            for actions in script:
                env.step(actions)

        def bare() -> None:
            for data in datas:
                mujoco.mj_resetData(model, data)
            for actions in script:
                for data, action in zip(datas, actions.numpy(), strict=True):
                    data.ctrl[:] = action
                    mujoco.mj_step(model, data, task.frame_skip)

        best = [
            min(timeit.repeat(work, timer=time.process_time, number=rounds, repeat=repeats))
            for work in (bare, ours)
        ]
    return best[0] / best[1]


def _random_actions(task: MujocoTask, num_envs: int, num_steps: int) -> Tensor:
    """Uniform in [-1, 1]; [T, N, A]."""
    shape = (num_steps, num_envs, task.num_actions)
    return torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32))
