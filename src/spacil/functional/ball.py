"""Projected gradient ascent inside a small ball around each state (algo:reg_maximization)."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.linalg import vector_norm

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
