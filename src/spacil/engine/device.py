"""Where updates run, among how many threads, and how their numbers come back.

Left to itself torch splits every operation among its threads, which then wait for each other
after every operation. Rows do not depend on each other: in `in_threads` each thread takes its
share of them through a whole pass, alone, and the threads meet once.
"""

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import torch
from torch import Tensor

from spacil.errors import ConfigError

_logger = logging.getLogger(__name__)


def resolve_device(name: str) -> torch.device:
    """cpu, cuda, cuda:1, or auto: cuda when there is one."""
    num_cuda = torch.cuda.device_count()
    if name == "auto":
        if not num_cuda:
            _logger.info("no CUDA device here: --device auto is the CPU")
        return torch.device("cuda" if num_cuda else "cpu")
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise ConfigError(f"--device {name}: expected cpu, cuda, cuda:N or auto")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= num_cuda:
        raise ConfigError(
            f"--device {name}: no such CUDA device here (it has {num_cuda}); use cpu or auto"
        )
    return device


def read_together(*numbers: Tensor) -> list[float]:
    """The values of some one-number tensors, for one wait instead of one each."""
    values: list[float] = torch.stack([n.detach().to(torch.float64) for n in numbers]).tolist()
    return values


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


_Portion = TypeVar("_Portion")
_Result = TypeVar("_Result")

MIN_ROWS = 500
"""Fewer than these are not worth a thread."""


def portions(rows: Tensor) -> tuple[Tensor, ...]:
    """One part of the rows for each thread torch may use; an accelerator takes them whole."""
    if rows.device.type != "cpu":
        return (rows,)
    count = min(torch.get_num_threads(), len(rows) // MIN_ROWS)
    return rows.chunk(max(count, 1))


def in_threads(work: Callable[[_Portion], _Result], shares: Sequence[_Portion]) -> list[_Result]:
    """`work` on each share, side by side and without gradients; results in the shares' order."""

    @torch.no_grad()
    def alone(share: _Portion) -> _Result:
        return work(share)

    if len(shares) == 1:
        return [alone(shares[0])]
    return list(_pool(len(shares), os.getpid()).map(alone, shares))


@functools.cache
def _pool(num_threads: int, process: int) -> ThreadPoolExecutor:
    """Threads whose own operations are not split again. A forked process has none of ours."""

    def split_nothing() -> None:
        torch.set_num_threads(1)
        torch.get_num_threads()  # a new thread takes the setting over when it is first asked

    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(num_threads, "rows", split_nothing)
    all_started = threading.Barrier(num_threads)
    for _ in pool.map(lambda _: all_started.wait(), range(num_threads)):
        pass
    # A thread's setting is its own, and also what threads born later begin with: back to ours.
    torch.set_num_threads(before)
    return pool
