"""J^T v as the gradient of <outputs, v>."""

from collections.abc import Sequence

import torch
from torch import Tensor


def inner(outputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> Tensor:
    """<outputs, cotangents>, a number whose gradient is J^T v in every bit.

    `torch.autograd.grad` takes v as an argument too, but loads sympy when it is given one: half a
    second of every command that measures or trains.
    """
    products = [(out * v).sum() for out, v in zip(outputs, cotangents, strict=True)]
    return products[0] if len(products) == 1 else torch.stack(products).sum()
