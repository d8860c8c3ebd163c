"""What the paper's tasks compute, as array functions over a whole batch of envs.

Every function gives, bit for bit, what Gymnasium computes for one env at a time: same order of
operations, same dtypes. Nothing here simulates, keeps state or imports a simulator.

Shapes: N envs, S state, A action, Q and V generalized positions and velocities, B bodies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ActionArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Physics:
    """What a task may read of N simulations. A field it does not ask for is empty."""

    qpos: FloatArray
    """[N, Q]"""
    qvel: FloatArray
    """[N, V]"""
    xpos: FloatArray
    """[N, B, 3] at the last substep's forward pass, so behind `qpos` after a step"""
    cfrc_ext: FloatArray
    """[N, B * 6]"""


Landmark = Callable[[Physics], FloatArray]
"""physics before the step -> the part of it that the reward needs, as a copy"""


# Starts. The order of the draws is Gymnasium's, so that a seed means the same episode.


def noisy_start(
    generator: np.random.Generator,
    qpos: FloatArray,
    qvel: FloatArray,
    *,
    scale: float,
    has_normal_velocities: bool = False,
) -> tuple[FloatArray, FloatArray]:
    start = qpos + generator.uniform(-scale, scale, qpos.size)
    if has_normal_velocities:
        return start, qvel + scale * generator.standard_normal(qvel.size)
    return start, qvel + generator.uniform(-scale, scale, qvel.size)


def reacher_start(
    generator: np.random.Generator, qpos: FloatArray, qvel: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A bent arm, and a target at rest, uniform in a disc of radius 0.2 by rejection."""
    start = generator.uniform(-0.1, 0.1, qpos.size) + qpos
    goal = generator.uniform(-0.2, 0.2, 2)
    while np.linalg.norm(goal) >= 0.2:
        goal = generator.uniform(-0.2, 0.2, 2)
    start[-2:] = goal
    velocity = qvel + generator.uniform(-0.005, 0.005, qvel.size)
    velocity[-2:] = 0.0
    return start, velocity


# Observations.


def visible_states(
    physics: Physics,
    *,
    num_hidden: int = 1,
    velocity_limit: float | None = None,
    first_force: int | None = None,
) -> FloatArray:
    """Everything but the distance travelled, and contact forces where a first one is named.

    v4 shows the forces on all bodies; v5 leaves out the world's, which come first.
    """
    qvel = physics.qvel
    if velocity_limit is not None:
        qvel = np.minimum(np.maximum(qvel, -velocity_limit), velocity_limit)
    parts = [physics.qpos[:, num_hidden:], qvel]
    if first_force is not None:
        parts.append(_clipped_forces(physics)[:, first_force:])
    return np.concatenate(parts, axis=1)


def reacher_states(physics: Physics, *, num_offsets: int) -> FloatArray:
    """v4 shows all three coordinates of the offset to the target; v5 leaves out the constant z."""
    # A contiguous copy: numpy may take another path, with other last bits, over strided angles.
    angles = physics.qpos[:, :2].copy()
    offsets = offset_to_target(physics)[:, :num_offsets]
    parts = (np.cos(angles), np.sin(angles), physics.qpos[:, 2:], physics.qvel[:, :2], offsets)
    return np.concatenate(parts, axis=1)


# Landmarks and rewards.


def travelled(physics: Physics) -> FloatArray:
    """The root joint's x."""
    return physics.qpos[:, 0].copy()


def torso_x(physics: Physics) -> FloatArray:
    return physics.xpos[:, 1, 0].copy()


def offset_to_target(physics: Physics) -> FloatArray:
    fingertip, target = 3, 4  # bodies of reacher.xml
    return physics.xpos[:, fingertip] - physics.xpos[:, target]


def _clipped_forces(physics: Physics) -> FloatArray:
    return np.minimum(np.maximum(physics.cfrc_ext, -1.0), 1.0)


def running_reward(
    before: FloatArray,
    after: Physics,
    actions: ActionArray,
    is_healthy: BoolArray,
    dt: float,
    *,
    position: Landmark = travelled,
    alive_bonus: Literal["always", "while healthy", "never"],
    control_weight: float,
    contact_weight: float = 0.0,
) -> FloatArray:
    """Speed, plus 1 for being alive, minus the costs of control and contact."""
    reward: FloatArray = (position(after) - before) / dt
    if alive_bonus == "always":
        reward += 1.0
    elif alive_bonus == "while healthy":
        reward += is_healthy
    # float32, as the action is: the same sum in float64 is off by 1e-8.
    cost: NDArray[Any] = control_weight * np.square(actions).sum(axis=1)
    if contact_weight:
        cost = cost + contact_weight * np.square(_clipped_forces(after)).sum(axis=1)
    reward -= cost
    return reward


def reaching_reward(
    before: FloatArray,
    after: Physics,
    actions: ActionArray,
    is_healthy: BoolArray,
    dt: float,
    *,
    distance_from: Literal["before", "after"],
) -> FloatArray:
    """Minus the distance to the target, before the step in v4 and after it in v5, minus control."""
    offsets = before if distance_from == "before" else offset_to_target(after)
    # The dot product that a vector's norm calls: another way to sum may round otherwise.
    reward: FloatArray = -np.sqrt(np.vecdot(offsets, offsets))
    reward -= np.square(actions).sum(axis=1)
    return reward


# Health.


def always_healthy(physics: Physics) -> BoolArray:
    return np.ones(len(physics.qpos), dtype=np.bool_)


def hopper_is_healthy(physics: Physics) -> BoolArray:
    qpos = physics.qpos
    is_upright = (qpos[:, 1] > 0.7) & (np.abs(qpos[:, 2]) < 0.2)
    is_near = (np.abs(qpos[:, 2:]) < 100.0).all(axis=1)
    is_slow = (np.abs(physics.qvel) < 100.0).all(axis=1)
    return is_upright & is_near & is_slow


def walker_is_healthy(physics: Physics) -> BoolArray:
    height = physics.qpos[:, 1]
    return (height > 0.8) & (height < 2.0) & (np.abs(physics.qpos[:, 2]) < 1.0)


def ant_is_healthy(physics: Physics) -> BoolArray:
    height = physics.qpos[:, 2]
    return (height >= 0.2) & (height <= 1.0)
