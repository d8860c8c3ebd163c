"""The paper's tasks: what they compute, as array functions over a batch, and a row for each.

Every function gives, bit for bit, what Gymnasium computes for one env at a time: same order of
operations, same dtypes. Nothing here simulates or keeps state, and importing it imports no
simulator.

Shapes: N envs, S state, A action, Q and V generalized positions and velocities, B bodies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ActionArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]

XPOS, CFRC_EXT = "xpos", "cfrc_ext"
"""MjData's body positions and external forces on bodies"""


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


# Tasks.

Observe = Callable[[Physics], FloatArray]
"""physics -> states [N, S]"""
Reward = Callable[[FloatArray, Physics, ActionArray, BoolArray, float], FloatArray]
"""landmark, physics after the step, actions [N, A], is_healthy [N], dt -> rewards [N]"""
IsHealthy = Callable[[Physics], BoolArray]
"""physics after the step -> [N]; an env that is not healthy has terminated"""
DrawStart = Callable[[np.random.Generator, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""generator, the model's qpos [Q] and qvel [V] -> those of a new episode"""


@dataclass(frozen=True, kw_only=True)
class MujocoTask:
    """One task of Gymnasium with fixed settings: plain sizes, and the functions that define it."""

    gymnasium_id: str
    variant: str = ""
    """What our name, the one a user types, has beyond the id."""
    model_file: str
    frame_skip: int = 5
    horizon: int = 1_000
    num_states: int
    num_actions: int
    observe: Observe = visible_states
    landmark: Landmark = travelled
    reward: Reward
    is_healthy: IsHealthy = always_healthy
    draw_start: DrawStart
    derived_fields: tuple[str, ...] = ()
    """The fields of `Physics` beyond qpos and qvel that the functions read."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """What `gymnasium.make` gets beyond the id."""
    joint_velocities: tuple[int, ...] | None = None
    """Columns of the state that hold the driven joints' velocities, one per action."""
    is_movement: bool = False
    """Whether an episode is one movement from rest to rest, as reaching is and walking is not."""
    is_seen_from_above: bool = False
    """Whether it is drawn as seen from above; else its model has a camera of its own."""
    attack_radius: float | None = None
    """Usual L-infinity radius of an attack on the state, in standard deviations (SA-PPO's)."""

    @property
    def name(self) -> str:
        return self.gymnasium_id + self.variant


def _ant(version: Literal[4, 5], *, sees_contacts: bool) -> MujocoTask:
    """v4 sees contact forces, and pays for them, when it is asked to; v5 always does."""
    is_plain_v4 = version == 4 and not sees_contacts
    first_force = 0 if version == 4 else 6
    return MujocoTask(
        gymnasium_id=f"Ant-v{version}",
        variant="-no-contact" if is_plain_v4 else "",
        model_file="ant.xml",
        num_states=27 + (14 * 6 - first_force if sees_contacts else 0),
        num_actions=8,
        observe=partial(
            visible_states, num_hidden=2, first_force=first_force if sees_contacts else None
        ),
        landmark=torso_x,
        reward=partial(
            running_reward,
            position=torso_x,
            alive_bonus="always" if version == 4 else "while healthy",
            control_weight=0.5,
            contact_weight=5e-4 if sees_contacts else 0.0,
        ),
        is_healthy=ant_is_healthy,
        draw_start=partial(noisy_start, scale=0.1, has_normal_velocities=True),
        derived_fields=(XPOS, CFRC_EXT) if sees_contacts else (XPOS,),
        kwargs={"use_contact_forces": True} if version == 4 and sees_contacts else {},
        # Its motors begin with the fourth leg, its joints with the first.
        joint_velocities=(25, 26, 19, 20, 21, 22, 23, 24),
        attack_radius=0.15,
    )


def _in_both_versions(version: Literal[4, 5]) -> tuple[MujocoTask, ...]:
    is_v4 = version == 4
    runner = partial(  # paid for its speed along the ground; v4 pays on the step that falls, too
        MujocoTask,
        frame_skip=4,
        observe=partial(visible_states, velocity_limit=10.0),
        reward=partial(
            running_reward,
            alive_bonus="always" if is_v4 else "while healthy",
            control_weight=1e-3,
        ),
        draw_start=partial(noisy_start, scale=5e-3),
    )
    return (
        MujocoTask(
            gymnasium_id=f"Reacher-v{version}",
            model_file="reacher.xml",
            frame_skip=2,
            horizon=50,
            num_states=11 if is_v4 else 10,
            num_actions=2,
            observe=partial(reacher_states, num_offsets=3 if is_v4 else 2),
            landmark=offset_to_target,
            reward=partial(reaching_reward, distance_from="before" if is_v4 else "after"),
            draw_start=reacher_start,
            derived_fields=(XPOS,),
            joint_velocities=(6, 7),
            is_movement=True,
            is_seen_from_above=True,
        ),
        runner(
            gymnasium_id=f"Hopper-v{version}",
            model_file="hopper.xml",
            num_states=11,
            num_actions=3,
            is_healthy=hopper_is_healthy,
            joint_velocities=(8, 9, 10),
            attack_radius=0.075,
        ),
        runner(
            gymnasium_id=f"Walker2d-v{version}",
            model_file="walker2d.xml" if is_v4 else "walker2d_v5.xml",
            num_states=17,
            num_actions=6,
            is_healthy=walker_is_healthy,
            joint_velocities=(11, 12, 13, 14, 15, 16),
            attack_radius=0.05,
        ),
        MujocoTask(
            gymnasium_id=f"HalfCheetah-v{version}",
            model_file="half_cheetah.xml",
            num_states=17,
            num_actions=6,
            reward=partial(running_reward, alive_bonus="never", control_weight=0.1),
            draw_start=partial(noisy_start, scale=0.1, has_normal_velocities=True),
            joint_velocities=(11, 12, 13, 14, 15, 16),
            attack_radius=0.15,
        ),
        _ant(version, sees_contacts=True),
    )


MUJOCO_TASKS = (
    *_in_both_versions(4),
    _ant(4, sees_contacts=False),
    *_in_both_versions(5),
    MujocoTask(
        gymnasium_id="Swimmer-v4",
        model_file="swimmer.xml",
        frame_skip=4,
        num_states=8,
        num_actions=2,
        observe=partial(visible_states, num_hidden=2),
        reward=partial(running_reward, alive_bonus="never", control_weight=1e-4),
        draw_start=partial(noisy_start, scale=0.1),
        joint_velocities=(6, 7),
    ),
)
