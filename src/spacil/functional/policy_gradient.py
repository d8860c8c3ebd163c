"""Likelihoods of actions, and what they earned.

Diagonal Gaussians N(mean, exp(log_std)^2): means [B, A], one log_std [A] for all states. Advantages
and discounted sums over time-major batches [T, N].
"""

import math

import torch
from torch import Tensor


def log_prob(actions: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """log N(actions; mean, std), summed over action dims: [B]"""
    standardized = (actions - mean) * (-log_std).exp()
    constant = log_std.sum() + 0.5 * math.log(2 * math.pi) * log_std.numel()
    return -0.5 * standardized.square().sum(-1) - constant


def clipped_log_prob(
    executed: Tensor, mean: Tensor, log_std: Tensor, low: Tensor, high: Tensor
) -> Tensor:
    """Log-likelihood of a clipped Gaussian action, summed over action dims: [B]

    A density inside the bounds; on a bound, the probability of everything beyond it.
    """
    inverse_std = (-log_std).exp()
    standardized = (executed - mean) * inverse_std
    density = -0.5 * standardized.square() - log_std - 0.5 * math.log(2 * math.pi)
    below = torch.special.log_ndtr((low - mean) * inverse_std)
    above = torch.special.log_ndtr((mean - high) * inverse_std)
    per_dim = torch.where(executed <= low, below, torch.where(executed >= high, above, density))
    return per_dim.sum(-1)


def kl_old_new(old_mean: Tensor, old_log_std: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(old || new) per state: [B]. Grouped so that equal arguments give exactly 0."""
    log_ratio = old_log_std - log_std
    shift = (mean - old_mean) * (-log_std).exp()
    spread = 0.5 * ((2 * log_ratio).exp() - 1) - log_ratio
    return 0.5 * shift.square().sum(-1) + spread.sum()


def jeffreys_divergence(mean: Tensor, other_mean: Tensor, std: Tensor | float = 1.0) -> Tensor:
    """(KL(p, q) + KL(q, p)) / 2 of two Gaussians that share `std`: |dmu / std|^2 / 2 per state."""
    return 0.5 * ((mean - other_mean) / std).square().sum(-1)


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
