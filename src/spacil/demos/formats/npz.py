"""Numpy `.npz` files, in and out.

Arrays flat over all episodes or stacked [episodes, steps, ...], under the names of `flat_layout`.
Arrays of other names are not read, and listed in the provenance.
"""

import io
import zipfile
from pathlib import Path

import numpy as np

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.formats.flat_layout import ALIASES, by_field_name, per_episode
from spacil.demos.formats.npz_archive import SEAL
from spacil.demos.metadata import DemoMetadata
from spacil.demos.seal import imported, seal
from spacil.errors import DataError, StorageError
from spacil.file_kinds import foreign_kind
from spacil.sandbox.parent import read_foreign

READER = "spacil.demos.formats.npz_archive:read_npz"


def import_npz(path: Path) -> Demonstrations:
    """Demonstrations from an npz file of anyone."""
    _require_zip(path)
    found, notes = read_foreign(READER, path)
    document = found.pop(SEAL, None)
    arrays = by_field_name(found, ALIASES, str(path), notes["ignored"])
    episodes = per_episode(arrays, str(path))
    change = {"operation": "import_npz", "file": path.name}
    if notes["ignored"]:
        change["ignored_arrays"] = notes["ignored"]
    text = None if document is None else document.tobytes()
    return imported(episodes, text, DemoMetadata(), change, str(path))


def export_npz(demos: Demonstrations, path: Path) -> None:
    """An npz file that `import_npz` and plain `numpy.load` read."""
    arrays = {name: tensor.numpy() for name, tensor in demos.tensors().items()}
    arrays[SEAL] = np.frombuffer(seal(demos), dtype=np.uint8)
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
