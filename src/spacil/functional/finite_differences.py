"""Derivatives of functions that cannot be differentiated: a file, a foreign runtime, plain Python.

`differentiable` gives such a function a reverse mode by central differences, so that whatever
works on gradients works on it unchanged. First derivatives only: nothing trains through it.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from spacil.functional.spectral import BatchFunction

RELATIVE_STEP = 5e-3
"""Step in units of a feature's spread. Near the cube root of float32's epsilon, where the error
of rounding (grows as 1/h) meets the error of cutting the Taylor series (grows as h^2)."""


def difference_jacobian(function: BatchFunction, points: Tensor, steps: Tensor) -> Tensor:
    """d function / d points at every row, [B, A, S], by 2 S evaluations; `steps` is [S].

    Divided by the step as the number format rounded it, not by the one asked for.
    """
    columns = []
    with torch.no_grad():
        for i, step in enumerate(steps):
            above, below = points.clone(), points.clone()
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
