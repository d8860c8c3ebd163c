"""MuJoCo's model of a task: its file, its sizes, what the rules read, what its numbers mean."""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

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


# --- names and units of states and actions


class Quantity(NamedTuple):
    """One number."""

    name: str
    unit: str
    """"1" for a pure number; of an action, what 1 stands for"""


_REACHER = (
    *(Quantity(f"{part} of joint {i}", "1") for part in ("cosine", "sine") for i in (0, 1)),
    *(Quantity(f"target {axis}", "m") for axis in "xy"),
    *(Quantity(f"velocity of joint {i}", "rad/s") for i in (0, 1)),
    *(Quantity(f"fingertip to target, {axis}", "m") for axis in "xyz"),
)
_FREE_POSITION = (
    *(Quantity(axis, "m") for axis in "xyz"),
    *(Quantity(f"quaternion {part}", "1") for part in "wxyz"),
)
_FREE_VELOCITY = (
    *(Quantity(axis, "m/s") for axis in "xyz"),
    *(Quantity(axis, "rad/s") for axis in ("roll", "pitch", "yaw")),
)


def state_names(task: MujocoTask) -> list[str] | None:
    """One name for each number of the state; None where they are not known."""
    quantities = state_quantities(task)
    return None if quantities is None else [quantity.name for quantity in quantities]


def state_quantities(task: MujocoTask) -> list[Quantity] | None:
    """Name and unit of each number of the state; None where they are not known.

    A walker's state leaves out where it is along the ground: the first coordinate, or the first
    two of a free body.
    """
    if task.model_file == "reacher.xml":
        return list(_REACHER[: task.num_states])
    positions: list[Quantity] = []
    velocities: list[Quantity] = []
    model = load_model(task)
    is_free = False
    for i in range(model.njnt):
        name, kind = model.joint(i).name, model.jnt_type[i]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            is_free = True
            positions += [Quantity(f"{name} {part}", unit) for part, unit in _FREE_POSITION]
            velocities += [
                Quantity(f"velocity of {name} {part}", unit) for part, unit in _FREE_VELOCITY
            ]
        else:
            unit = "m" if kind == mujoco.mjtJoint.mjJNT_SLIDE else "rad"
            positions.append(Quantity(f"position of {name}", unit))
            velocities.append(Quantity(f"velocity of {name}", f"{unit}/s"))
    found = positions[2 if is_free else 1 :] + velocities
    if CFRC_EXT in task.derived_fields:  # of each body the three torques, then the three forces
        others = range(task.num_states - len(found))
        found += [Quantity(f"contact force {i}", "N m" if i % 6 < 3 else "N") for i in others]
    return found if len(found) == task.num_states else None


def action_quantities(task: MujocoTask) -> list[Quantity]:
    """The driven joint of each action, and the torque that an action of 1 is."""
    model, found = load_model(task), []
    for i in range(model.nu):
        joint = model.joint(int(model.actuator_trnid[i, 0]))
        unit = "N" if model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_SLIDE else "N m"
        gear = f"{model.actuator_gear[i, 0]:g} {unit}"
        found.append(Quantity(f"motor of {joint.name}", gear))
    return found
