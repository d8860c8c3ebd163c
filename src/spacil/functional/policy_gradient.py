"""Likelihoods of actions, what they earned, and the mathematics of a trust-region step.

Diagonal Gaussians N(mean, exp(log_std)^2): means [B, A], one log_std [A] for all states. Advantages
and discounted sums over time-major batches [T, N].
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

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


# --- a trust-region step: flat parameters, conjugate gradient, line search


def flatten(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def unflatten(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Views into `vector`, shaped as the tensors of `like`."""
    pieces = vector.split([tensor.numel() for tensor in like])
    return [piece.view_as(tensor) for piece, tensor in zip(pieces, like, strict=True)]


@torch.no_grad()
def assign(parameters: Sequence[Tensor], vector: Tensor) -> None:
    """Write `vector` into the parameters, in place and bit for bit."""
    for parameter, piece in zip(parameters, unflatten(vector, parameters), strict=True):
        parameter.copy_(piece)


@dataclass(frozen=True)
class Solution:
    """All on the device of b: nothing is waited for."""

    x: Tensor
    residual_vector: Tensor
    """b - A x, as tracked by the recursion"""
    num_steps: Tensor
    """Steps that moved x, a number"""
    residual: Tensor
    """|b - A x| / |b|, a number"""
    is_positive: Tensor
    """False when a direction of zero, negative or non-finite curvature ended the search."""


def conjugate_gradient(
    product: Callable[[Tensor], Tensor], b: Tensor, num_steps: int, tolerance: float = 1e-10
) -> Solution:
    """Start at zero, draw no randomness, stay at the last good x.

    A curvature p^T A p that is not positive would send the step anywhere: the x found before
    it is kept and the caller is told. There are always `num_steps` products: to leave early, the
    host would have to wait for the device in every step.
    """
    x = torch.zeros_like(b)
    residual = b.clone()
    direction = b.clone()
    squared = start = residual.dot(residual)
    is_positive = torch.ones((), dtype=torch.bool, device=b.device)
    steps_taken = torch.zeros((), dtype=torch.int64, device=b.device)
    for _ in range(num_steps):
        is_wanted = squared > tolerance**2 * start
        curved = product(direction)
        curvature = direction.dot(curved)
        is_positive = is_positive & (~is_wanted | ((curvature > 0) & (curvature < torch.inf)))
        moves = is_wanted & is_positive
        # Chosen, not multiplied by zero: what is not finite must not touch what is.
        length = torch.where(moves, squared / curvature, 0.0)
        x.addcmul_(direction, length)
        residual.addcmul_(torch.where(moves, curved, 0.0), length, value=-1)
        next_squared = residual.dot(residual)
        direction.mul_(torch.where(moves, next_squared / squared, 0.0)).add_(residual)
        squared = next_squared
        steps_taken += moves
    relative = torch.where(start > 0, (squared / start).sqrt(), 0.0)
    return Solution(x, residual, steps_taken, relative, is_positive)


Reason = Literal["accepted", "no improvement", "kl", "nan", "no direction"]

REGION_TARGET = 0.99
"""Aim just inside the bound, so that rounding does not push the step outside."""
REGION_SLACK = 0.9
"""A step that uses less of the region than this is stretched onto the bound, once."""
MAX_STRETCH = 4.0
"""The quadratic model of the KL is trusted no further than this."""


@dataclass(frozen=True)
class SearchResult:
    is_accepted: bool
    fraction: float
    """Of the full step; 0 when nothing was accepted."""
    kl: float
    loss: float
    num_tries: int
    reason: Reason
    """`accepted`, or what was wrong with the last candidate."""


def search(
    move: Callable[[float], float],
    loss: Callable[[], float],
    loss_before: float,
    max_kl: float,
    max_tries: int,
    shrink: float,
) -> SearchResult:
    """Rescale onto the KL bound, then shrink until the loss improves.

    `move(fraction)` puts the parameters there and returns the KL; `loss()` is evaluated where
    they are. On acceptance they stay there; otherwise the caller restores them.

    Halving the step until the KL fits would waste half the region on average. The KL grows with
    the square of a small step, so sqrt(max_kl / kl) lands on the bound in one or two tries.
    """
    fraction = 1.0
    reason: Reason = "no improvement"
    may_stretch = True
    for tries in range(1, max_tries + 1):
        kl = move(fraction)
        if not math.isfinite(kl):
            reason, may_stretch = "nan", False
            fraction *= 0.5
            continue
        if kl > max_kl:
            reason, may_stretch = "kl", False
            fraction *= REGION_TARGET * math.sqrt(max_kl / kl)
            continue
        if may_stretch and 0 < kl < REGION_SLACK * max_kl and tries < max_tries:
            may_stretch = False
            fraction *= min(REGION_TARGET * math.sqrt(max_kl / kl), MAX_STRETCH)
            continue
        may_stretch = False
        loss_here = loss()
        if loss_here < loss_before:
            return SearchResult(True, fraction, kl, loss_here, tries, "accepted")
        reason = "no improvement" if math.isfinite(loss_here) else "nan"
        fraction *= shrink
    return SearchResult(False, 0.0, 0.0, loss_before, max_tries, reason)
