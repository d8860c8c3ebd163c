"""What every call from Python goes through, whatever surrounds it."""

import contextlib
from collections.abc import Iterator

import torch

from spacil.engine.device import torch_threads
from spacil.errors import keywords_for_flags


@contextlib.contextmanager
def python_face() -> Iterator[None]:
    """Errors that name keywords; torch with gradients, float32 for new tensors, and its threads."""
    former, threads = torch.get_default_dtype(), torch_threads(torch.get_num_threads())
    torch.set_default_dtype(torch.float32)
    try:
        with keywords_for_flags(), torch.inference_mode(False), torch.enable_grad(), threads:
            yield
    finally:
        torch.set_default_dtype(former)
