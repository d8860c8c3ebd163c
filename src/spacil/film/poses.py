"""Where everything in a MuJoCo env is, as plain numbers that can be drawn later, elsewhere.

A pose is MuJoCo's position state: joint positions, and mocap bodies where a model has some.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from spacil.envs.gymnasium_env import GymnasiumVectorEnv
from spacil.envs.mujoco_model import POSE, load_model
from spacil.envs.registry import built_in_task
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import FloatArray, VectorEnv
from spacil.errors import ConfigError


@dataclass(frozen=True)
class PoseReader:
    """Reads the pose of the first env of a vector."""

    model: Any
    """mujoco.MjModel"""
    read: Callable[[], FloatArray]
    """-> [P], a copy"""
    is_seen_from_above: bool = False

    def model_bytes(self) -> NDArray[np.uint8]:
        """The compiled model, as MuJoCo writes it."""
        content = np.empty(mujoco.mj_sizeModel(self.model), np.uint8)
        mujoco.mj_saveModel(self.model, None, content)
        return content


def pose_reader(env: VectorEnv) -> PoseReader:
    """Of our simulator, or of a Gymnasium env that simulates with MuJoCo; others are refused."""
    if isinstance(env, ThreadedMujocoEnv):
        task = built_in_task(env.spec)
        assert task is not None
        # None of the built-in models has a mocap body: qpos is the whole pose.
        return PoseReader(
            load_model(task),
            lambda: env.positions_and_velocities()[0][0],
            task.is_seen_from_above,
        )
    if isinstance(env, GymnasiumVectorEnv):
        inner = env.unwrapped_env(0)
        model, data = getattr(inner, "model", None), getattr(inner, "data", None)
        if isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData):
            return PoseReader(model, lambda: _pose(inner))
    raise ConfigError(
        f"{env.spec.task} cannot be drawn: it has no MuJoCo model and data (env.unwrapped.model, "
        ".data), and other simulators draw themselves: gymnasium.make(..., render_mode='human')"
    )


def _pose(inner: Any) -> FloatArray:
    pose = np.empty(mujoco.mj_stateSize(inner.model, POSE))
    mujoco.mj_getState(inner.model, inner.data, pose, POSE)
    return pose
