"""MuJoCo's model of a task: its file, its sizes, what the rules read, what its numbers mean."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np

from spacil.envs.mujoco_tasks import CFRC_EXT, XPOS, MujocoTask, Physics
from spacil.envs.native_batch import NativeBatch
from spacil.envs.vector_env import EnvSpec

POSE = (
    mujoco.mjtState.mjSTATE_QPOS
    | mujoco.mjtState.mjSTATE_MOCAP_POS
    | mujoco.mjtState.mjSTATE_MOCAP_QUAT
)
"""The parts of MuJoCo's state that say where everything is"""


def model_path(task: MujocoTask) -> Path:
    """Gymnasium's own file, found without importing Gymnasium."""
    package = find_spec("gymnasium")
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "envs" / "mujoco" / "assets" / task.model_file


def load_model(task: MujocoTask) -> mujoco.MjModel:
    model = mujoco.MjModel.from_xml_path(str(model_path(task)))
    # By default a broken simulation silently starts again from the model's initial state.
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return model


def describe(task: MujocoTask, model: mujoco.MjModel) -> EnvSpec:
    low, high = model.actuator_ctrlrange.astype(np.float32).T.copy()
    return EnvSpec(
        task=task.name,
        num_states=task.num_states,
        num_actions=task.num_actions,
        action_low=low,
        action_high=high,
        horizon=task.horizon,
        dt=float(model.opt.timestep * task.frame_skip),
        gymnasium_id=task.gymnasium_id,
        kwargs=task.kwargs,
        model_sha256=hashlib.sha256(model_path(task).read_bytes()).hexdigest(),
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

_REACHER = (
    *((f"{part} of joint {i}", "1") for part in ("cosine", "sine") for i in (0, 1)),
    *((f"target {axis}", "m") for axis in "xy"),
    *((f"velocity of joint {i}", "rad/s") for i in (0, 1)),
    *((f"fingertip to target, {axis}", "m") for axis in "xyz"),
)
_FREE_POSITION = {"x": "m", "y": "m", "z": "m"} | {f"quaternion {part}": "1" for part in "wxyz"}
_FREE_VELOCITY = dict.fromkeys("xyz", "m/s") | dict.fromkeys(("roll", "pitch", "yaw"), "rad/s")


def state_units(task: MujocoTask) -> dict[str, str] | None:
    """Name -> unit ("1" for a pure number) of each number of the state; None where not known.

    A walker's state leaves out where it is along the ground: the first coordinate, or the first
    two of a free body.
    """
    if task.model_file == "reacher.xml":
        return dict(_REACHER[: task.num_states])
    positions, velocities = dict[str, str](), dict[str, str]()
    model = load_model(task)
    num_hidden = 1
    for i in range(model.njnt):
        name, kind = model.joint(i).name, model.jnt_type[i]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            num_hidden = 2
            positions |= {f"{name} {part}": unit for part, unit in _FREE_POSITION.items()}
            velocities |= {f"velocity of {name} {p}": unit for p, unit in _FREE_VELOCITY.items()}
        else:
            unit = "m" if kind == mujoco.mjtJoint.mjJNT_SLIDE else "rad"
            positions[f"position of {name}"] = unit
            velocities[f"velocity of {name}"] = f"{unit}/s"
    found = dict(list(positions.items())[num_hidden:]) | velocities
    if CFRC_EXT in task.derived_fields:  # of each body the three torques, then the three forces
        others = range(task.num_states - len(found))
        found |= {f"contact force {i}": "N m" if i % 6 < 3 else "N" for i in others}
    return found if len(found) == task.num_states else None


def action_units(task: MujocoTask) -> dict[str, str]:
    """Name of each motor -> the torque, or force, that an action of 1 is."""
    model, found = load_model(task), {}
    for i in range(model.nu):
        joint = model.joint(int(model.actuator_trnid[i, 0]))
        unit = "N" if model.jnt_type[joint.id] == mujoco.mjtJoint.mjJNT_SLIDE else "N m"
        found[f"motor of {joint.name}"] = f"{model.actuator_gear[i, 0]:g} {unit}"
    return found
