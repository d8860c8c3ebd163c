"""Numpy `.npz` files: arrays flat over all episodes, or stacked [episodes, steps, ...]."""

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.demos.formats.layout import NAMES, Arrays, flat_arrays
from spacil.errors import DataError

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations


def read_arrays(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays whose names mean something here; the others are listed."""
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path}: not an npz file, which is a zip archive of arrays; no pickle")
    with np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files if name in NAMES}
        return found, {"ignored": sorted(set(file.files) - set(found))[:100]}


def read_npz(path: Path) -> tuple[Arrays, dict[str, Any]]:
    found, notes = read_arrays(path)
    return flat_arrays(found, notes["ignored"], path), notes


def write_npz(demos: "Demonstrations", path: Path) -> None:
    from spacil import storage

    arrays = {name: tensor.numpy() for name, tensor in demos.tensors().items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    storage.replace_file(path, buffer.getvalue())
