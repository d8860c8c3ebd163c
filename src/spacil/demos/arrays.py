"""From numpy arrays, one per episode, to the flat tensors of a demonstration record.

Anyone's numbers are welcome: integers and half precision are cast, gaps that have one
sensible filling are filled, and every such change is handed back for the provenance. Refused:
objects (they would need pickle), text, complex numbers, values that do not survive the cast, and
arrays that do not fit together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from spacil.demos.schema import FIELDS, TensorField
from spacil.errors import DataError

EpisodeArrays = Sequence[ArrayLike]
"""One array per episode."""

_NUMPY_DTYPES: dict[torch.dtype, type[np.generic]] = {
    torch.float32: np.float32,
    torch.float64: np.float64,
}


def tensors_from_arrays(
    arrays: Mapping[str, EpisodeArrays], source: str
) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """The tensors of a record from per-episode arrays under the record's names, and the changes.

    Episode lengths are those of `executed_actions`. Without any flag every episode counts as
    truncated: cut off, not ended by the task.
    """
    _check_counts(arrays, source)
    conversion = _Conversion(source)
    tensors = {
        field.name: conversion.joined(field, arrays[field.name])
        for field in FIELDS
        if field.name in arrays and field.name != "observations"
    }
    lengths = [len(np.asarray(episode)) for episode in arrays["executed_actions"]]
    tensors["episode_lengths"] = torch.tensor(lengths, dtype=torch.int64)
    tensors["observations"] = conversion.observations(arrays["observations"], lengths)
    if "terminations" not in tensors and "truncations" not in tensors:
        tensors["truncations"] = _last_steps(lengths)
        conversion.changes.append({"operation": "mark_episode_ends_as_truncated"})
    no_flags = torch.zeros(sum(lengths), dtype=torch.bool)
    tensors.setdefault("terminations", no_flags)
    tensors.setdefault("truncations", no_flags)
    if conversion.casts:
        conversion.changes.append({"operation": "cast", **conversion.casts})
    return tensors, conversion.changes


@dataclass
class _Conversion:
    """The arrays of one source on their way into tensors, and what had to be changed."""

    source: str
    casts: dict[str, str] = field(default_factory=dict)
    """Array name -> "float64 -> float32"."""
    changes: list[dict[str, Any]] = field(default_factory=list)

    def joined(self, field: TensorField, episodes: EpisodeArrays) -> Tensor:
        """All episodes of one field, one after the other."""
        return self._concatenated(field, self._parts(field, episodes))

    def observations(self, episodes: EpisodeArrays, lengths: list[int]) -> Tensor:
        """Observations with one more row per episode than actions.

        Sources without a final observation (as many observations as actions) get the last one
        repeated. No state-action pair contains it.
        """
        field = FIELDS[0]
        parts = self._parts(field, episodes)
        extra_rows = [len(part) - length for part, length in zip(parts, lengths, strict=True)]
        for episode, extra in enumerate(extra_rows):
            if extra not in (0, 1):
                raise self._refusal(
                    f"episode {episode} has {len(parts[episode])} observations and "
                    f"{lengths[episode]} actions; expected as many observations as actions, "
                    "or one more"
                )
            if extra != extra_rows[0]:
                raise self._refusal(
                    f"episode {episode} has {len(parts[episode])} observations for "
                    f"{lengths[episode]} actions, episode 0 has {len(parts[0])} for {lengths[0]}; "
                    "keep the final observation of every episode, or of none"
                )
        if extra_rows[0] == 0:
            if 0 in lengths:
                raise self._refusal(f"episode {lengths.index(0)} is empty: remove it")
            parts = [np.concatenate([part, part[-1:]]) for part in parts]
            self.changes.append({"operation": "repeat_last_observation_as_final"})
        return self._concatenated(field, parts)

    def _parts(self, field: TensorField, episodes: EpisodeArrays) -> list[NDArray[Any]]:
        parts = []
        for episode, values in enumerate(episodes):
            where = f"{field.name} of episode {episode}"
            try:
                array = np.asarray(values)
            except ValueError as error:  # nested lists of unequal lengths
                raise self._refusal(f"{where} is not a rectangular array: {error}") from None
            if field.row == "episode":
                array = array[np.newaxis]
            self._check_kind(field, array, where)
            parts.append(self._cast(field, array, where))
        return parts

    def _check_kind(self, field: TensorField, array: NDArray[Any], where: str) -> None:
        if array.dtype.kind == "O":
            raise self._refusal(
                f"{where} is an object array, which would need pickle to store or read; "
                "save plain numbers: np.asarray(values, dtype=np.float32)"
            )
        if array.dtype.kind not in ("fiub" if field.dtypes[0] == torch.bool else "fiu"):
            raise self._refusal(f"{where} is {array.dtype}, expected real numbers")
        if array.ndim != field.num_axes:
            expected = "[steps, columns]" if field.num_axes == 2 else "[steps]"
            is_discrete = "actions" in field.name and array.ndim == 1 and array.dtype.kind in "iu"
            hint = "; actions must be continuous vectors (a Box space)" if is_discrete else ""
            raise self._refusal(f"{where} has shape {array.shape}, expected {expected}{hint}")

    def _cast(self, field: TensorField, array: NDArray[Any], where: str) -> NDArray[Any]:
        """A copy in the record's dtype: it must not change with the caller's array."""
        if field.dtypes[0] == torch.bool:
            flags = array.astype(np.bool_)
            if not np.array_equal(flags, array):
                raise self._refusal(f"{where} holds values other than 0 and 1")
            return flags
        kept = [_NUMPY_DTYPES[dtype] for dtype in field.dtypes]
        # Networks read float32, also where the record holds more.
        read = np.float32 if field.dtypes[0] == torch.float32 else _NUMPY_DTYPES[field.dtypes[0]]
        with np.errstate(over="ignore", invalid="ignore"):  # invalid: some NaN say so when cast
            cast = array.astype(array.dtype.type if array.dtype.type in kept else kept[0])
            lost = np.isfinite(array) & ~np.isfinite(cast.astype(read, copy=False))
        if lost.any():
            position = tuple(int(index) for index in np.argwhere(lost)[0])
            raise self._refusal(
                f"{where} is {array[position]} at {position}: too large for {np.dtype(read)}"
            )
        if array.dtype.type != cast.dtype.type:
            self.casts[field.name] = f"{array.dtype.name} -> {cast.dtype.name}"
        return cast

    def _concatenated(self, field: TensorField, parts: list[NDArray[Any]]) -> Tensor:
        for episode, part in enumerate(parts):
            if part.shape[1:] != parts[0].shape[1:]:
                raise self._refusal(
                    f"{field.name} of episode {episode} has shape {part.shape}, of episode 0 "
                    f"{parts[0].shape}: the number of columns differs"
                )
        return torch.from_numpy(np.concatenate(parts))

    def _refusal(self, message: str) -> DataError:
        return DataError(f"{self.source}: {message}")


def _check_counts(arrays: Mapping[str, EpisodeArrays], source: str) -> None:
    num_episodes = len(arrays["executed_actions"])
    if num_episodes == 0:
        raise DataError(f"{source}: no episodes; at least one is needed")
    for name, episodes in arrays.items():
        if len(episodes) != num_episodes:
            raise DataError(
                f"{source}: {name} has {len(episodes)} episodes, executed_actions {num_episodes}"
            )


def _last_steps(lengths: list[int]) -> Tensor:
    """[steps] bool: True on the last step of every episode."""
    is_last = np.zeros(sum(lengths), dtype=np.bool_)
    for end in np.cumsum(lengths):
        is_last[end - 1 : end] = True
    return torch.from_numpy(is_last)
