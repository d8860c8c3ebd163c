"""Play the current policy and keep what it saw. Everything is, and stays, on the env's device."""

import torch
from torch import Tensor

from spacil.engine.device import one_torch_thread
from spacil.envs.vector_env import VectorEnv
from spacil.functional.sensitivity import BatchFunction
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


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
