"""What every call from Python goes through, whatever surrounds it."""

import contextlib
import os
from collections.abc import Iterator

import torch

from spacil.errors import keywords_for_flags

_LOADED_IN = os.getpid()


@contextlib.contextmanager
def python_face() -> Iterator[None]:
    """Errors that name keywords; and torch with gradients, and float32 for new tensors.

    After a fork it has one thread: the others are not copied, and would be waited for for ever.
    """
    former = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    if os.getpid() != _LOADED_IN:
        torch.set_num_threads(1)
    try:
        with keywords_for_flags(), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(former)
