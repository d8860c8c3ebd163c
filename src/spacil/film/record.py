"""Several policies play the same episodes, and everything a film of them needs is kept.

Every policy starts every episode from the same state. Episodes follow each other until the film is
full; in each of them a policy whose own is over waits for the others.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Trajectory, WaveStep, play_wave
from spacil.envs.gymnasium_env import GymnasiumVectorEnv
from spacil.envs.mujoco_model import load_model
from spacil.envs.registry import built_in_task, make_vector_env
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import EnvSpec, FloatArray, ResetSeeds, VectorEnv
from spacil.errors import ConfigError
from spacil.film.draw import POSE
from spacil.measuring.frames import mean_j
from spacil.policies.policy import Policy
from spacil.smoothness.action_signal import action_fluctuation, mean_of_known

DEFAULT_STEP_SECONDS = 1 / 30
"""Seconds per step of an env that does not say"""
_MAX_RATE = 32
"""Frames per second, at most: a step of the env may be left out, time is never stretched"""
_MAX_EPISODES = 100


@dataclass(frozen=True)
class Clip:
    """One episode of one policy, as far as the film shows it."""

    trajectory: Trajectory
    poses: FloatArray
    """Where everything is when each action is chosen [T, P]"""
    is_whole: bool
    """Whether the episode was over, and not cut"""

    def __len__(self) -> int:
        return len(self.trajectory)

    def first_steps(self, num_steps: int) -> "Clip":
        if len(self) <= num_steps:
            return self
        whole = self.trajectory
        cut = (whole.states[:num_steps], whole.actions[:num_steps], whole.rewards[:num_steps])
        return Clip(Trajectory(*cut), self.poses[:num_steps], is_whole=False)


@dataclass(frozen=True)
class Panel:
    """All episodes of one policy, and the numbers of what is shown."""

    name: str
    clips: tuple[Clip, ...]
    total_return: float
    """Mean return of the episodes, each as far as it is shown"""
    smoothness_j: float | None
    """J in the common frame, over the states shown; None without a frame"""
    action_change: float | None
    """E |a_{t+1} - a_t| over the steps shown"""


@dataclass(frozen=True)
class Recording:
    """What was played, by panel, and the model it was played with."""

    spec: EnvSpec
    seed: int
    panels: tuple[Panel, ...]
    frame: CommonFrame | None
    """The frame whose standard deviations J is measured in"""
    model: Any = None
    """The mujoco.MjModel"""
    is_seen_from_above: bool = False

    @property
    def num_episodes(self) -> int:
        return len(self.panels[0].clips)

    def episode_length(self, index: int) -> int:
        """Count the steps until the last policy has ended."""
        return max(len(panel.clips[index]) for panel in self.panels)

    @property
    def steps_per_frame(self) -> int:
        return max(1, math.ceil(1 / (_MAX_RATE * seconds_per_step(self.spec)) - 1e-9))

    @property
    def rate(self) -> Fraction:
        """Frames per second, so that a second of film is a second of simulated time."""
        step_seconds = seconds_per_step(self.spec)
        return 1 / Fraction(self.steps_per_frame * step_seconds).limit_denominator(10_000)


def seconds_per_step(spec: EnvSpec) -> float:
    return spec.dt or DEFAULT_STEP_SECONDS


@dataclass(frozen=True)
class PoseReader:
    """Reads the pose (MuJoCo's position state) of the first env of a vector."""

    model: Any
    """The mujoco.MjModel"""
    read: Callable[[], FloatArray]
    """Returns the pose [P], a copy"""
    is_seen_from_above: bool = False


def pose_reader(env: VectorEnv) -> PoseReader:
    """Find model and data of a MuJoCo env, ours or Gymnasium's; refuse other simulators."""
    if isinstance(env, ThreadedMujocoEnv):
        task = built_in_task(env.spec)
        assert task is not None
        # None of the built-in models has a mocap body: qpos is the whole pose.
        return PoseReader(
            load_model(task),
            lambda: env.positions_and_velocities()[0][0],
            task.is_seen_from_above,
        )
    inner: Any = env.envs[0].unwrapped if isinstance(env, GymnasiumVectorEnv) else None
    model, data = getattr(inner, "model", None), getattr(inner, "data", None)
    if not (isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData)):
        raise ConfigError(
            f"{env.spec.task} cannot be drawn: it has no MuJoCo model and data "
            "(env.unwrapped.model, .data), and other simulators draw themselves: "
            "gymnasium.make(..., render_mode='human')"
        )

    def read() -> FloatArray:
        pose = np.empty(mujoco.mj_stateSize(inner.model, POSE))
        mujoco.mj_getState(inner.model, inner.data, pose, POSE)
        return pose

    return PoseReader(model, read)


@contextlib.contextmanager
def drawable_env(env_source: Any, seed: int) -> Iterator[tuple[VectorEnv, PoseReader]]:
    """Open one env for all policies, with the stream of `spacil evaluate`."""
    with contextlib.closing(make_vector_env(env_source, 1, ResetSeeds(seed, "evaluate"))) as env:
        yield env, pose_reader(env)


def record(
    policies: Mapping[str, Policy],
    env_source: Any,
    frame: CommonFrame | None,
    seed: int,
    seconds: float,
) -> Recording:
    """Play every policy in one env, in turn, from the same starts. Needs no OpenGL."""
    with drawable_env(env_source, seed) as (env, reader):
        for source in policies.values():
            source.require_widths(env.spec.num_states, env.spec.num_actions, env.spec.task)
        if frame is not None and frame.num_states != env.spec.num_states:
            frame = None  # an env under a task's name may have been wrapped
        num_left = max(1, round(seconds / seconds_per_step(env.spec)))
        clips: dict[str, list[Clip]] = {name: [] for name in policies}
        for episode in range(_MAX_EPISODES):
            played = {name: _play(p, env, reader, episode) for name, p in policies.items()}
            for name, clip in played.items():
                clips[name].append(clip.first_steps(num_left))
            num_left -= max(map(len, played.values()))
            if num_left <= 0:
                break
        panels = tuple(_panel(name, p, clips[name], frame) for name, p in policies.items())
        return Recording(env.spec, seed, panels, frame, reader.model, reader.is_seen_from_above)


def _play(source: Policy, env: VectorEnv, reader: PoseReader, episode: int) -> Clip:
    poses: list[FloatArray] = []
    steps: list[tuple[Tensor, Tensor, float]] = []

    def act(states: Tensor) -> Tensor:
        poses.append(reader.read())
        return source.mean(states.to(source.dtype)).detach()

    def keep(step: WaveStep) -> None:
        reward = float(step.outcome.rewards[0])
        steps.append((step.states[0], step.executed_actions[0], reward))

    play_wave(env, act, env.reset(episode), 1, keep)
    states, actions, rewards = zip(*steps, strict=True)
    rewards_of_steps = torch.tensor(rewards, dtype=torch.float64)
    trajectory = Trajectory(torch.stack(states), torch.stack(actions), rewards_of_steps)
    return Clip(trajectory, np.stack(poses), is_whole=True)


def _panel(name: str, source: Policy, clips: list[Clip], frame: CommonFrame | None) -> Panel:
    j = None
    if frame is not None:
        j = mean_j(source, torch.cat([clip.trajectory.states for clip in clips]), frame)
    return Panel(
        name=name,
        clips=tuple(clips),
        total_return=float(np.mean([clip.trajectory.total_return for clip in clips])),
        smoothness_j=j,
        action_change=mean_of_known([action_fluctuation(c.trajectory.actions) for c in clips]),
    )
