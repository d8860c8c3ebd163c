"""What a run demands of a checkpoint before it resumes from it: the same tensors and records.

A checkpoint with valid hashes may still belong to another run, or be forged: nothing is reshaped,
cast or filled in to make it fit.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import torch
from torch import Tensor

from spacil.errors import StorageError
from spacil.plain_text import shown

Record = TypeVar("Record")

MAX_COUNT = 2**53
"""No run counts further; beyond it a float can no longer tell neighbours apart."""


def require_same_form(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other names, types or shapes, and values that training never leaves."""
    if found.keys() != expected.keys():
        missing, unknown = sorted(expected.keys() - found), sorted(found.keys() - expected)
        raise StorageError(
            f"the checkpoint does not fit this run: missing {missing[:5]}, "
            f"unknown {[shown(name, 64) for name in unknown[:5]]}"
        )
    for name, tensor in expected.items():
        saved = found[name]
        if saved.dtype != tensor.dtype or saved.shape != tensor.shape:
            raise StorageError(
                f"the checkpoint does not fit this run: {name} is {saved.dtype} "
                f"{tuple(saved.shape)}, expected {tensor.dtype} {tuple(tensor.shape)}"
            )
    broken = first_non_finite(found)
    if broken is not None:
        raise StorageError(f"cannot resume from this checkpoint: {broken} holds NaN or infinity")


def first_non_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The first tensor with NaN or infinity; action bounds may be infinite."""
    for name, tensor in tensors.items():
        is_bound = name.endswith(("action_low", "action_high"))
        if not is_bound and not bool(torch.isfinite(tensor).all()):
            return name
    return None


def record_from(kind: type[Record], document: Any, name: str) -> Record:
    """A dataclass of plain numbers from a JSON object, every field checked."""
    hints = get_type_hints(kind)
    fits = isinstance(document, dict) and document.keys() == hints.keys()
    if not fits or not all(_is_of(document[field], hints[field]) for field in hints):
        names = ", ".join(field.name for field in dataclasses.fields(kind))  # type: ignore[arg-type]
        raise StorageError(
            f"the checkpoint's {name} should be the numbers {names}, got {shown(document)}"
        )
    return kind(**document)


def optional_record_from(kind: type[Record], document: Any, name: str) -> Record | None:
    """The same for a record that may be missing."""
    return None if document is None else record_from(kind, document, name)


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a field's type: a count, a float, or one of them or None."""
    kinds = get_args(hint) or (hint,)
    if type(value) is int:
        if int in kinds:
            return 0 <= value <= MAX_COUNT
        return float in kinds and abs(value) <= MAX_COUNT
    return type(value) in kinds and value not in (math.inf, -math.inf)
