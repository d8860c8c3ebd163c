"""The rows of a batch shared out among threads.

Left to itself torch splits every operation among its threads, which then wait for each other
after every operation. Rows do not depend on each other: here each thread takes its share of
them through a whole pass, alone, and the threads meet once.
"""

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

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
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(num_threads, "rows", _split_nothing)
    all_started = threading.Barrier(num_threads)
    for _ in pool.map(lambda _: all_started.wait(), range(num_threads)):
        pass
    # A thread's setting is its own, and also what threads born later begin with: back to ours.
    torch.set_num_threads(before)
    return pool


def _split_nothing() -> None:
    """One thread for the operations of the calling thread."""
    torch.set_num_threads(1)
    torch.get_num_threads()  # a new thread takes the setting over when it is first asked
