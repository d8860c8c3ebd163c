"""How many threads torch splits an operation among."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads for torch inside the block, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def one_torch_thread() -> AbstractContextManager[None]:
    """For small operations: a second thread would spin, and be waited for longer than it helps."""
    return torch_threads(1)
