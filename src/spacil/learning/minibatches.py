"""Random orders in which a batch is read."""

import torch
from torch import Tensor


def shuffled_orders(size: int, count: int, generator: torch.Generator) -> Tensor:
    """Random orders of `size` rows, [count, size]."""
    orders = torch.empty(count, size, dtype=torch.int64)
    for order in orders:
        torch.randperm(size, generator=generator, out=order)
    return orders
