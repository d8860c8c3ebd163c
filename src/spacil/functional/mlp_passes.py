"""Forward- and reverse-mode derivatives of a tanh MLP over cached activations.

A Gauss-Newton product J^T M J v needs one tangent pass and one cotangent pass. With the
activations cached once per batch, each pass is two matrix products per layer, and no graph
is built: this is what makes conjugate gradient cost little more than its matrix products.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Layer = tuple[Tensor, Tensor]
"""weight [out, in], bias [out]"""


@dataclass(frozen=True)
class Trace:
    """What the passes need of one forward evaluation on a batch."""

    inputs: tuple[Tensor, ...]
    """Input of each layer, [B, in]"""
    slopes: tuple[Tensor, ...]
    """tanh' = 1 - h^2 after each hidden layer, [B, out]"""
    output: Tensor
    """[B, out]"""


def forward_trace(layers: Sequence[Layer], x: Tensor) -> Trace:
    """Evaluate the MLP, keeping each layer's input and the slope of each tanh."""
    inputs, slopes = [], []
    for weight, bias in layers[:-1]:
        inputs.append(x)
        x = torch.addmm(bias, x, weight.T).tanh_()
        slopes.append(torch.addcmul(torch.ones((), dtype=x.dtype, device=x.device), x, x, value=-1))
    inputs.append(x)
    weight, bias = layers[-1]
    return Trace(tuple(inputs), tuple(slopes), torch.addmm(bias, x, weight.T))


def parameter_tangent(layers: Sequence[Layer], trace: Trace, direction: Sequence[Layer]) -> Tensor:
    """J v: change of the output [B, out] when the parameters move along `direction`."""
    moved: Tensor | None = None
    for i, ((weight, _), (d_weight, d_bias)) in enumerate(zip(layers, direction, strict=True)):
        tangent = torch.addmm(d_bias, trace.inputs[i], d_weight.T)
        if moved is not None:
            tangent.addmm_(moved, weight.T)
        moved = tangent.mul_(trace.slopes[i]) if i < len(layers) - 1 else tangent
    assert moved is not None
    return moved


def parameter_cotangent(layers: Sequence[Layer], trace: Trace, cotangent: Tensor) -> list[Layer]:
    """J^T w: the gradient of <w, output> in every weight and bias."""
    gradients: list[Layer] = []
    for i in range(len(layers) - 1, -1, -1):
        gradients.append((cotangent.T @ trace.inputs[i], cotangent.sum(0)))
        if i > 0:
            cotangent = (cotangent @ layers[i][0]).mul_(trace.slopes[i - 1])
    return gradients[::-1]
