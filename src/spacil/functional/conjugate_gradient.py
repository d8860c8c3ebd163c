"""Solve A x = b for a symmetric positive definite A given only its products."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Solution:
    x: Tensor
    num_steps: int
    residual_vector: Tensor
    """b - A x, as tracked by the recursion"""
    residual: float
    """|b - A x| / |b|"""
    is_positive: bool
    """False when a direction of zero, negative or non-finite curvature ended the search."""


def conjugate_gradient(
    product: Callable[[Tensor], Tensor], b: Tensor, max_steps: int, tolerance: float = 1e-10
) -> Solution:
    """Start at zero, draw no randomness, stop at the last good x.

    A curvature p^T A p that is not positive would send the step anywhere: the x found before
    it is kept and the caller is told.
    """
    x = torch.zeros_like(b)
    residual = b.clone()
    direction = b.clone()
    squared = residual.dot(residual)
    start = float(squared)
    is_positive = True
    steps = 0
    while steps < max_steps and float(squared) > tolerance**2 * start:
        curved = product(direction)
        curvature = float(direction.dot(curved))
        if not (curvature > 0 and curvature < float("inf")):
            is_positive = False
            break
        length = squared / curvature
        x = x + length * direction
        residual = residual - length * curved
        next_squared = residual.dot(residual)
        direction = residual + (next_squared / squared) * direction
        squared = next_squared
        steps += 1
    relative = (float(squared) / start) ** 0.5 if start > 0 else 0.0
    return Solution(x, steps, residual, relative, is_positive)
