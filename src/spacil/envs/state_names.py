"""What each number of a built-in task's state is, in words."""

import mujoco

from spacil.envs.mujoco_model import load_model
from spacil.envs.mujoco_tasks import CFRC_EXT, MujocoTask

_REACHER = (
    *(f"{part} of joint {i}" for part in ("cosine", "sine") for i in (0, 1)),
    *("target x", "target y"),
    *(f"velocity of joint {i}" for i in (0, 1)),
    *(f"fingertip to target, {axis}" for axis in "xyz"),
)
_FREE_POSITION = ("x", "y", "z", "quaternion w", "quaternion x", "quaternion y", "quaternion z")
_FREE_VELOCITY = ("x", "y", "z", "roll", "pitch", "yaw")


def state_names(task: MujocoTask) -> list[str] | None:
    """One name for each number of the state; None where they are not known.

    A walker's state leaves out where it is along the ground: the first coordinate, or the first
    two of a free body.
    """
    if task.model_file == "reacher.xml":
        return list(_REACHER[: task.num_states])
    positions: list[str] = []
    velocities: list[str] = []
    model = load_model(task)
    is_free = False
    for i in range(model.njnt):
        joint = model.joint(i)
        if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE:
            is_free = True
            positions += [f"{joint.name} {part}" for part in _FREE_POSITION]
            velocities += [f"velocity of {joint.name} {part}" for part in _FREE_VELOCITY]
        else:
            positions.append(f"position of {joint.name}")
            velocities.append(f"velocity of {joint.name}")
    names = positions[2 if is_free else 1 :] + velocities
    if CFRC_EXT in task.derived_fields:
        names += [f"contact force {i}" for i in range(task.num_states - len(names))]
    return names if len(names) == task.num_states else None
