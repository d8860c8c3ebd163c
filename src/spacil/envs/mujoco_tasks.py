"""The paper's tasks, one description each: sizes, model file, and the rules that define it.

Plain data. Nothing here simulates, and importing it imports no simulator.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from spacil.envs import mujoco_rules as rules
from spacil.envs.mujoco_rules import ActionArray, BoolArray, FloatArray, Landmark, Physics

XPOS, CFRC_EXT = "xpos", "cfrc_ext"
"""MjData's body positions and external forces on bodies"""

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
    observe: Observe = rules.visible_states
    landmark: Landmark = rules.travelled
    reward: Reward
    is_healthy: IsHealthy = rules.always_healthy
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
            rules.visible_states, num_hidden=2, first_force=first_force if sees_contacts else None
        ),
        landmark=rules.torso_x,
        reward=partial(
            rules.running_reward,
            position=rules.torso_x,
            alive_bonus="always" if version == 4 else "while healthy",
            control_weight=0.5,
            contact_weight=5e-4 if sees_contacts else 0.0,
        ),
        is_healthy=rules.ant_is_healthy,
        draw_start=partial(rules.noisy_start, scale=0.1, has_normal_velocities=True),
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
        observe=partial(rules.visible_states, velocity_limit=10.0),
        reward=partial(
            rules.running_reward,
            alive_bonus="always" if is_v4 else "while healthy",
            control_weight=1e-3,
        ),
        draw_start=partial(rules.noisy_start, scale=5e-3),
    )
    return (
        MujocoTask(
            gymnasium_id=f"Reacher-v{version}",
            model_file="reacher.xml",
            frame_skip=2,
            horizon=50,
            num_states=11 if is_v4 else 10,
            num_actions=2,
            observe=partial(rules.reacher_states, num_offsets=3 if is_v4 else 2),
            landmark=rules.offset_to_target,
            reward=partial(rules.reaching_reward, distance_from="before" if is_v4 else "after"),
            draw_start=rules.reacher_start,
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
            is_healthy=rules.hopper_is_healthy,
            joint_velocities=(8, 9, 10),
            attack_radius=0.075,
        ),
        runner(
            gymnasium_id=f"Walker2d-v{version}",
            model_file="walker2d.xml" if is_v4 else "walker2d_v5.xml",
            num_states=17,
            num_actions=6,
            is_healthy=rules.walker_is_healthy,
            joint_velocities=(11, 12, 13, 14, 15, 16),
            attack_radius=0.05,
        ),
        MujocoTask(
            gymnasium_id=f"HalfCheetah-v{version}",
            model_file="half_cheetah.xml",
            num_states=17,
            num_actions=6,
            reward=partial(rules.running_reward, alive_bonus="never", control_weight=0.1),
            draw_start=partial(rules.noisy_start, scale=0.1, has_normal_velocities=True),
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
        observe=partial(rules.visible_states, num_hidden=2),
        reward=partial(rules.running_reward, alive_bonus="never", control_weight=1e-4),
        draw_start=partial(rules.noisy_start, scale=0.1),
        joint_velocities=(6, 7),
    ),
)
