"""Numbers from the device to Python. Each reading waits until the device has caught up."""

import torch
from torch import Tensor


def read_together(*numbers: Tensor) -> list[float]:
    """The values of some one-number tensors, for one wait instead of one each."""
    values: list[float] = torch.stack([n.detach().to(torch.float64) for n in numbers]).tolist()
    return values
