"""A plain multi-layer perceptron, the paper's way of starting it, and the state value network."""

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
        self.layers = nn.ModuleList()
        for num_in, num_out in itertools.pairwise(sizes):
            # Without its own start, which would draw from torch's global generator. As does
            # `nn.utils.skip_init`, but that loads sympy: half a second of every command.
            layer = nn.Linear(num_in, num_out, device="meta")
            layer.weight = nn.Parameter(torch.empty(num_out, num_in))
            layer.bias = nn.Parameter(torch.empty(num_out))
            self.layers.append(layer)
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

    @torch.no_grad()
    def initialize(self, init: Init, generator: torch.Generator | None) -> None:
        """Uniform(-k, k); last layer times 0.1 with zero bias (app:exp_setup_hyper_params)."""
        for weight, bias in self.weights_and_biases:
            k = 1 / math.sqrt(weight.shape[1] if init == "fan-in" else weight.numel())
            weight.uniform_(-k, k, generator=generator)
            bias.uniform_(-k, k, generator=generator)
        weight.mul_(LAST_LAYER_SCALE)
        bias.zero_()


TARGET_SHARE = 0.1
MIN_TARGET_STD = 1e-3


class ValueNet(nn.Module):
    """V(s) on normalised states, [B, S] -> [B]

    With `standardizes`, V = std * net + mean in the units of the targets seen so far (PopArt, van
    Hasselt et al. 2016): whatever size returns have, the network's own task has size 1.
    """

    target_mean: Tensor
    target_std: Tensor
    has_seen_targets: Tensor

    def __init__(
        self,
        num_states: int,
        hidden: Sequence[int] = (100, 100),
        init: Init = "fan-in",
        generator: torch.Generator | None = None,
        standardizes: bool = False,
    ) -> None:
        super().__init__()
        self.net = MLP([num_states, *hidden, 1], "tanh", init, generator)
        self.standardizes = standardizes
        if standardizes:
            self.register_buffer("target_mean", torch.zeros(()))
            self.register_buffer("target_std", torch.ones(()))
            self.register_buffer("has_seen_targets", torch.zeros((), dtype=torch.bool))

    def forward(self, normalized_states: Tensor) -> Tensor:
        values: Tensor = self.net(normalized_states).squeeze(-1)
        return values * self.target_std + self.target_mean if self.standardizes else values

    def in_network_units(self, targets: Tensor) -> Tensor:
        """What the network itself should say for V to be `targets`."""
        return (targets - self.target_mean) / self.target_std if self.standardizes else targets

    @torch.no_grad()
    def follow_targets(self, targets: Tensor) -> None:
        """Move the units towards those of new targets [B], leaving V(s) as it is.

        The first targets set them, and an untrained V that says 0 then says their mean. Later ones
        move mean and variance as if `TARGET_SHARE` of a mixture were theirs. Waits for no device,
        so that it can be recorded.
        """
        if not self.standardizes:
            return
        share = torch.where(self.has_seen_targets, TARGET_SHARE, 1.0)
        mean, variance = targets.mean(), targets.var(correction=0)
        gap = mean - self.target_mean
        mixed = torch.lerp(self.target_std.square(), variance, share)
        variance = mixed + share * (1 - share) * gap.square()
        mean = self.target_mean + share * gap
        std = variance.sqrt().clamp_min(MIN_TARGET_STD)
        weight, bias = self.net.weights_and_biases[-1]
        factor = torch.where(self.has_seen_targets, self.target_std / std, 1.0)
        shift = torch.where(self.has_seen_targets, (self.target_mean - mean) / std, 0.0)
        weight.mul_(factor)
        bias.mul_(factor).add_(shift)
        self.target_mean.copy_(mean)
        self.target_std.copy_(std)
        self.has_seen_targets.fill_(True)
