"""Several policies play the same episodes, and everything a film of them needs is kept.

Every policy starts every episode from the same state. Episodes follow each other until the film is
full; in each of them a policy whose own is over waits for the others.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Trajectory, WaveStep, play_wave
from spacil.envs.vector_env import EnvSpec, FloatArray, VectorEnv
from spacil.film.poses import PoseReader
from spacil.measuring.lens import make_lens
from spacil.policies.source import PolicySource, check_widths
from spacil.smoothness.action_signal import action_fluctuation, mean_of_known

DEFAULT_STEP_SECONDS = 1 / 30
"""Of an env that does not tell"""
_MAX_RATE = 32
"""Frames per second, at most: a step of the env may be left out, time is never stretched"""
_MAX_EPISODES = 100


@dataclass(frozen=True)
class Take:
    """One episode of one policy, as far as the film shows it."""

    trajectory: Trajectory
    poses: FloatArray
    """[T, P], where everything is when each action is chosen"""
    is_whole: bool
    """Whether the episode was over, and not cut"""

    def __len__(self) -> int:
        return len(self.trajectory)

    def return_so_far(self, step: int) -> float:
        """Rewards of the steps before and at `step`."""
        return float(self.trajectory.rewards[: step + 1].sum())


@dataclass(frozen=True)
class Performance:
    """All episodes of one policy, and the numbers of what is shown."""

    name: str
    takes: tuple[Take, ...]
    total_return: float
    """Mean over the episodes, each as far as it is shown"""
    smoothness_j: float | None
    """In the common frame, over the states shown; None without a frame"""
    action_change: float | None
    """E |a_{t+1} - a_t| over the steps shown"""


@dataclass(frozen=True)
class Footage:
    """What was played, by panel."""

    spec: EnvSpec
    seed: int
    performances: tuple[Performance, ...]
    frame: CommonFrame | None
    """Whose standard deviations J is measured in"""

    @property
    def step_seconds(self) -> float:
        return self.spec.dt or DEFAULT_STEP_SECONDS

    @property
    def num_rounds(self) -> int:
        return len(self.performances[0].takes)

    def round_length(self, index: int) -> int:
        """Steps until the last policy has ended."""
        return max(len(performance.takes[index]) for performance in self.performances)

    @property
    def steps_per_frame(self) -> int:
        return max(1, math.ceil(1 / (_MAX_RATE * self.step_seconds) - 1e-9))

    @property
    def rate(self) -> Fraction:
        """Frames per second, so that a second of film is a second of simulated time."""
        return 1 / Fraction(self.steps_per_frame * self.step_seconds).limit_denominator(10_000)


def play_side_by_side(
    policies: Mapping[str, PolicySource],
    env: VectorEnv,
    reader: PoseReader,
    frame: CommonFrame | None,
    seed: int,
    seconds: float,
) -> Footage:
    """Every policy in the one env of `env`, in turn, from the same starts."""
    for source in policies.values():
        check_widths(source, env.spec.num_states, env.spec.num_actions, env.spec.task)
    step_seconds = env.spec.dt or DEFAULT_STEP_SECONDS
    num_left = max(1, round(seconds / step_seconds))
    takes: dict[str, list[Take]] = {name: [] for name in policies}
    for episode in range(_MAX_EPISODES):
        played = {name: _played(source, env, reader, episode) for name, source in policies.items()}
        for name, take in played.items():
            takes[name].append(_cut(take, num_left))
        num_left -= max(len(take) for take in played.values())
        if num_left <= 0:
            break
    performances = tuple(
        _performance(name, source, takes[name], frame) for name, source in policies.items()
    )
    return Footage(env.spec, seed, performances, frame)


def _played(source: PolicySource, env: VectorEnv, reader: PoseReader, episode: int) -> Take:
    poses: list[FloatArray] = []
    steps: list[tuple[Tensor, Tensor, float]] = []

    def act(states: Tensor) -> Tensor:
        poses.append(reader.read())
        return source.mean(states.to(source.dtype)).detach()

    def keep(step: WaveStep) -> None:
        reward = float(step.result.rewards[0])
        steps.append((step.states[0], step.executed_actions[0], reward))

    play_wave(env, act, env.reset(episode), 1, keep)
    states, actions, rewards = zip(*steps, strict=True)
    trajectory = Trajectory(
        torch.stack(states), torch.stack(actions), torch.tensor(rewards, dtype=torch.float64)
    )
    return Take(trajectory, np.stack(poses), is_whole=True)


def _cut(take: Take, num_steps: int) -> Take:
    if len(take) <= num_steps:
        return take
    whole = take.trajectory
    cut = Trajectory(whole.states[:num_steps], whole.actions[:num_steps], whole.rewards[:num_steps])
    return Take(cut, take.poses[:num_steps], is_whole=False)


def _performance(
    name: str, source: PolicySource, takes: list[Take], frame: CommonFrame | None
) -> Performance:
    j = None
    if frame is not None:
        states = torch.cat([take.trajectory.states for take in takes])
        lens = make_lens(source, frame.std.to(source.dtype), frame, source.action_bounds)
        common = lens.constants(states.to(source.dtype)).common
        assert common is not None
        j = float(common.mean())
    return Performance(
        name=name,
        takes=tuple(takes),
        total_return=float(np.mean([take.trajectory.total_return for take in takes])),
        smoothness_j=j,
        action_change=mean_of_known([action_fluctuation(t.trajectory.actions) for t in takes]),
    )
