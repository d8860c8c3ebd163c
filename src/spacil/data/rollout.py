"""Play the current policy and keep what it saw."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import torch
from torch import Tensor

from spacil.envs.vector_env import FloatArray, VectorEnv
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads for torch inside the block, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_torch_thread() -> AbstractContextManager[None]:
    """Small forward passes: a second thread would spin and take a core from the simulator."""
    return torch_threads(1)


@torch.no_grad()
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
    spec = env.spec
    noise = torch.randn(length, width, spec.num_actions, generator=generator)
    noise *= policy.log_std.exp()
    batch_states = torch.empty(length, width, spec.num_states)
    actions = noise  # becomes mean + noise, in place
    rewards = torch.empty(length, width, dtype=torch.float64)
    terminated = torch.empty(length, width, dtype=torch.bool)
    truncated = torch.empty(length, width, dtype=torch.bool)
    final_states: list[FloatArray] = []
    with one_torch_thread():
        for t in range(length):
            batch_states[t] = torch.from_numpy(states)
            actions[t] += policy.mean(batch_states[t])
            result = env.step(policy.clip(actions[t]).numpy())
            states = result.states
            rewards[t] = torch.from_numpy(result.rewards)
            terminated[t] = torch.from_numpy(result.terminated)
            truncated[t] = torch.from_numpy(result.truncated)
            if result.truncated.any():
                final_states.append(result.final_states[result.truncated])
    batch = RolloutBatch(
        states=batch_states,
        actions=actions,
        env_rewards=rewards,
        terminated=terminated,
        truncated=truncated,
        final_states=_as_float32(final_states, spec.num_states),
        last_states=torch.from_numpy(states.astype(np.float32)),
    )
    return batch, states


def _as_float32(rows: list[FloatArray], width: int) -> Tensor:
    if not rows:
        return torch.empty(0, width)
    return torch.from_numpy(np.concatenate(rows).astype(np.float32))
