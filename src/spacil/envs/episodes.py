"""Play a policy: whole episodes to measure, batches of steps to learn from.

A wave is one episode in every env at once; an env whose episode is over waits for the others.
Keeping the first episodes to finish instead would prefer short ones, that is, failures. An actor
that remembers something (a delay line, a filter) is made anew for each wave, so no memory leaks
from one episode into the next.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.engine.device import one_torch_thread
from spacil.envs.vector_env import BoolArray, FloatArray, VectorEnv, check_actions
from spacil.functional.sensitivity import BatchFunction
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch

Actor = Callable[[Tensor], Tensor]
"""Raw float32 states of all envs [N, S] -> actions [N, A], within bounds or not; on one device"""
MakeActor = Callable[[], Actor]
"""Called when a wave begins: every env starts an episode"""

DEFAULT_EPISODE_LIMIT = 1_000
"""Steps after which an episode of an env without a time limit is cut."""


@dataclass(frozen=True)
class Wave:
    """One episode in each env, [T, N, ...]; where `is_active` is False a row means nothing."""

    lengths: list[int]
    """Steps of the episodes that were wanted"""
    final_states: Tensor
    """[N, S] float32, where the episode ended"""
    terminated: Tensor
    """[N] bool"""
    truncated: Tensor
    """[N] bool"""
    states: Tensor
    """Float32, acted on"""
    actions: Tensor
    """Float32, as the actor wants them"""
    executed_actions: Tensor
    """Float32, clipped to the env's bounds"""
    rewards: Tensor
    """[T, N] float64"""
    is_active: Tensor
    """[T, N] bool, False where the episode is over"""


@torch.no_grad()
def play_wave(env: VectorEnv, act: Actor, observations: Tensor, num_wanted: int) -> Wave:
    """One whole episode in each of the first `num_wanted` envs.

    `observations` [N, S] are those of the reset just done. Envs that wait are shown to the actor
    too: a constant batch shape keeps the bits of the policy's answers constant.
    """
    spec, device = env.spec, env.device
    low, high = spec.bounds_on(device)
    is_active = torch.arange(env.num_envs, device=device) < num_wanted
    terminated, truncated = torch.zeros(2, env.num_envs, dtype=torch.bool, device=device)
    final_states = observations.to(torch.float32, copy=True)
    steps: list[tuple[Tensor, ...]] = []
    with one_torch_thread():
        for _ in range(spec.horizon or DEFAULT_EPISODE_LIMIT):
            states = observations.to(torch.float32, copy=True)
            actions = act(states).to(device, torch.float32, copy=True)
            check_actions(actions, spec, env.num_envs)  # clipping would hide an infinity
            executed = actions.clamp(low, high)
            outcome = env.step(executed, is_active)
            rewards = outcome.rewards.to(torch.float64, copy=True)
            steps.append((states, actions, executed, rewards, is_active))
            following = outcome.final_observations.float()
            final_states = torch.where(is_active.unsqueeze(1), following, final_states)
            terminated = terminated | (is_active & outcome.terminated)
            truncated = truncated | (is_active & outcome.truncated)
            is_active = is_active & ~(outcome.terminated | outcome.truncated)
            observations = outcome.observations
            if not is_active.any():
                break
    columns = [torch.stack(column) for column in zip(*steps, strict=True)]
    lengths = columns[-1].sum(0)[:num_wanted].tolist()
    return Wave(lengths, final_states, terminated, truncated, *columns)


def waves(env: VectorEnv, num_episodes: int) -> Iterator[tuple[int, int]]:
    """(number of the wave, episodes wanted of it), until there are enough episodes."""
    for wave in range(math.ceil(num_episodes / env.num_envs)):
        yield wave, min(env.num_envs, num_episodes - wave * env.num_envs)


# --- kept step by step


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


def play(env: VectorEnv, make_actor: MakeActor, num_episodes: int) -> list[Trajectory]:
    """Episode 0 of every env, then the next, until there are enough."""
    played: list[Trajectory] = []
    for episode, num_wanted in waves(env, num_episodes):
        wave = play_wave(env, make_actor(), env.reset(episode), num_wanted)
        columns = [x.cpu() for x in (wave.states, wave.executed_actions, wave.rewards)]
        played += [
            Trajectory(*(column[:length, i].clone() for column in columns))
            for i, length in enumerate(wave.lengths)
        ]
    return played


def all_states(trajectories: list[Trajectory]) -> Tensor:
    """[sum of lengths, S]"""
    return torch.cat([trajectory.states for trajectory in trajectories])


# --- kept as totals


@dataclass(frozen=True)
class EpisodeTotals:
    """Whole episodes of one policy, without their steps: many of them fit in memory."""

    returns: FloatArray
    """[episodes], undiscounted"""
    lengths: NDArray[np.int64]
    """[episodes]"""
    states: Tensor
    """[sum of lengths, S] float32, every state acted on, wave by wave in the order of time"""
    action_changes: FloatArray
    """[episodes], mean length of the executed a_{t+1} - a_t; nan for an episode of one step"""
    is_terminated: BoolArray
    """[episodes], ended by the task before the time was up, whoever keeps the time"""


def play_for_totals(
    env: VectorEnv, act: Actor, first_episode: int, num_episodes: int
) -> EpisodeTotals:
    """Episode `first_episode` of every env, then the next, until there are enough."""
    columns: list[tuple[Tensor, ...]] = []
    for episode, num_wanted in waves(env, num_episodes):
        wave = play_wave(env, act, env.reset(first_episode + episode), num_wanted)
        actions, is_active = wave.executed_actions.double(), wave.is_active
        moves = torch.linalg.vector_norm(actions.diff(dim=0, prepend=actions[:1]), dim=-1)
        # In the order of time, as a sum while playing would be.
        totals = [x.where(is_active, 0.0).cumsum(0)[-1][:num_wanted] for x in (wave.rewards, moves)]
        ends = (wave.terminated & ~wave.truncated)[:num_wanted]
        columns.append((*totals, ends, torch.tensor(wave.lengths), wave.states[is_active]))
    returns, changes, ends, steps, states = (
        torch.cat(column) for column in zip(*columns, strict=True)
    )
    lengths = steps.numpy()
    return EpisodeTotals(
        returns.cpu().numpy(),
        lengths,
        states,
        changes.cpu().numpy() / np.where(lengths > 1, lengths - 1, np.nan),
        ends.cpu().numpy(),
    )


# --- batches of steps to learn from: episodes go on from one to the next


@torch.no_grad()
def collect(
    env: VectorEnv,
    policy: GaussianPolicy,
    observations: Tensor,
    num_steps: int,
    generator: torch.Generator,
) -> tuple[RolloutBatch, Tensor]:
    """`num_steps` env steps from `observations` [N, S]; returns the batch and the last ones.

    Live envs carry over between calls. The policy is on the env's device, and does not change
    meanwhile; the noise is drawn on the generator's device.
    """
    shape = (num_steps // env.num_envs, env.num_envs, env.spec.num_actions)
    noise = torch.randn(shape, generator=generator, device=generator.device).to(env.device)
    noise *= policy.log_std.exp()
    return collect_around(env, policy.mean, noise, observations)


@torch.no_grad()
def collect_around(
    env: VectorEnv, mean: BatchFunction, noise: Tensor, observations: Tensor
) -> tuple[RolloutBatch, Tensor]:
    """The same for any mean action [N, S] -> [N, A] and given noise [T, N, A].

    The noise is overwritten: it becomes the actions of the batch. No step waits for the device.
    """
    low, high = env.spec.bounds_on(env.device)
    states, final_states = noise.new_empty(2, *noise.shape[:2], env.spec.num_states)
    rewards = noise.new_empty(noise.shape[:2], dtype=torch.float64)
    terminated, truncated = noise.new_empty(2, *noise.shape[:2], dtype=torch.bool)
    columns = (states, noise, final_states, rewards, terminated, truncated)
    with one_torch_thread():
        for state, action, final_state, *outcome in zip(*columns, strict=True):
            state.copy_(observations)
            action += mean(state)
            step = env.step(action.clamp(low, high))
            observations = step.observations
            final_state.copy_(step.final_observations)
            for kept, value in zip(
                outcome, (step.rewards, step.terminated, step.truncated), strict=True
            ):
                kept.copy_(value)
    batch = RolloutBatch(
        states=states,
        actions=noise,
        env_rewards=rewards,
        terminated=terminated,
        truncated=truncated,
        final_states=final_states[truncated],
        last_states=observations.to(torch.float32, copy=True),
    )
    return batch, observations.clone()
