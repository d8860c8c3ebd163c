"""Advantages and discounted sums over time-major batches [T, N]."""

import torch
from torch import Tensor


def gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    is_cut: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimates, all arguments [T, N].

    A_t = delta_t + gamma * lambda * A_{t+1} where the episode goes on, and A_t = delta_t where
    `is_cut`, with delta_t = r_t + gamma * V(s_{t+1}) - V(s_t).

    `next_values` is the value of the true successor: 0 after a termination, the final state's
    value after a truncation. The sum is always cut at the end of the batch.
    """
    advantages = rewards + gamma * next_values - values
    carry = (gamma * gae_lambda) * (~is_cut).to(advantages.dtype)
    # By doubling: after a round, advantages[t] holds the first 2 * reach terms of its sum, and
    # carry[t] is the factor of the next one. A loop over time would need a round per step.
    num_steps, reach = len(advantages), 1
    while reach < num_steps:
        advantages[:-reach] += carry[: num_steps - reach] * advantages[reach:]
        carry = carry[:-reach] * carry[reach:]
        reach *= 2
    return advantages


def standardize(advantages: Tensor) -> Tensor:
    """Zero mean and unit spread over the batch; a constant batch becomes zero, not NaN."""
    centred = advantages - advantages.mean()
    spread = centred.square().mean().sqrt()
    return centred / spread.clamp_min(1e-8)


def explained_variance(predictions: Tensor, targets: Tensor) -> Tensor:
    """1 - Var[targets - predictions] / Var[targets]; 0 when the targets do not vary."""
    variance = targets.var(correction=0)
    unexplained = (targets - predictions).var(correction=0)
    return torch.where(variance > 0, 1 - unexplained / variance, 0.0)
