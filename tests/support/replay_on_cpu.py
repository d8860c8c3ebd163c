"""A recorder that replays without a GPU, and goes wrong where a graph would.

From the second round on a graph does what it was recorded with: the *first* closures, on the
arguments it was last given, writing into the *first* results. So does this. A piece that reads
anything else that is new in a round (a batch, a draw, a weight it closed over) reads stale numbers
here as it would on a GPU.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import torch
from torch import Tensor

from spacil.engine.recorder import Recorder, _copy, _refill, _Value


class ReplayOnCpu(Recorder):
    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any]] = {}

    def forget(self) -> None:
        super().forget()
        self._first = {}

    def __call__(self, name: str, work: Callable[..., _Value], *arguments: Any) -> _Value:
        if self._is_first_round or name not in self._has_run:
            self._has_run.add(name)
            return work(*arguments)
        if name not in self._first:
            kept = tuple(_copy(argument) for argument in arguments)
            self._first[name] = (work, kept, work(*kept))
            return cast(_Value, self._first[name][2])
        first_work, kept, result = self._first[name]
        for old, new in zip(kept, arguments, strict=True):
            _refill(old, new)
        _overwrite(result, first_work(*kept))
        return cast(_Value, result)


def _overwrite(kept: Any, new: Any) -> None:
    """Write the numbers of an object into another of the same form, closures included."""
    if kept is new:
        return
    if isinstance(kept, Tensor):
        if not torch.equal(kept, new):  # constants may be views of one number
            kept.detach().copy_(new.detach())
    elif isinstance(kept, dict):
        for key in kept:
            _overwrite(kept[key], new[key])
    elif isinstance(kept, list | tuple):
        for one, other in zip(kept, new, strict=True):
            _overwrite(one, other)
    elif isinstance(kept, FunctionType):
        for one, other in zip(kept.__closure__ or (), new.__closure__ or (), strict=True):
            _overwrite(one.cell_contents, other.cell_contents)
    elif hasattr(kept, "__dict__"):
        _overwrite(vars(kept), vars(new))
    else:
        assert kept == new
