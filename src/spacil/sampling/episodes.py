"""Whole episodes of any policy, kept episode by episode: what was seen, done and earned.

A wave starts one episode in every env at once. An actor that remembers something (a delay line, a
noise stream) is made anew for each wave, so no memory leaks from one episode into the next.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spacil.engine.torch_threads import one_torch_thread
from spacil.envs.vector_env import BoolArray, VectorEnv

Actor = Callable[[Tensor], Tensor]
"""Raw float32 states of all envs [N, S] -> actions [N, A], within bounds or not"""
MakeActor = Callable[[], Actor]
"""Called when a wave begins: every env starts an episode"""

DEFAULT_EPISODE_LIMIT = 1_000
"""Steps after which an episode of an env without a time limit is cut."""


@dataclass(frozen=True)
class Trajectory:
    """One episode."""

    states: Tensor
    """[T, S] float32, the true states, whatever the policy was shown"""
    actions: Tensor
    """[T, A] float32, as executed: clipped"""
    rewards: Tensor
    """[T] float64"""

    @property
    def total_return(self) -> float:
        """Undiscounted."""
        return float(self.rewards.sum())

    def __len__(self) -> int:
        return len(self.rewards)


@torch.no_grad()
def play(
    env: VectorEnv, make_actor: MakeActor, num_episodes: int, first_episode: int = 0
) -> list[Trajectory]:
    """Episode `first_episode` of every env, then the next, until there are enough."""
    played: list[Trajectory] = []
    wave = first_episode
    while len(played) < num_episodes:
        num_wanted = min(env.num_envs, num_episodes - len(played))
        played += _play_wave(env, make_actor(), wave, num_wanted)
        wave += 1
    return played


def _play_wave(env: VectorEnv, act: Actor, episode: int, num_wanted: int) -> list[Trajectory]:
    """One whole episode in each of the first `num_wanted` envs; an env that is done waits."""
    spec = env.spec
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    states = torch.from_numpy(env.reset(episode).astype(np.float32))
    active: BoolArray = np.arange(env.num_envs) < num_wanted
    lengths = np.zeros(env.num_envs, dtype=np.int64)
    frames: list[tuple[Tensor, Tensor, Tensor]] = []
    with one_torch_thread():
        for _ in range(spec.horizon or DEFAULT_EPISODE_LIMIT):
            executed = act(states).to(torch.float32).clamp(low, high)
            result = env.step(executed.numpy(), active)
            frames.append((states, executed, torch.from_numpy(result.rewards.copy())))
            lengths += active
            active = active & ~(result.terminated | result.truncated)
            states = torch.from_numpy(result.states.astype(np.float32))
            if not active.any():
                break
    columns = [torch.stack(column, dim=1) for column in zip(*frames, strict=True)]
    return [
        Trajectory(*(column[i, :length].clone() for column in columns))
        for i, length in enumerate(lengths[:num_wanted].tolist())
    ]


def all_states(trajectories: list[Trajectory]) -> Tensor:
    """[sum of lengths, S]"""
    return torch.cat([trajectory.states for trajectory in trajectories])
