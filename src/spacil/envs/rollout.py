"""Play the current policy and keep what it saw."""

import numpy as np
import torch
from torch import Tensor

from spacil.engine.torch_threads import one_torch_thread
from spacil.envs.vector_env import FloatArray, VectorEnv
from spacil.functional.spectral import BatchFunction
from spacil.nets.buffered_mean import BufferedMean
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


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
    noise = torch.randn(length, width, env.spec.num_actions, generator=generator)
    noise *= policy.log_std.exp()
    return collect_around(env, BufferedMean(policy, width), noise, states)


@torch.no_grad()
def collect_around(
    env: VectorEnv, mean: BatchFunction, noise: Tensor, states: FloatArray
) -> tuple[RolloutBatch, FloatArray]:
    """The same for any mean action [N, S] -> [N, A] and given noise [T, N, A].

    The noise is overwritten: it becomes the actions of the batch.
    """
    length, width, _ = noise.shape
    spec, actions = env.spec, noise
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    batch_states = torch.empty(length, width, spec.num_states)
    rewards = np.empty((length, width))
    terminated = np.empty((length, width), dtype=np.bool_)
    truncated = np.empty((length, width), dtype=np.bool_)
    final_states: list[FloatArray] = []
    with one_torch_thread():
        for t, (acted_on, action) in enumerate(zip(batch_states, actions, strict=True)):
            acted_on.copy_(torch.from_numpy(states))
            action += mean(acted_on)
            result = env.step(action.clamp(low, high).numpy())
            states = result.states
            rewards[t] = result.rewards
            terminated[t] = result.terminated
            truncated[t] = result.truncated
            if result.truncated.any():
                final_states.append(result.final_states[result.truncated])
    batch = RolloutBatch(
        states=batch_states,
        actions=actions,
        env_rewards=torch.from_numpy(rewards),
        terminated=torch.from_numpy(terminated),
        truncated=torch.from_numpy(truncated),
        final_states=_as_float32(final_states, spec.num_states),
        last_states=torch.from_numpy(states.astype(np.float32)),
    )
    return batch, states


def _as_float32(rows: list[FloatArray], width: int) -> Tensor:
    if not rows:
        return torch.empty(0, width)
    return torch.from_numpy(np.concatenate(rows).astype(np.float32))
