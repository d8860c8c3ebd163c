"""Play the current policy and keep what it saw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.envs.parted_env import for_each_part
from spacil.envs.vector_env import BoolArray, FloatArray, VectorEnv
from spacil.functional.torch_threads import one_torch_thread
from spacil.nets.buffered_mean import BufferedMean
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


@dataclass(frozen=True)
class _Recording:
    """Memory for what some envs do, time-major."""

    states: Tensor
    """[T, N, S]"""
    actions: Tensor
    """[T, N, A], at first the noise alone"""
    rewards: FloatArray
    """[T, N]"""
    terminated: BoolArray
    """[T, N]"""
    truncated: BoolArray
    """[T, N]"""

    def of(self, envs: slice) -> "_Recording":
        """The same memory, of some of the envs."""
        return _Recording(**{name: array[:, envs] for name, array in vars(self).items()})


@dataclass(frozen=True)
class _Ending:
    """Where some envs came to."""

    envs: slice
    states: FloatArray
    """[N, S]"""
    final_states: FloatArray
    """[K, S], of truncated episodes, by time and then by env"""


def collect(
    env: VectorEnv,
    policy: GaussianPolicy,
    states: FloatArray,
    num_steps: int,
    generator: torch.Generator,
) -> tuple[RolloutBatch, FloatArray]:
    """`num_steps` env steps from `states` [N, S]; returns the batch and the states it ends in.

    Live envs carry over between calls. The policy is on the CPU and does not change meanwhile.
    """
    length, width = num_steps // env.num_envs, env.num_envs
    noise = torch.randn(length, width, env.spec.num_actions, generator=generator)
    noise *= policy.log_std.detach().exp()
    recording = _Recording(
        states=torch.empty(length, width, env.spec.num_states),
        actions=noise,
        rewards=np.empty((length, width)),
        terminated=np.empty((length, width), dtype=np.bool_),
        truncated=np.empty((length, width), dtype=np.bool_),
    )

    def play(part: VectorEnv, envs: slice) -> _Ending:
        return _Ending(envs, *_play(part, policy, states[envs], recording.of(envs)))

    with one_torch_thread():
        endings = for_each_part(env, play)
    last_states = np.concatenate([ending.states for ending in endings])
    batch = RolloutBatch(
        states=recording.states,
        actions=recording.actions,
        env_rewards=torch.from_numpy(recording.rewards),
        terminated=torch.from_numpy(recording.terminated),
        truncated=torch.from_numpy(recording.truncated),
        final_states=torch.from_numpy(_final_states(endings, recording.truncated)),
        last_states=torch.from_numpy(last_states.astype(np.float32)),
    )
    return batch, last_states


@torch.no_grad()
def _play(
    env: VectorEnv, policy: GaussianPolicy, states: FloatArray, recording: _Recording
) -> tuple[FloatArray, FloatArray]:
    """Fill a recording; returns the states it ends in, and those that a time limit cut short."""
    mean = BufferedMean(policy, env.num_envs)
    final_states = [np.empty((0, env.spec.num_states))]
    steps = zip(recording.states, recording.actions, strict=True)
    # Said again because a thread has its own setting; the caller's holds until all are done.
    with one_torch_thread():
        for t, (acted_on, action) in enumerate(steps):
            acted_on.copy_(torch.from_numpy(states))
            action += mean(acted_on)
            result = env.step(policy.clip(action).numpy())
            states = result.states
            recording.rewards[t] = result.rewards
            recording.terminated[t] = result.terminated
            recording.truncated[t] = result.truncated
            if result.truncated.any():
                final_states.append(result.final_states[result.truncated])
    return states, np.concatenate(final_states)


def _final_states(endings: Sequence[_Ending], truncated: BoolArray) -> NDArray[np.float32]:
    """Of all parts, float32, in row-major order of `truncated`."""
    env_of_row = np.nonzero(truncated)[1]
    rows = np.empty((len(env_of_row), endings[0].states.shape[1]), dtype=np.float32)
    for ending in endings:
        envs = ending.envs
        rows[(env_of_row >= envs.start) & (env_of_row < envs.stop)] = ending.final_states
    return rows
