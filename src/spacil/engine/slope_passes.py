"""How a tanh MLP's output reacts to its inputs, and how that depends on the parameters.

Written out over the activations of one forward pass, like `mlp_passes.py`: no graph is built.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from spacil.engine.mlp_passes import Layer, Trace


def input_jacobian(layers: Sequence[Layer], trace: Trace) -> Tensor:
    """d output / d input at every row, [B, out, in], by one pass backwards for all outputs."""
    reaction = layers[-1][0].unsqueeze(0).expand(len(trace.output), -1, -1)
    for (weight, _), activations in zip(layers[-2::-1], trace.inputs[:0:-1], strict=True):
        reaction = (reaction * _slopes(activations).unsqueeze(1)) @ weight
    return reaction


def add_slope_gradient(
    layers: Sequence[Layer],
    trace: Trace,
    outputs: Tensor,
    inputs: Tensor,
    gradients: Sequence[Layer],
) -> None:
    """Add the gradient of sum_b outputs_b^T J_b inputs_b in every weight and bias.

    `outputs` [B, out] and `inputs` [B, in] are held fixed. With the two singular directions of
    J_b the sum is that of the largest singular values, and the gradient theirs: neither direction
    can do better by moving.
    """
    tangents, carried = [inputs], inputs
    before_tanh: list[Tensor] = []
    for (weight, _), activations in zip(layers[:-1], trace.inputs[1:], strict=True):
        before_tanh.append(carried @ weight.T)
        carried = before_tanh[-1] * _slopes(activations)
        tangents.append(carried)
    last = len(layers) - 1
    reaction, bend = outputs, torch.zeros_like(outputs)
    for i in range(last, -1, -1):
        weight, (d_weight, d_bias) = layers[i][0], gradients[i]
        d_weight.addmm_(reaction.T, tangents[i])
        if i < last:  # tanh' moves with what is below it
            d_weight.addmm_(bend.T, trace.inputs[i])
            d_bias += bend.sum(0)
        if i > 0:
            below, slopes = trace.inputs[i], _slopes(trace.inputs[i])
            reaction, bend = reaction @ weight, bend @ weight
            bend = slopes * (bend - 2 * below * reaction * before_tanh[i - 1])
            reaction = reaction * slopes


def _slopes(activations: Tensor) -> Tensor:
    """tanh' = 1 - tanh^2"""
    return 1 - activations.square()
