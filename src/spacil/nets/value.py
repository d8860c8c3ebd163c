"""The state value network."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from spacil.nets.mlp import MLP, Init


class ValueNet(nn.Module):
    """V(s) on normalised states, [B, S] -> [B]"""

    def __init__(
        self,
        num_states: int,
        hidden: Sequence[int] = (100, 100),
        init: Init = "fan-in",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.net = MLP([num_states, *hidden, 1], "tanh", init, generator)

    def forward(self, normalized_states: Tensor) -> Tensor:
        values: Tensor = self.net(normalized_states).squeeze(-1)
        return values
