"""The same small work many times: on a GPU, launching its kernels would outlast running them."""

import functools
from collections.abc import Callable

import torch
from torch import Tensor


class Recorded:
    """`work(argument)`; on a GPU, from the second call on, replayed as one launch.

    Recording executes nothing, so the results are those of the plain calls. `work` returns
    nothing, touches the same memory each time and never waits for the device; an argument of
    another shape than the recorded one takes the plain way.
    """

    def __init__(self, work: Callable[[Tensor], None]) -> None:
        self._work = work
        self._has_run = False
        self._recording: tuple[torch.cuda.CUDAGraph, Tensor] | None = None

    def __call__(self, argument: Tensor) -> None:
        if argument.device.type != "cuda" or not self._has_run:
            # The first run makes what may not be made while recording: optimiser state, handles.
            self._work(argument)
            self._has_run = True
            return
        if self._recording is None:
            self._recording = self._record(argument.clone())
        graph, read = self._recording
        if read.shape != argument.shape:
            self._work(argument)
            return
        read.copy_(argument)
        graph.replay()

    def _record(self, argument: Tensor) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        # Not `with torch.cuda.graph(...)`: that also empties the memory cache, every time.
        graph, stream = torch.cuda.CUDAGraph(), _recording_stream(argument.device)
        stream.wait_stream(torch.cuda.current_stream(argument.device))
        with torch.cuda.stream(stream):
            graph.capture_begin()
            self._work(argument)
            graph.capture_end()
        torch.cuda.current_stream(argument.device).wait_stream(stream)
        return graph, argument


@functools.cache
def _recording_stream(device: torch.device) -> torch.cuda.Stream:
    """Always the same: each stream that multiplies matrices keeps memory for it."""
    return torch.cuda.Stream(device)
