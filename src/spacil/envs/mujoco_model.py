"""From the description of a task to MuJoCo's model of it, and to what the rules read."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np

from spacil.envs.mujoco_rules import Physics
from spacil.envs.mujoco_tasks import CFRC_EXT, XPOS, MujocoTask
from spacil.envs.native_batch import NativeBatch
from spacil.envs.vector_env import EnvSpec, fingerprint
from spacil.errors import ConfigError


def model_path(task: MujocoTask) -> Path:
    """Gymnasium's own file, found without importing Gymnasium."""
    package = find_spec("gymnasium")
    if package is None or package.origin is None:
        raise ConfigError(f"{task.name} needs the model files of gymnasium: pip install gymnasium")
    return Path(package.origin).parent / "envs" / "mujoco" / "assets" / task.model_file


def load_model(task: MujocoTask) -> mujoco.MjModel:
    model = mujoco.MjModel.from_xml_path(str(model_path(task)))
    # By default a broken simulation silently starts again from the model's initial state.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return model


def seconds_per_step(task: MujocoTask, model: mujoco.MjModel) -> float:
    return float(model.opt.timestep * task.frame_skip)


def describe(task: MujocoTask, model: mujoco.MjModel) -> EnvSpec:
    low, high = model.actuator_ctrlrange.astype(np.float32).T.copy()
    return EnvSpec(
        task=task.name,
        num_states=task.num_states,
        num_actions=task.num_actions,
        action_low=low,
        action_high=high,
        horizon=task.horizon,
        dt=seconds_per_step(task, model),
        fingerprint=fingerprint(
            task.gymnasium_id,
            task.kwargs,
            task.num_states,
            low,
            high,
            task.horizon,
            hashlib.sha256(model_path(task).read_bytes()).hexdigest(),
        ),
    )


def physics_of(batch: NativeBatch) -> Physics:
    """Live views of a batch."""
    num_envs = len(batch.qpos)
    nothing = np.empty((num_envs, 0))
    return Physics(
        qpos=batch.qpos,
        qvel=batch.qvel,
        xpos=batch.derived.get(XPOS, nothing).reshape(num_envs, -1, 3),
        cfrc_ext=batch.derived.get(CFRC_EXT, nothing),
    )
