"""How much outputs move with inputs: Jacobians, their norms, and ascent in a small ball.

Largest singular values come from the small Gram matrix. Nothing here knows what the function is.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.linalg import vector_norm

RELATIVE_STEP = 5e-3
"""Step in units of a feature's spread. Near the cube root of float32's epsilon, where the error
of rounding (grows as 1/h) meets the error of cutting the Taylor series (grows as h^2)."""

BatchFunction = Callable[[Tensor], Tensor]
"""[B, S] -> [B, A], each row depending on its own row alone"""


def difference_jacobian(function: BatchFunction, points: Tensor, steps: Tensor) -> Tensor:
    """d function / d points at every row, [B, A, S], by 2 S evaluations; `steps` is [S].

    A step is no shorter than what the number format resolves, and divided by as it was rounded.
    """
    columns, resolved = [], torch.finfo(points.dtype).eps ** (2 / 3)
    with torch.no_grad():
        for i, shortest in enumerate(steps):
            above, below = points.clone(), points.clone()
            step = torch.maximum(shortest, resolved * points[:, i].abs())
            above[:, i] += step
            below[:, i] -= step
            width = (above[:, i] - below[:, i]).unsqueeze(-1)
            columns.append((function(above) - function(below)) / width)
    return torch.stack(columns, dim=-1)


def differentiable(function: BatchFunction, steps: Tensor) -> BatchFunction:
    """The same function, with gradients by central differences of width `steps` [S] each way."""

    def with_gradients(points: Tensor) -> Tensor:
        outputs: Tensor = _ByDifferences.apply(points, function, steps)  # type: ignore[no-untyped-call]  # torch's
        return outputs

    return with_gradients


class _ByDifferences(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, function: BatchFunction, steps: Tensor) -> Tensor:
        ctx.save_for_backward(points)
        ctx.function, ctx.steps, ctx.jacobian = function, steps.to(points), None
        return function(points.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, None, None]:
        # Kept: the rows of one Jacobian are asked for one after the other.
        if ctx.jacobian is None:
            (points,) = ctx.saved_tensors
            ctx.jacobian = difference_jacobian(ctx.function, points, ctx.steps)
        jacobian = ctx.jacobian.to(cotangent)
        return torch.einsum("ba,bas->bs", cotangent, jacobian), None, None


def inner(outputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> Tensor:
    """<outputs, cotangents>, a number whose gradient is J^T v in every bit.

    `torch.autograd.grad` takes v as an argument too, but loads sympy when it is given one: half a
    second of every command that measures or trains.
    """
    products = [(out * v).sum() for out, v in zip(outputs, cotangents, strict=True)]
    return products[0] if len(products) == 1 else torch.stack(products).sum()


MOST_COPIES = 16_384
"""Rows that a Jacobian on an accelerator may take at once"""


def batch_jacobian(function: BatchFunction, points: Tensor) -> Tensor:
    """d function / d points at every row, [B, A, S], by A vector-Jacobian products.

    An accelerator takes them at once, on A copies of the points: it waits for launches and not for
    numbers (44 operations in place of 205 for a policy of four layers and 12 actions).
    """
    points = points.detach().requires_grad_()
    with torch.enable_grad():
        outputs = function(points)
        if not outputs.requires_grad:  # a constant function has no graph to walk
            return points.new_zeros(*outputs.shape, points.shape[-1])
        if points.device.type != "cpu" and outputs.numel() <= MOST_COPIES:
            num_points, num_outputs = outputs.shape
            copies = points.detach().repeat(num_outputs, 1).requires_grad_()
            each = function(copies).view(num_outputs, num_points, num_outputs)
            (slopes,) = torch.autograd.grad(each.diagonal(dim1=0, dim2=2).sum(), copies)
            return slopes.view(num_outputs, num_points, -1).transpose(0, 1)
        rows = [
            torch.autograd.grad(outputs[:, k].sum(), points, retain_graph=True)[0]
            for k in range(outputs.shape[-1])
        ]
    return torch.stack(rows, dim=1)


def top_singular(jacobians: Tensor) -> Tensor:
    """Largest singular value [B] of [B, A, S], from the small A x A Gram matrix."""
    eigenvalues: Tensor = torch.linalg.eigh(jacobians @ jacobians.mT).eigenvalues
    return eigenvalues[:, -1].clamp_min(0).sqrt()


def top_left_vector(jacobians: Tensor) -> Tensor:
    """Output direction [B, A] of the largest singular value of [B, A, S], unit length or zero.

    The Gram matrix squared again and again tends to the projector onto its top eigenspace; any
    column of that is an answer, and the largest is the most precise. After 14 squarings a second
    singular value 0.1 % below the first has gone; one that is closer makes as good a direction to
    within 0.01 %. Only products: no wait for the device, as an eigenvalue solver needs.
    """
    power = jacobians @ jacobians.mT
    smallest = torch.finfo(power.dtype).tiny
    for _ in range(14):
        trace = power.diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(smallest)
        power = power / trace[:, None, None]
        power = power @ power
    largest = power.diagonal(dim1=-2, dim2=-1).argmax(-1)
    column = power.gather(2, largest[:, None, None].expand(-1, power.shape[1], 1)).squeeze(-1)
    length: Tensor = torch.linalg.vector_norm(column, dim=-1, keepdim=True)
    return column / length.clamp_min(smallest)


StepRule = Literal["raw", "normalized", "power"]
Start = Literal["sphere", "ball", "gauss"]

GAUSS_START_STD = 1e-5


def random_offset(
    like: Tensor,
    radius: float,
    start: Start,
    generator: torch.Generator,
    mask: Tensor | None = None,
) -> Tensor:
    """A start for the ascent, [B, S].

    Never zero: a divergence from the state to itself has zero gradient, so ascent from a zero
    offset would not move. Drawn on the CPU, so that every device starts from the same bits.
    `mask` [S], 0 or 1: dims that nothing reads take no part of the radius, and would lengthen the
    offset that a ratio is divided by.
    """
    noise = torch.randn(like.shape, generator=generator, dtype=like.dtype).to(like.device)
    if mask is not None:
        noise = noise * mask
    if start == "gauss":
        return GAUSS_START_STD * noise
    direction = torch.nn.functional.normalize(noise, dim=-1)
    if start == "sphere":
        return radius * direction
    uniform = torch.rand(len(like), 1, generator=generator, dtype=like.dtype).to(like.device)
    num_dims = like.shape[-1] if mask is None else max(int(mask.sum()), 1)
    return direction * radius * uniform.pow(1 / num_dims)


def project_to_ball(offset: Tensor, radius: float) -> Tensor:
    """offset * min(1, radius / |offset|), row by row (app:projection_implementation)."""
    shrink: Tensor = (radius / vector_norm(offset, dim=-1, keepdim=True)).clamp_max(1)
    return offset * shrink


def maximize_in_ball(
    objective: Callable[[Tensor], Tensor],
    states: Tensor,
    offset: Tensor,
    radius: float,
    num_steps: int,
    step_rule: StepRule,
    step_size: float,
) -> Tensor:
    """The offset [B, S] that ascent on `objective(states + offset)` [B] reaches from `offset`.

    raw         offset + step_size * gradient, projected: the paper's rule
    normalized  a step of length 2 * radius / num_steps along the gradient, projected
    power       jump to the sphere along the gradient: the power method on the Jacobian

    A row whose gradient is zero keeps its offset.
    """
    for _ in range(num_steps):
        with torch.enable_grad():
            moving = offset.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(objective(states + moving).sum(), moving)
        if step_rule == "raw":
            offset = project_to_ball(offset + step_size * gradient, radius)
            continue
        length = vector_norm(gradient, dim=-1, keepdim=True)
        direction = gradient / length.clamp_min(torch.finfo(gradient.dtype).tiny)
        if step_rule == "normalized":
            offset = project_to_ball(offset + (2 * radius / num_steps) * direction, radius)
        else:
            offset = torch.where(length > 0, radius * direction, offset)
    return offset.detach()
