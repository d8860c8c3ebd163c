"""What a checkpoint keeps of a learner: its parts, registered by name.

A part is either tensors (a module, a generator, an env) or a record of plain numbers. A checkpoint
with a valid hash may still belong to another run, or be forged: nothing is reshaped, cast or filled
in to make it fit, and nothing is changed before all of it fits.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import torch
from torch import Tensor, nn

from spacil.errors import StorageError
from spacil.plain_text import shown

Record = TypeVar("Record")
Tensors = Mapping[str, Tensor]

MAX_COUNT = 2**53
"""No run counts further; beyond it a float can no longer tell neighbours apart."""


class State:
    """The parts of one learner, and whether it stands between two iterations."""

    def __init__(self) -> None:
        self.cut_short: str | None = None
        """Iteration that has begun and not ended; None between two iterations."""
        self._tensors: dict[str, tuple[Callable[[], Tensors], Callable[[Tensors], object]]] = {}
        self._values: dict[
            str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], object]]
        ] = {}
        self._growing: list[str] = []
        self._after_restore: list[Callable[[], object]] = []

    def register(self, name: str, part: nn.Module | torch.Generator | Tensors) -> None:
        """Keep a module, a generator, or tensors that always are the same objects."""
        if isinstance(part, nn.Module):
            self.register_tensors(name, part.state_dict, part.load_state_dict)
        elif isinstance(part, torch.Generator):
            self.register_tensors(
                name, lambda: {"": part.get_state()}, lambda saved: part.set_state(saved[""])
            )
        else:

            def copy(saved: Tensors) -> None:
                for key, tensor in part.items():
                    tensor.copy_(saved[key])

            self.register_tensors(name, lambda: part, copy)

    def register_tensors(
        self,
        name: str,
        read: Callable[[], Tensors],
        write: Callable[[Tensors], object],
        *,
        grows: bool = False,
    ) -> None:
        """Keep tensors that functions read and write; the first dim of some grows with a run."""
        self._tensors[name] = read, write
        if grows:
            self._growing.append(f"{name}.")

    def register_record(
        self, name: str, owner: object, kind: type, attribute: str = "", *, optional: bool = False
    ) -> None:
        """Keep a dataclass of plain numbers that is an attribute of `owner`, by default `name`."""
        attribute, words = attribute or name, f"the checkpoint's {name.replace('_', ' ')}"

        def read() -> dict[str, Any] | None:
            record = getattr(owner, attribute)
            return None if record is None else asdict(record)

        def parse(document: Any) -> Any:
            return None if optional and document is None else record_from(kind, document, words)

        self.register_value(name, read, parse, lambda record: setattr(owner, attribute, record))

    def register_value(
        self,
        name: str,
        read: Callable[[], Any],
        parse: Callable[[Any], Any],
        write: Callable[[Any], object],
    ) -> None:
        """Keep a JSON value; `parse` refuses what is none, before anything is changed."""
        self._values[name] = read, parse, write

    def after_restore(self, function: Callable[[], object]) -> None:
        """Call a function whenever all parts have been restored."""
        self._after_restore.append(function)

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor by name, as copies on the CPU."""
        named = {}
        for name, (read, _) in self._tensors.items():
            for key, tensor in read().items():
                copy = tensor.detach().cpu().contiguous().clone()
                named[f"{name}.{key}" if key else name] = copy
        return named

    def document(self) -> dict[str, Any]:
        """Return every value by name, JSON-able and free of wall-clock time."""
        return {name: read() for name, (read, _, _) in self._values.items()}

    def restore(self, tensors: Tensors, document: Mapping[str, Any]) -> None:
        """Continue exactly where `tensors()` and `document()` were taken."""
        require_same_form(tensors, self.tensors(), tuple(self._growing))
        values = {name: parse(document.get(name)) for name, (_, parse, _) in self._values.items()}
        for name, (_, write) in self._tensors.items():
            write({"": tensors[name]} if name in tensors else with_prefix(tensors, f"{name}."))
        for name, (_, _, write_value) in self._values.items():
            write_value(values[name])
        for function in self._after_restore:
            function()
        self.cut_short = None


def with_prefix(tensors: Tensors, prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose name starts with `prefix`, without it."""
    return {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}


def require_same_form(found: Tensors, expected: Tensors, growing: tuple[str, ...] = ()) -> None:
    """Refuse tensors of other names, types or shapes, and values that training never leaves."""
    if found.keys() != expected.keys():
        missing, unknown = sorted(expected.keys() - found), sorted(found.keys() - expected)
        raise StorageError(
            f"the checkpoint does not fit this run: missing {missing[:5]}, "
            f"unknown {[shown(name, 64) for name in unknown[:5]]}"
        )
    for name, tensor in expected.items():
        saved, first = found[name], int(name.startswith(growing)) if growing else 0
        fits = saved.ndim == tensor.ndim and saved.shape[first:] == tensor.shape[first:]
        if saved.dtype != tensor.dtype or not fits:
            raise StorageError(
                f"the checkpoint does not fit this run: {name} is {saved.dtype} "
                f"{tuple(saved.shape)}, expected {tensor.dtype} {tuple(tensor.shape)}"
            )
    broken = first_non_finite(found)
    if broken is not None:
        raise StorageError(f"cannot resume from this checkpoint: {broken} holds NaN or infinity")


def first_non_finite(tensors: Tensors) -> str | None:
    """Return the name of the first tensor with NaN or infinity; action bounds may be infinite."""
    for name, tensor in tensors.items():
        is_bound = name.endswith(("action_low", "action_high"))
        if not is_bound and not bool(torch.isfinite(tensor).all()):
            return name
    return None


def record_from(kind: type[Record], document: Any, name: str) -> Record:
    """Read a dataclass of plain numbers from a JSON object, every field checked."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if not isinstance(document, dict) or document.keys() != set(names):
        raise StorageError(f"{name} should be the values {', '.join(names)}, got {shown(document)}")
    return kind(**{key: _value_of(hints[key], document[key], f"{name} {key}") for key in names})


def _value_of(hint: Any, value: Any, name: str) -> Any:
    """Check a JSON value of a field: a count, a float, a text, a record, or one of them or None."""
    kinds = (hint,) if get_origin(hint) in (dict, tuple) else get_args(hint) or (hint,)
    for kind in kinds:
        if is_dataclass(kind) and not (value is None and type(None) in kinds):
            return record_from(kind, value, name)  # type: ignore[arg-type]  # a class, no object
        if get_origin(kind) is tuple and isinstance(value, list):
            if {*map(type, value)} <= {str}:
                return tuple(value)
        elif kind is Path and isinstance(value, str):
            return Path(value)
        elif type(value) is int and kind in (int, float):
            if -MAX_COUNT * (kind is float) <= value <= MAX_COUNT:
                return value
        elif type(value) is (get_origin(kind) or kind):
            return value
    expected = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise StorageError(f"{name} is {shown(value)}, expected {expected}")
