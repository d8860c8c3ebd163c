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
    residuals = rewards + gamma * next_values - values
    carry = (gamma * gae_lambda) * (~is_cut).to(residuals.dtype)
    advantages = torch.empty_like(residuals)
    running = torch.zeros_like(residuals[0])
    for t in range(len(residuals) - 1, -1, -1):
        # The last row carries nothing in: `running` is still zero there.
        running = residuals[t] + carry[t] * running
        advantages[t] = running
    return advantages


def standardize(advantages: Tensor) -> Tensor:
    """Zero mean and unit spread over the batch; a constant batch becomes zero, not NaN."""
    centred = advantages - advantages.mean()
    spread = centred.square().mean().sqrt()
    return centred / spread.clamp_min(1e-8)


def explained_variance(predictions: Tensor, targets: Tensor) -> float:
    """1 - Var[targets - predictions] / Var[targets]; 0 when the targets do not vary."""
    variance = targets.var(correction=0)
    if variance <= 0:
        return 0.0
    return float(1 - (targets - predictions).var(correction=0) / variance)
