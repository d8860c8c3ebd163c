"""A plain multi-layer perceptron and the paper's way of starting it."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from spacil.engine.mlp_passes import Layer

Activation = Literal["tanh", "relu"]
Init = Literal["fan-in", "paper-numel"]

LAST_LAYER_SCALE = 0.1


class MLP(nn.Module):
    """Linear layers with one activation between them."""

    def __init__(
        self,
        sizes: Sequence[int],
        activation: Activation = "tanh",
        init: Init = "fan-in",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(itertools.starmap(_empty_linear, itertools.pairwise(sizes)))
        self.activation = activation
        self.initialize(init, generator)

    def forward(self, x: Tensor) -> Tensor:
        activate = torch.tanh if self.activation == "tanh" else torch.relu
        *hidden, last = self.layers
        for layer in hidden:
            x = activate(layer(x))
        output: Tensor = last(x)
        return output

    @property
    def weights_and_biases(self) -> list[Layer]:
        return [(layer.weight, layer.bias) for layer in self.layers]  # type: ignore[misc]  # ModuleList forgets that its members are Linear

    @property
    def tanh_layers(self) -> list[Layer]:
        """The layers, for the passes of `engine/mlp_passes.py`, which are written for tanh."""
        if self.activation != "tanh":
            raise ValueError(
                f"the derivatives are written for tanh, this MLP has {self.activation}"
            )
        return self.weights_and_biases

    @torch.no_grad()
    def initialize(self, init: Init, generator: torch.Generator | None) -> None:
        """Uniform(-k, k); last layer times 0.1 with zero bias (app:exp_setup_hyper_params)."""
        for weight, bias in self.weights_and_biases:
            k = 1 / math.sqrt(weight.shape[1] if init == "fan-in" else weight.numel())
            weight.uniform_(-k, k, generator=generator)
            bias.uniform_(-k, k, generator=generator)
        weight.mul_(LAST_LAYER_SCALE)
        bias.zero_()


def _empty_linear(num_in: int, num_out: int) -> nn.Linear:
    """A layer without its own start, which would draw from torch's global generator.

    `nn.utils.skip_init` does the same, but loads sympy on the way: half a second of every command.
    """
    layer = nn.Linear(num_in, num_out, device="meta")
    layer.weight = nn.Parameter(torch.empty(num_out, num_in))
    layer.bias = nn.Parameter(torch.empty(num_out))
    return layer
