"""ONNX in two files, as torch writes it: `model.onnx`, and its weights in `model.onnx.data`.

The second file is read here, and not by onnxruntime, whose search for it a hostile file could
steer: only a regular file, no link, under a plain name, beside the first, and exactly as large as
the first says. No torch here: the sandbox's child imports this module.
"""

import errno
import math
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

from spacil.errors import ConfigError, DataError
from spacil.file_sizes import bytes_on_disk, is_inflated
from spacil.policies import onnx_graph
from spacil.policies.onnx_probe import try_content

_REMEDY = "copy both files together, or export with the weights inside (external_data=False)"
_ITEM_BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}
"""By TensorProto.DataType; text and types of less than a byte are not among them"""


def is_plain_name(name: str) -> bool:
    """Whether a name in a file is that of a file beside it, and nothing else."""
    return name.isprintable() and name not in ("", ".", "..") and not set(name) & set("/\\:")


def load_library() -> Any:
    onnx_graph.load_library(Path("ONNX"))
    try:
        import onnx
    except ImportError:
        raise ConfigError(
            "reading ONNX with its weights in a second file needs onnx: pip install "
            "'spacil[export]'"
        ) from None
    return onnx


def join(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model with all weights inside, as the bytes of one file, after it was tried."""
    model = load_library().load_model_from_string(path.read_bytes())
    outside = [tensor for tensor in model.graph.initializer if tensor.data_location == 1]
    if outside:
        _fill(outside, path)
    content = model.SerializeToString(deterministic=True)
    try_content(content, path)
    return {"model": np.frombuffer(content, np.uint8)}, {}


def _fill(tensors: list[Any], path: Path) -> None:
    """Put the bytes of the second file into the tensors that name it."""
    places = [_place_of(tensor, path) for tensor in tensors]
    names = {name for name, _, _ in places}
    if len(names) > 1:
        raise DataError(f"{path}: its weights are in {len(names)} other files; save them in one")
    (name,) = names
    data = _content(path, name)
    declared = max(stop for _, _, stop in places)
    if declared != len(data):
        raise DataError(
            f"{path}: its weights end at byte {declared:,} of {name!r}, which has {len(data):,} "
            f"bytes: it was cut short or belongs to another model; {_REMEDY}"
        )
    for tensor, (_, start, stop) in zip(tensors, places, strict=True):
        tensor.raw_data = data[start:stop]
        tensor.data_location = 0
        del tensor.external_data[:]


def _place_of(tensor: Any, path: Path) -> tuple[str, int, int]:
    """The file that holds a tensor, and from which byte to which."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    name = entries.get("location", "")
    if not is_plain_name(name) or name == path.name:
        raise DataError(
            f"{path}: says that its weights are in {name[:100]!r}: only another file beside it, "
            f"under a plain name, is opened; {_REMEDY}"
        )
    try:
        needed = math.prod(tensor.dims) * _ITEM_BYTES[tensor.data_type]
        start, length = int(entries.get("offset", "0")), int(entries.get("length", str(needed)))
    except (KeyError, ValueError):
        start = length = needed = -1
    if start < 0 or length < 0 or length != needed or any(size < 0 for size in tensor.dims):
        raise DataError(
            f"{path}: the entry of {tensor.name[:100]!r} is not valid: {list(tensor.dims)} numbers "
            f"of type {tensor.data_type} at {str(entries)[:200]}"
        )
    return name, start, start + length


def _content(path: Path, name: str) -> bytes:
    """The second file, opened without following a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path.parent / name, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DataError(f"{path}: its weights are in {name!r}, which is no regular file")
            if is_inflated(status.st_size, bytes_on_disk(status)):
                raise DataError(f"{path}: {name!r} beside it is mostly holes, and is not read")
            return file.read()
    except OSError as error:
        reason = {
            errno.ENOENT: "which is not beside it",
            errno.ELOOP: "which is a link, and none is followed",
        }.get(error.errno or 0, f"which cannot be read: {os.strerror(error.errno or 0)}")
        raise DataError(f"{path}: its weights are in {name!r}, {reason}; {_REMEDY}") from None
