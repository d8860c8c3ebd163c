"""Numpy `.npz` files, in and out.

The names that people use are understood (`observations`, `obs`, `states`; `actions`, `acts`; ...),
flat over all episodes or stacked [episodes, steps, ...]. Where episodes end must be told, never
guessed: by `episode_lengths`, or by flags. Arrays of other names are not read, and listed in the
provenance.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.data.demo_arrays import EpisodeArrays
from spacil.data.demo_metadata import DemoMetadata
from spacil.data.demos import Demonstrations
from spacil.data.formats.npz_archive import read_npz
from spacil.errors import DataError, StorageError
from spacil.file_kinds import foreign_kind

_METADATA = "metadata_json"
"""Our own exports carry their metadata as JSON text in an array of bytes."""

_ALIASES = {
    "observations": "observations",
    "obs": "observations",
    "states": "observations",
    "actions": "actions",
    "acts": "actions",
    "executed_actions": "executed_actions",
    "rewards": "rewards",
    "terminations": "terminations",
    "terminals": "terminations",
    "truncations": "truncations",
    "timeouts": "truncations",
    "episode_lengths": "episode_lengths",
    "initial_qpos": "initial_qpos",
    "initial_qvel": "initial_qvel",
    _METADATA: _METADATA,
}

_PER_STEP = ("actions", "executed_actions", "rewards", "terminations", "truncations")


def import_npz(path: Path) -> Demonstrations:
    """Demonstrations from an npz file of anyone."""
    _require_zip(path)
    found, ignored = read_npz(path, _ALIASES)
    arrays = _by_field_name(found, path)
    metadata = _metadata(arrays.pop(_METADATA, None), path)
    details = {"ignored_arrays": list(ignored)} if ignored else {}
    metadata = metadata.with_change("import_npz", file=path.name, **details)
    return Demonstrations.from_named_arrays(_per_episode(arrays, path), metadata, str(path))


def export_npz(demos: Demonstrations, path: Path) -> None:
    """An npz file that `import_npz` and plain `numpy.load` read."""
    arrays = {name: tensor.numpy() for name, tensor in demos.tensors().items()}
    document = storage.canonical_json(demos.metadata.as_document())
    arrays[_METADATA] = np.frombuffer(document, dtype=np.uint8)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    storage.replace_file(path, buffer.getvalue())


def _require_zip(path: Path) -> None:
    with storage.os_errors_as(StorageError, "read", path), path.open("rb") as file:
        head = file.read(16)
    if not head.startswith(b"PK"):
        raise DataError(f"{path}: not an npz file; {foreign_kind(head) or 'it is damaged'}")


def _by_field_name(found: Mapping[str, NDArray[Any]], path: Path) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in found.items():
        field = _ALIASES[name]
        if field in arrays:
            raise DataError(f"{path}: two arrays mean {field}, one of them '{name}'; keep one")
        arrays[field] = array
    # Alone, `actions` are those that were executed; beside executed_actions they are the raw ones.
    if "actions" in arrays and "executed_actions" not in arrays:
        arrays["executed_actions"] = arrays.pop("actions")
    for field, names in (("observations", "obs, states"), ("executed_actions", "actions, acts")):
        if field not in arrays:
            raise DataError(f"{path}: has no {field} (or {names}); it has {sorted(found)}")
    return arrays


def _metadata(text: NDArray[Any] | None, path: Path) -> DemoMetadata:
    if text is None:
        return DemoMetadata()
    try:
        document = storage.parse_json(text.tobytes(), f"{path}, {_METADATA}")
        return DemoMetadata(**document)
    except (storage.DamagedFileError, TypeError) as error:
        raise DataError(f"{path}: {_METADATA} is not valid: {error}") from None


def _per_episode(arrays: dict[str, NDArray[Any]], path: Path) -> dict[str, EpisodeArrays]:
    """Cut every array into episodes, by what the file says about where they end."""
    for name, array in arrays.items():
        if array.ndim == 0:
            raise DataError(f"{path}: {name} is a single number, expected one row per step")
    is_stacked = arrays["executed_actions"].ndim == 3 and "episode_lengths" not in arrays
    if is_stacked:
        return {name: list(array) for name, array in arrays.items()}
    lengths = _episode_lengths(arrays, path)
    num_steps = len(arrays["executed_actions"])
    num_rows = dict.fromkeys(_PER_STEP, num_steps)
    has_final = len(arrays["observations"]) == num_steps + len(lengths)
    num_rows["observations"] = num_steps + len(lengths) if has_final else num_steps
    cut: dict[str, EpisodeArrays] = {}
    for name, array in arrays.items():
        if name == "episode_lengths":
            continue
        if name not in num_rows:
            cut[name] = list(array)
            continue
        if len(array) != num_rows[name]:
            raise DataError(
                f"{path}: {name} has shape {array.shape}, executed actions "
                f"{arrays['executed_actions'].shape} in {len(lengths)} episodes: expected "
                f"{num_rows[name]} rows"
                + (f" or {num_steps + len(lengths)}" if name == "observations" else "")
            )
        rows = lengths + 1 if name == "observations" and has_final else lengths
        cut[name] = np.split(array, np.cumsum(rows)[:-1])
    return cut


def _episode_lengths(arrays: Mapping[str, NDArray[Any]], path: Path) -> NDArray[np.int64]:
    num_steps = len(arrays["executed_actions"])
    if "episode_lengths" in arrays:
        return _stated_lengths(arrays["episode_lengths"], num_steps, path)
    flags = [arrays[name] for name in ("terminations", "truncations") if name in arrays]
    if flags:
        if any(flag.shape != (num_steps,) for flag in flags):
            shapes = [flag.shape for flag in flags]
            raise DataError(f"{path}: the flags have shapes {shapes}, expected ({num_steps},)")
        last_steps = np.flatnonzero(np.any(np.stack(flags) != 0, axis=0))
        ends = np.union1d(last_steps + 1, [num_steps])  # the last episode may end without a flag
        return np.diff(ends, prepend=0)
    if len(arrays["observations"]) == num_steps + 1:
        return np.array([num_steps])
    raise DataError(
        f"{path}: does not say where episodes end; add episode_lengths, "
        "or terminations and truncations (terminals and timeouts)"
    )


def _stated_lengths(lengths: NDArray[Any], num_steps: int, path: Path) -> NDArray[np.int64]:
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise DataError(
            f"{path}: episode_lengths is {lengths.dtype} of shape {lengths.shape}, "
            "expected one integer per episode"
        )
    # In Python integers: numpy's would wrap round on hostile ones.
    total = sum(lengths.tolist())
    if total != num_steps or any(length < 0 for length in lengths.tolist()):
        raise DataError(
            f"{path}: episode_lengths add up to {total}, but there are {num_steps} actions"
        )
    return lengths.astype(np.int64)
