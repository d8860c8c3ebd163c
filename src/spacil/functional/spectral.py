"""Jacobians of batched functions and their largest singular values."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

BatchFunction = Callable[[Tensor], Tensor]
"""[B, S] -> [B, A], each row depending on its own row alone"""


@dataclass(frozen=True)
class TopSingular:
    """The largest singular value of each Jacobian and its output direction."""

    sigma: Tensor
    """[B]"""
    left: Tensor
    """[B, A], unit length: the combination of outputs that reacts most"""


def batch_jacobian(function: BatchFunction, points: Tensor) -> Tensor:
    """d function / d points at every row, [B, A, S], by A vector-Jacobian products."""
    points = points.detach().requires_grad_()
    with torch.enable_grad():
        outputs = function(points)
        if not outputs.requires_grad:  # a constant function has no graph to walk
            return points.new_zeros(*outputs.shape, points.shape[-1])
        rows = [
            torch.autograd.grad(outputs[:, k].sum(), points, retain_graph=True)[0]
            for k in range(outputs.shape[-1])
        ]
    return torch.stack(rows, dim=1)


def top_singular(jacobians: Tensor) -> TopSingular:
    """Largest singular value and left vector of [B, A, S], from the small A x A Gram matrix."""
    eigenvalues, eigenvectors = torch.linalg.eigh(jacobians @ jacobians.mT)
    return TopSingular(eigenvalues[:, -1].clamp_min(0).sqrt(), eigenvectors[:, :, -1])
