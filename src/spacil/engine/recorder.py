"""An update as pieces that a GPU can replay.

Launching a kernel from Python takes longer than most kernels of an update run. The launches of a
piece that was recorded once are one launch ever after.
"""

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

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

    A round is one update. Its pieces come in the same order in every round, and a piece

    - reads networks and optimisers that live as long as the recorder, what earlier pieces of the
      round returned, and its arguments (tensors, dataclasses of tensors); whatever else is new in
      a round must be an argument;
    - never waits for the device, and never copies from the host;
    - returns what holds until the same piece of the next round.

    On a CPU, and in the first round of a kind, pieces are plain calls. Recording executes
    nothing, so the results are those of the plain calls.
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

    def __call__(self, name: str, work: Callable[..., _Value], *arguments: Any) -> _Value:
        if self._device is None:
            return work(*arguments)
        if self._is_first_round or name not in self._has_run:
            # A plain run makes what may not be made while recording: optimiser state, handles.
            self._has_run.add(name)
            return work(*arguments)
        if name not in self._recordings:
            self._recordings[name] = _record(work, arguments, self._device)
        recording = self._recordings[name]
        for kept, argument in zip(recording.arguments, arguments, strict=True):
            _refill(kept, argument)
        recording.graph.replay()
        return cast(_Value, recording.result)


def _record(
    work: Callable[..., Any], arguments: tuple[Any, ...], device: torch.device
) -> _Recording:
    kept = tuple(_copy(argument) for argument in arguments)
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


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _copy(getattr(value, f.name)) for f in fields(value)})
    return value


def _refill(kept: Any, value: Any) -> None:
    """Write new numbers into what a graph reads."""
    if isinstance(kept, Tensor):
        assert kept.shape == value.shape, "a round of another kind: begin_round must know"
        kept.copy_(value)
    elif is_dataclass(kept) and not isinstance(kept, type):
        for field in fields(kept):
            _refill(getattr(kept, field.name), getattr(value, field.name))
    else:
        assert kept == value, "a round of another kind: begin_round must know"
