"""HDF5 files in D4RL's layout, in and out.

All episodes one after the other: `observations`, `actions`, `rewards`, `terminals`, `timeouts`,
with as many observations as actions, and `next_observations` where the final ones are known.
`actions` are those that were executed. Our exports add `infos/raw_actions` and, under `metadata`,
what D4RL has no place for; they are checksummed by HDF5 itself.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import has_repeated_finals, with_flagged_ends
from spacil.demos.formats.d4rl_names import ALIASES, SEAL
from spacil.demos.formats.flat_layout import by_field_name, per_episode
from spacil.demos.formats.hdf5_archive import load_library
from spacil.demos.metadata import DemoMetadata
from spacil.demos.seal import imported, seal
from spacil.demos.selection import acted_rows
from spacil.sandbox.parent import read_foreign

READER = "spacil.demos.formats.hdf5_archive:read_d4rl"


def import_d4rl(path: Path) -> Demonstrations:
    """Demonstrations from an HDF5 file of anyone in this layout."""
    found, notes = read_foreign(READER, path)
    document = found.pop(SEAL, None)
    arrays = by_field_name(found, ALIASES, str(path), notes["ignored"])
    if "raw_actions" in arrays:
        arrays["actions"] = arrays.pop("raw_actions")
    change = {"operation": "import_d4rl", "file": path.name}
    if notes["ignored"]:
        change["ignored_arrays"] = notes["ignored"]
    text = None if document is None else document.tobytes()
    return imported(per_episode(arrays, str(path)), text, DemoMetadata(), change, str(path))


def export_d4rl(demos: Demonstrations, path: Path) -> None:
    """An HDF5 file that `import_d4rl` and readers of D4RL's layout understand.

    Such readers cut episodes by their flags, so an end without one counts as a timeout.
    """
    demos = with_flagged_ends(demos)
    rows = acted_rows(demos.episode_lengths)
    arrays: dict[str, NDArray[Any]] = {
        "observations": demos.observations[rows].numpy(),
        "actions": demos.executed_actions.numpy(),
        "terminals": demos.terminations.numpy(),
        "timeouts": demos.truncations.numpy(),
        "metadata/episode_lengths": demos.episode_lengths.numpy(),
        SEAL: np.frombuffer(seal(demos), dtype=np.uint8),
    }
    if demos.next_observations is not None:
        final_rows = (demos.episode_lengths + 1).cumsum(0) - 1
        arrays["metadata/final_observations"] = demos.observations[final_rows].numpy()
        arrays["next_observations"] = demos.next_observations.numpy()
    elif not has_repeated_finals(demos):
        arrays["next_observations"] = demos.observations[rows + 1].numpy()
    for name, tensor in (
        ("rewards", demos.rewards),
        ("infos/raw_actions", demos.actions),
        ("metadata/next_is_terminal", demos.next_is_terminal),
        ("metadata/initial_qpos", demos.initial_qpos),
        ("metadata/initial_qvel", demos.initial_qvel),
    ):
        if tensor is not None:
            arrays[name] = tensor.numpy()
    storage.replace_file(path, hdf5_bytes(arrays))


def hdf5_bytes(arrays: dict[str, NDArray[Any]], attributes: dict[str, Any] | None = None) -> bytes:
    """An HDF5 file with a checksum on every array and, by its format version, on its structure.

    `attributes` are integers by "group/name".
    """
    h5py = load_library()
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver="v110") as file:
        for name, array in arrays.items():
            has_chunks = array.size > 0
            file.create_dataset(name, data=array, chunks=has_chunks or None, fletcher32=has_chunks)
        for name, value in (attributes or {}).items():
            group, _, attribute = name.rpartition("/")
            file[group].attrs[attribute] = value
    return buffer.getvalue()
