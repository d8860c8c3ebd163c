"""A list of tensors as one vector, and back."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def flatten(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def unflatten(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Views into `vector`, shaped as the tensors of `like`."""
    pieces = vector.split([tensor.numel() for tensor in like])
    return [piece.view_as(tensor) for piece, tensor in zip(pieces, like, strict=True)]


@torch.no_grad()
def assign(parameters: Sequence[Tensor], vector: Tensor) -> None:
    """Write `vector` into the parameters, in place and bit for bit."""
    for parameter, piece in zip(parameters, unflatten(vector, parameters), strict=True):
        parameter.copy_(piece)
