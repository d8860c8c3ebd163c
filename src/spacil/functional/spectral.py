"""Jacobians of batched functions and their largest singular values.

Exact from the small Gram matrix when there are few outputs; by power iteration when there are
many. Nothing here knows what the function is.
"""

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


def power_singular(
    function: BatchFunction,
    points: Tensor,
    column_scale: Tensor | None = None,
    row_mask: Tensor | None = None,
    tolerance: float = 1e-7,
    max_steps: int = 500,
) -> Tensor:
    """sigma_max of row_mask * J * column_scale at every row [B], without ever forming J.

    Power iteration on J^T J: one reverse and one forward pass per step, whatever the number of
    outputs. It approaches sigma_max from below and stops when no row grows by more than
    `tolerance` of itself. The forward pass J v is the derivative in u of J^T u, which is linear
    in u: reverse mode twice, so that every differentiable function will do.
    """
    points = points.detach().requires_grad_()
    with torch.enable_grad():
        outputs = function(points)
        if not outputs.requires_grad:  # a constant function has no graph to walk
            return points.new_zeros(len(points))
        probe = torch.zeros_like(outputs, requires_grad=True)
        (pulled,) = torch.autograd.grad(outputs, points, probe, create_graph=True)
    columns = points.new_ones(()) if column_scale is None else column_scale
    rows = outputs.new_ones(()) if row_mask is None else row_mask.to(outputs)
    # Always the same draws: a start without any chance could be orthogonal to the answer.
    noise = torch.randn(points.shape, generator=torch.Generator().manual_seed(0))
    direction = torch.nn.functional.normalize(noise.to(points), dim=-1)
    sigma = points.new_zeros(len(points))
    for _ in range(max_steps):
        (pushed,) = torch.autograd.grad(pulled, probe, columns * direction, retain_graph=True)
        pushed = rows * pushed
        previous, sigma = sigma, torch.linalg.vector_norm(pushed, dim=-1)
        if bool((sigma - previous <= tolerance * sigma).all()):
            break
        (back,) = torch.autograd.grad(outputs, points, rows * pushed, retain_graph=True)
        back = columns * back
        length = torch.linalg.vector_norm(back, dim=-1, keepdim=True)
        tiny = torch.finfo(back.dtype).tiny
        direction = torch.where(length > 0, back / length.clamp_min(tiny), direction)
    return sigma
