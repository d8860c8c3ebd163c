"""Adam (Kingma and Ba, 2015) on a network's parameters as one vector."""

import math

import torch
from torch import Tensor, nn

from spacil.functional.flat_params import flatten, unflatten

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
