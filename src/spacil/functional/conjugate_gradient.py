"""Solve A x = b for a symmetric positive definite A given only its products."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


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
