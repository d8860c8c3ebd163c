"""Derivatives of a tanh MLP in its parameters, written out over cached activations; Adam on them.

No graph is built, and what one pass computes the next one reads. On the CPU a batch is shared out
among threads, and each walks through its rows in blocks, so that what a block computes is still
in the cache when it is needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spacil.engine.device import in_threads, portions
from spacil.functional.policy_gradient import flatten, unflatten

Layer = tuple[Tensor, Tensor]
"""weight [out, in], bias [out]"""

ROWS_PER_BLOCK = 500
"""On the CPU. An accelerator takes all rows at once."""


@dataclass(frozen=True)
class Trace:
    """What the passes need of one forward evaluation on a batch."""

    inputs: tuple[Tensor, ...]
    """Input of each layer, [B, in]: beyond the first, a tanh"""
    output: Tensor
    """[B, out]"""
    sensitivities: tuple[Tensor, ...] = ()
    """d output / d (layer before its tanh), [outputs, B, out], of none or all layers below the
    last hidden one: a change there reaches the output without walking the layers between"""


def blocks(rows: Tensor) -> tuple[Tensor, ...]:
    """The rows in the portions a pass takes them in."""
    return rows.split(ROWS_PER_BLOCK) if rows.device.type == "cpu" else (rows,)


def forward(layers: Sequence[Layer], x: Tensor) -> Tensor:
    """The MLP's output [B, out], keeping nothing."""

    def share(rows: Tensor) -> Tensor:
        return torch.cat([forward_trace(layers, block).output for block in blocks(rows)])

    return torch.cat(in_threads(share, portions(x)))


def forward_trace(layers: Sequence[Layer], x: Tensor) -> Trace:
    """Evaluate the MLP, keeping each layer's input."""
    inputs = [x]
    for weight, bias in layers[:-1]:
        inputs.append(torch.addmm(bias, inputs[-1], weight.T).tanh_())
    weight, bias = layers[-1]
    return Trace(tuple(inputs), torch.addmm(bias, inputs[-1], weight.T))


def with_sensitivities(layers: Sequence[Layer], trace: Trace) -> Trace:
    """Also keep how the output reacts to every layer below the last hidden one.

    Costs a pass backwards per output, once. A Gauss-Newton product then needs two large matrix
    products per hidden layer instead of four: none to carry a change up to the output, none to
    carry it back down.
    """
    reaction = layers[-1][0].unsqueeze(1) * _slopes(trace.inputs[-1])
    found: list[Tensor] = []
    for i in range(len(layers) - 2, 0, -1):
        reaction = (reaction @ layers[i][0]).mul_(_slopes(trace.inputs[i]))
        found.append(reaction)
    return Trace(trace.inputs, trace.output, tuple(found[::-1]))


def parameter_tangent(layers: Sequence[Layer], trace: Trace, direction: Sequence[Layer]) -> Tensor:
    """J v: change of the output [B, out] when the parameters move along `direction`."""
    last, num_short = len(layers) - 1, len(trace.sensitivities)
    carried: Tensor | None = None
    reached: list[Tensor] = []
    for i, (d_weight, d_bias) in enumerate(direction):
        change = torch.addmm(d_bias, trace.inputs[i], d_weight.T)
        if i < num_short:
            reached.append((trace.sensitivities[i] * change).sum(-1).T)
            continue
        if carried is not None:
            change.addmm_(carried, layers[i][0].T)
        carried = change if i == last else _through_tanh_(change, trace.inputs[i + 1])
    assert carried is not None
    for part in reached:
        carried += part
    return carried


def add_parameter_cotangent(
    layers: Sequence[Layer], trace: Trace, cotangent: Tensor, gradients: Sequence[Layer]
) -> None:
    """Add J^T w, the gradient of <w, output> in every weight and bias, to `gradients`."""
    num_short = len(trace.sensitivities)
    here = cotangent
    for i in range(len(layers) - 1, -1, -1):
        if i < num_short:
            here = (trace.sensitivities[i] * cotangent.T.unsqueeze(-1)).sum(0)
        d_weight, d_bias = gradients[i]
        d_weight.addmm_(here.T, trace.inputs[i])
        d_bias += here.sum(0)
        if i > num_short:
            here = _through_tanh_(here @ layers[i][0], trace.inputs[i])


def _slopes(activations: Tensor) -> Tensor:
    """tanh' = 1 - tanh^2"""
    return 1 - activations.square()


def _through_tanh_(change: Tensor, activations: Tensor) -> Tensor:
    """change * tanh', in place, reading each number once."""
    passed: Tensor = torch.ops.aten.tanh_backward.grad_input(change, activations, grad_input=change)
    return passed


class ParameterJacobian:
    """J = d outputs / d parameters at fixed parameters, on a batch. Never formed, only applied.

    Vectors over the parameters are flat: weight and bias of each layer in turn.
    """

    def __init__(self, layers: Sequence[Layer], x: Tensor, *, keeps_sensitivities: bool) -> None:
        self._layers = [(weight.detach(), bias.detach()) for weight, bias in layers]
        self._like = [tensor for layer in self._layers for tensor in layer]

        def evaluate(rows: Tensor) -> list[Trace]:
            traces = [forward_trace(self._layers, block) for block in blocks(rows)]
            if keeps_sensitivities:
                traces = [with_sensitivities(self._layers, trace) for trace in traces]
            return traces

        self._shares = in_threads(evaluate, portions(x))
        """One list of traces per thread"""
        self.outputs = torch.cat([trace.output for share in self._shares for trace in share])
        """[B, out]"""

    def pull_back(self, cotangents: Tensor) -> Tensor:
        """J^T w for w [B, out]."""

        def share_of(share: tuple[list[Trace], Tensor]) -> Tensor:
            gradient, layers = self._zeros()
            for trace, cotangent in zip(share[0], blocks(share[1]), strict=True):
                add_parameter_cotangent(self._layers, trace, cotangent, layers)
            return gradient

        sizes = [sum(len(trace.output) for trace in share) for share in self._shares]
        shares = list(zip(self._shares, cotangents.split(sizes), strict=True))
        return _sum(in_threads(share_of, shares))

    def gauss_newton(self, vector: Tensor, output_weights: Tensor) -> Tensor:
        """J^T diag(w) J v, with one weight w [out] per output."""
        direction = self._by_layer(vector)

        def share_of(traces: list[Trace]) -> Tensor:
            product, layers = self._zeros()
            for trace in traces:
                tangent = parameter_tangent(self._layers, trace, direction)
                tangent *= output_weights
                add_parameter_cotangent(self._layers, trace, tangent, layers)
            return product

        return _sum(in_threads(share_of, self._shares))

    def _zeros(self) -> tuple[Tensor, list[Layer]]:
        """A flat vector and its views by layer."""
        vector = self._like[0].new_zeros(sum(tensor.numel() for tensor in self._like))
        return vector, self._by_layer(vector)

    def _by_layer(self, vector: Tensor) -> list[Layer]:
        views = unflatten(vector, self._like)
        return list(zip(views[::2], views[1::2], strict=True))


def _sum(parts: Sequence[Tensor]) -> Tensor:
    """Always in the same order: the bits repeat at one number of threads."""
    first, *others = parts
    for part in others:
        first += part
    return first


MEAN_DECAY, SQUARE_DECAY = 0.9, 0.999
EPSILON = 1e-8


class Adam:
    """What torch's own does, without loading a compiler before its first step (seconds).

    The parameters become views of one vector and so do their gradients, so that a step is a few
    operations whatever the number of layers. It waits for no device and can be recorded.
    """

    def __init__(self, module: nn.Module, learning_rate: float) -> None:
        """The module stays on its device from here on."""
        self.learning_rate = learning_rate
        self._parameters = list(module.parameters())
        self.vector = flatten(self._parameters).detach()
        self.gradient = torch.zeros_like(self.vector)
        self.mean = torch.zeros_like(self.vector)
        """Decaying mean of the gradient"""
        self.square = torch.zeros_like(self.vector)
        """Decaying mean of its square"""
        self.num_steps = self.vector.new_zeros(())
        for parameter, place, slope in zip(
            self._parameters, self.by_parameter(self.vector), self.gradients, strict=True
        ):
            parameter.data = place
            parameter.grad = slope

    @property
    def gradients(self) -> list[Tensor]:
        """Of each parameter, in the module's order; what a backward pass adds to."""
        return self.by_parameter(self.gradient)

    def by_parameter(self, vector: Tensor) -> list[Tensor]:
        """Views of a vector over all parameters, in the module's order."""
        return unflatten(vector, self._parameters)

    @property
    def state(self) -> dict[str, Tensor]:
        """The moments and the count of steps, to be saved and written into."""
        return {"mean": self.mean, "square": self.square, "num_steps": self.num_steps}

    def zero_grad(self) -> None:
        self.gradient.zero_()

    @torch.no_grad()
    def step(self) -> None:
        self.num_steps += 1
        self.mean.lerp_(self.gradient, 1 - MEAN_DECAY)
        self.square.mul_(SQUARE_DECAY).addcmul_(
            self.gradient, self.gradient, value=1 - SQUARE_DECAY
        )
        # Both means start at zero; 1 - decay^steps is the weight they have gathered since.
        mean_weight = -torch.expm1(self.num_steps * math.log(MEAN_DECAY))
        square_weight = -torch.expm1(self.num_steps * math.log(SQUARE_DECAY))
        spread = (self.square / square_weight).sqrt_().add_(EPSILON).mul_(mean_weight)
        self.vector.addcdiv_(self.mean, spread, value=-self.learning_rate)
