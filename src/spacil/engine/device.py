"""Where updates run, among how many threads, and how their numbers come back.

Left to itself torch splits every operation among its threads, which then wait for each other
after every operation. Rows do not depend on each other: in `in_threads` each thread takes its
share of them through a whole pass, alone, and the threads meet once.

On a GPU launching a kernel from Python takes longer than most kernels of an update run. So updates
are made of pieces (`Recorder`): the launches of one that was recorded are one launch ever after.
"""

import functools
import logging
import os
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from spacil.errors import ConfigError

_logger = logging.getLogger(__name__)
_LOADED_IN = os.getpid()


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
    """So many threads for torch inside the block, and as many as before after it.

    One in a process forked since: it has none of the others, and would wait for them for ever.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count if os.getpid() == _LOADED_IN else 1)
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


# --- an update as pieces that a GPU can replay

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class _Recording:
    graph: torch.cuda.CUDAGraph
    arguments: tuple[Any, ...]
    """What the graph reads; refilled before each replay"""
    result: Any
    """What the graph writes: the same tensors each time, with new numbers"""


class Recorder:
    """Calls pieces of work by name; on a GPU, what one has done before is replayed.

    A round is one update. Its pieces are plain functions, called in the same order in every round
    as `recorder(name, function, lasting, *fresh)`, which is `function(*lasting, *fresh)`:

    - `lasting` is bound when the piece is recorded: networks, optimisers and settings that live as
      long as the recorder, and what earlier pieces of the round returned;
    - `fresh` is whatever else is new in a round (tensors, dataclasses of tensors), copied in.

    A piece never waits for the device, never copies from the host, and returns records that hold
    until the same piece of the next round. On a CPU, and in the first round of a kind, pieces are
    plain calls. Recording executes nothing, so the results are those of the plain calls.
    """

    def __init__(self, device: torch.device | None = None) -> None:
        self._device = device if device is not None and device.type == "cuda" else None
        self._kind: Hashable = None
        self._is_first_round = True
        self._has_run: set[str] = set()
        self._recordings: dict[str, _Recording] = {}

    def begin_round(self, kind: Hashable) -> None:
        """Rounds of one kind are alike in all shapes and branches; another kind starts afresh."""
        self._is_first_round = kind != self._kind
        if self._is_first_round:
            self.forget()
            self._kind = kind

    def forget(self) -> None:
        """Drop all recordings: something they read or write has moved."""
        self._kind = None
        self._is_first_round = True
        self._has_run.clear()
        self._recordings.clear()

    def __call__(
        self, name: str, function: Callable[..., _Value], lasting: tuple[Any, ...], *fresh: Any
    ) -> _Value:
        if self._device is None:
            return function(*lasting, *fresh)
        if self._is_first_round or name not in self._has_run:
            # A plain run makes what may not be made while recording: optimiser state, handles.
            self._has_run.add(name)
            return function(*lasting, *fresh)
        if name not in self._recordings:
            bound = functools.partial(function, *lasting)
            self._recordings[name] = _record(bound, fresh, self._device)
        recording = self._recordings[name]
        for kept, argument in zip(recording.arguments, fresh, strict=True):
            refill(kept, argument)
        recording.graph.replay()
        return cast(_Value, recording.result)


def _record(
    work: Callable[..., Any], arguments: tuple[Any, ...], device: torch.device
) -> _Recording:
    kept = tuple(copied(argument) for argument in arguments)
    # Not `with torch.cuda.graph(...)`: that also empties the memory cache, every time.
    graph, stream = torch.cuda.CUDAGraph(), _recording_stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        graph.capture_begin()
        result = work(*kept)
        graph.capture_end()
    torch.cuda.current_stream(device).wait_stream(stream)
    return _Recording(graph, kept, result)


@functools.cache
def _recording_stream(device: torch.device) -> torch.cuda.Stream:
    """Always the same: each stream that multiplies matrices keeps memory for it."""
    return torch.cuda.Stream(device)


def copied(value: Any) -> Any:
    """A copy of every tensor in an argument."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: copied(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(copied(part) for part in value)
    return value


def refill(kept: Any, value: Any) -> None:
    """Write new numbers into what a graph reads."""
    if isinstance(kept, Tensor):
        assert kept.shape == value.shape, "a round of another kind: begin_round must know"
        kept.copy_(value)
    elif is_dataclass(kept) and not isinstance(kept, type):
        for field in fields(kept):
            refill(getattr(kept, field.name), getattr(value, field.name))
    elif isinstance(kept, tuple):
        for part, other in zip(kept, value, strict=True):
            refill(part, other)
    else:
        assert kept == value, "a round of another kind: begin_round must know"
