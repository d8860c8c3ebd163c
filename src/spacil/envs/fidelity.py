"""Our simulator beside its origins: equal to Gymnasium's in every bit, near MuJoCo's own speed.

Short versions of the tests and benchmarks of this room, for the machine a user has.
"""

import time
import warnings
from collections.abc import Callable

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


def share_of_raw_speed(task: MujocoTask, seconds: float, repeats: int = 3) -> float:
    """Env steps/s of ours over those of bare `mj_step` calls, in one thread; the best of a few."""
    model = load_model(task)
    datas = [mujoco.MjData(model) for _ in range(_NUM_ENVS)]
    script = _random_actions(task, _NUM_ENVS, 25)

    with ThreadedMujocoEnv(task, _NUM_ENVS, _SEEDS, num_threads=1) as env:
        env.reset()

        def our_round() -> None:
            for actions in script:
                env.step(actions)

        def raw_round() -> None:
            for data in datas:
                mujoco.mj_resetData(model, data)
            for actions in script:
                for data, action in zip(datas, actions.numpy(), strict=True):
                    data.ctrl[:] = action
                    mujoco.mj_step(model, data, task.frame_skip)

        share = seconds / (2 * repeats)
        return max(_rate(our_round, share) / _rate(raw_round, share) for _ in range(repeats))


def _rate(play_round: Callable[[], None], seconds: float) -> float:
    """Rounds per second of processor time, which others on the machine do not take away."""
    rounds, began, deadline = 0, time.process_time(), time.perf_counter() + seconds
    while rounds == 0 or time.perf_counter() < deadline:
        play_round()
        rounds += 1
    return rounds / (time.process_time() - began)


def _random_actions(task: MujocoTask, num_envs: int, num_steps: int) -> Tensor:
    """Uniform in [-1, 1]; [T, N, A]."""
    shape = (num_steps, num_envs, task.num_actions)
    return torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32))
