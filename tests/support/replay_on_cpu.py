"""A recorder that replays without a GPU, and goes wrong where a graph would.

From the second round on a graph does what it was recorded with: the *first* function on the *first*
lasting arguments and on copies of the fresh ones, writing into the *first* results. So does this. A
piece that reads anything else that is new in a round (a batch, a draw, a weight) reads stale
numbers here as it would on a GPU.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, cast

import torch
from torch import Tensor

from spacil.engine.recorder import Recorder, _Value, copied, refill


@dataclass(frozen=True)
class _FirstCall:
    function: Callable[..., Any]
    lasting: tuple[Any, ...]
    fresh: tuple[Any, ...]
    """Copies, refilled before each replay"""
    result: Any
    """Of this call; later ones are written into it"""


class ReplayOnCpu(Recorder):
    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, _FirstCall] = {}

    def forget(self) -> None:
        super().forget()
        self._first = {}

    def __call__(
        self, name: str, function: Callable[..., _Value], lasting: tuple[Any, ...], *fresh: Any
    ) -> _Value:
        if self._is_first_round or name not in self._has_run:
            self._has_run.add(name)
            return function(*lasting, *fresh)
        if name not in self._first:
            kept = tuple(copied(argument) for argument in fresh)
            self._first[name] = _FirstCall(function, lasting, kept, function(*lasting, *kept))
            return cast(_Value, self._first[name].result)
        first = self._first[name]
        for old, new in zip(first.fresh, fresh, strict=True):
            refill(old, new)
        overwrite(first.result, first.function(*first.lasting, *first.fresh))
        return cast(_Value, first.result)


def overwrite(kept: Any, new: Any) -> None:
    """Write the numbers of a record into another of the same form.

    Records are tensors, containers, objects with attributes, methods bound to such, and functions
    with what they close over: a graph writes into the tensors that they hold.
    """
    if kept is new:
        return
    assert type(kept) is type(new), f"{kept!r} became {new!r}: a round of another kind"
    if isinstance(kept, Tensor):
        if not torch.equal(kept, new):  # constants may be views of one number
            kept.detach().copy_(new.detach())
    elif isinstance(kept, dict):
        assert kept.keys() == new.keys()
        for key in kept:
            overwrite(kept[key], new[key])
    elif isinstance(kept, list | tuple):
        for one, other in zip(kept, new, strict=True):
            overwrite(one, other)
    elif isinstance(kept, functools.partial):
        overwrite((kept.func, kept.args, kept.keywords), (new.func, new.args, new.keywords))
    elif isinstance(kept, FunctionType):
        assert kept.__code__ is new.__code__
        cells = zip(kept.__closure__ or (), new.__closure__ or (), strict=True)
        for one, other in cells:
            overwrite(one.cell_contents, other.cell_contents)
    elif isinstance(kept, MethodType):
        assert kept.__func__ is new.__func__
        overwrite(kept.__self__, new.__self__)
    elif hasattr(kept, "__dict__"):
        overwrite(vars(kept), vars(new))
    else:
        assert kept == new, f"{kept!r} is not {new!r}: a recorded piece cannot return either"
