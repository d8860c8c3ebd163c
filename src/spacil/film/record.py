"""Several policies play the same episodes, and everything a film of them needs is kept.

Every policy starts every episode from the same state. Episodes follow each other until the film is
full; in each of them a policy whose own is over waits for the others.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.envs.conditions import under
from spacil.envs.episodes import Trajectory, play_wave
from spacil.envs.on_host import on_host
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds, Scene, VectorEnv
from spacil.errors import ConfigError
from spacil.measuring.frames import mean_j
from spacil.policies.file import bundled_experts
from spacil.policies.open import load_expert
from spacil.policies.policy import Policy
from spacil.smoothness.action_signal import action_fluctuation, mean_of_known

DEFAULT_STEP_SECONDS = 1 / 30
"""Seconds per step of an env that does not say"""
DEMONSTRATOR = "demonstrator"
MAX_SECONDS, MAX_PANELS = 300.0, 6
_MAX_RATE = 32
"""Frames per second, at most: a step of the env may be left out, time is never stretched"""
_MAX_EPISODES = 100


@dataclass(frozen=True)
class Clip:
    """One episode of one policy, as far as the film shows it."""

    trajectory: Trajectory
    poses: Sequence[Any]
    """Where everything is when each action is chosen, by step (`Scene.pose`); none where nothing
    draws"""
    is_whole: bool
    """Whether the episode was over, and not cut"""

    def __len__(self) -> int:
        return len(self.trajectory)


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
    scene: Scene | None = None
    """What it was played in, to be drawn; None where nothing draws it"""

    @property
    def step_seconds(self) -> float:
        return self.spec.dt or DEFAULT_STEP_SECONDS

    @property
    def steps_per_frame(self) -> int:
        return max(1, math.ceil(1 / (_MAX_RATE * self.step_seconds) - 1e-9))

    @property
    def rate(self) -> Fraction:
        """Frames per second, so that a second of film is a second of simulated time."""
        return 1 / Fraction(self.steps_per_frame * self.step_seconds).limit_denominator(10_000)


@contextlib.contextmanager
def drawable_env(env_source: Any, seed: int) -> Iterator[tuple[VectorEnv, Scene | None]]:
    """Open one env for all policies, with the stream of `spacil evaluate`."""
    env = on_host(make_vector_env(env_source, 1, ResetSeeds(seed, "evaluate")))
    with contextlib.closing(env):
        scene = getattr(env, "scene", None)
        yield env, scene and scene()


def env_for(
    policy: Policy, env: VectorEnv, seed: int, frame: CommonFrame | None = None
) -> VectorEnv:
    """The env under the conditions that the policy was made for."""
    frame = policy.common_frame or frame or bundled_frame(env.spec.task)
    seeds, std = ResetSeeds(seed, "evaluate"), None if frame is None else frame.std
    return under(env, policy.conditions, seeds, std)


def record(
    policies: Mapping[str, Policy],
    env_source: Any,
    seed: int,
    seconds: float,
    demonstrator: bool = True,
) -> Recording:
    """Play every policy in one env, in turn, from the same starts. Needs no OpenGL.

    J is measured in the frame of the first policy that has one, so that it compares. The bundled
    `demonstrator` comes first, unless it is shown already or the policies had another teacher.
    """
    if not 0 < seconds <= MAX_SECONDS:
        raise ConfigError(
            f"--seconds is {seconds:g}, expected more than 0 and at most {MAX_SECONDS:g}"
        )
    task = env_source if isinstance(env_source, str) else None
    kept = [policy.common_frame for policy in policies.values() if policy.common_frame is not None]
    bundled = bundled_frame(task)
    frame = kept[0] if kept else bundled
    if demonstrator and task in bundled_experts() and bundled is not None and frame is not None:
        is_shown = any(policy.name == task for policy in policies.values())
        if frame.is_same_as(bundled) and not is_shown:
            policies = {DEMONSTRATOR: load_expert(str(task)), **policies}
    if len(policies) > MAX_PANELS:
        raise ConfigError(f"{len(policies)} policies, expected at most {MAX_PANELS}")
    with drawable_env(env_source, seed) as (env, scene):
        envs = {name: env_for(policy, env, seed, frame) for name, policy in policies.items()}
        for name, policy in policies.items():
            policy.require_env(envs[name].spec)
        if all(frame and frame.num_states != each.spec.num_states for each in envs.values()):
            frame = None  # an env under a task's name may have been wrapped
        num_left = max(1, round(seconds / (env.spec.dt or DEFAULT_STEP_SECONDS)))
        clips: dict[str, list[Clip]] = {name: [] for name in policies}
        for episode in range(_MAX_EPISODES):
            played = {
                name: _play(policy, envs[name], scene, episode, num_left)
                for name, policy in policies.items()
            }
            for name, clip in played.items():
                clips[name].append(clip)
            num_left -= max(map(len, played.values()))
            if num_left <= 0:
                break
    panels = []
    for name, policy in policies.items():
        shown = [clip.trajectory for clip in clips[name]]
        states = torch.cat([each.states for each in shown])
        fitting = (each for each in (frame, policy.common_frame) if each is not None)
        unit = next((each for each in fitting if each.num_states == states.shape[1]), None)
        panels.append(
            Panel(
                name=name,
                clips=tuple(clips[name]),
                total_return=float(np.mean([each.total_return for each in shown])),
                smoothness_j=None if unit is None else mean_j(policy, states, unit),
                action_change=mean_of_known([action_fluctuation(each.actions) for each in shown]),
            )
        )
    return Recording(env.spec, seed, tuple(panels), frame, scene)


def _play(policy: Policy, env: VectorEnv, scene: Scene | None, episode: int, most: int) -> Clip:
    """A whole episode, of which at most so many steps are kept."""
    poses: list[Any] = []

    def act(states: Tensor) -> Tensor:
        if scene is not None and len(poses) < most:
            poses.append(scene.pose())
        return policy.act(states)

    wave = play_wave(env, act, env.reset(episode), 1)
    columns = (wave.states, wave.executed_actions, wave.rewards)
    shown = Trajectory(*(column[:most, 0].cpu() for column in columns))
    return Clip(shown, poses, is_whole=len(wave.states) <= most)
