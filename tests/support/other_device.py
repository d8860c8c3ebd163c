"""A second device for machines without one: tensors that say cuda:0 and refuse to meet the CPU's.

Inside `other_device()` whatever is asked for on cuda lives in a tensor on the CPU with a label
around it. An operation on labelled and plain tensors together raises, as it would on a GPU; numbers
with no dims, indices and copies may mix, as there. Streams and graphs are not imitated.
"""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

DEVICE = torch.device("cuda:0")
MAY_MIX = ("copy_", "_to_copy")
INDEXING = ("index", "index_put", "index_put_", "_index_put_impl_")
READS = ("_local_scalar_dense", "equal", "is_same_size")


class Elsewhere(Tensor):
    """A labelled tensor; `meta` is what torch itself sees, so that no driver is asked for."""

    held: Tensor
    device = property(lambda self: DEVICE)  # type: ignore[assignment]
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: Tensor) -> "Elsewhere":
        made: Elsewhere = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, held.shape, strides=held.stride(), dtype=held.dtype, device=torch.device("meta")
        )
        made.held = held
        return made

    def tolist(self) -> Any:
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), how: Any = None) -> Any:
        return computed(function, args, how or {})


class _Everywhere(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), how: Any = None) -> Any:
        return computed(function, args, how or {})


def computed(function: Any, args: Any, how: dict[str, Any]) -> Any:
    tensors = [each for each in tree_leaves((args, how)) if isinstance(each, Tensor)]
    ours = [each for each in tensors if isinstance(each, Elsewhere)]
    plain = [each for each in tensors if not isinstance(each, Elsewhere) and each.dim()]
    name, target = function.overloadpacket.__name__, how.get("device")
    is_index = name in INDEXING
    if ours and plain and name not in MAY_MIX and not (is_index and isinstance(args[0], Elsewhere)):
        raise RuntimeError(f"{name}: tensors on cuda:0 and on the CPU, {[p.shape for p in plain]}")

    def inner(each: Any) -> Any:
        if isinstance(each, Elsewhere):
            return each.held
        is_device = isinstance(each, torch.device) and each.type != "cpu"
        return torch.device("cpu") if is_device else each

    found = function(*tree_map(inner, args), **tree_map(inner, how))
    if name.endswith("_"):
        return args[0]
    to_cpu = name == "_to_copy" and target is not None and torch.device(target).type == "cpu"
    is_asked = target is not None and torch.device(target).type != "cpu"
    if to_cpu or name in READS or not (ours or is_asked):
        return found
    return tree_map(lambda each: Elsewhere(each) if isinstance(each, Tensor) else each, found)


@contextlib.contextmanager
def other_device() -> Iterator[None]:
    """One cuda device, for the block."""
    with (
        mock.patch("torch.cuda._lazy_init", lambda: None),
        mock.patch("torch.cuda.device_count", lambda: 1),
        _Everywhere(),
    ):
        yield
