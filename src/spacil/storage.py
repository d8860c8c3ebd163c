"""Files: the one place where spacil reads and writes them.

JSON carries documents, safetensors carries tensors, and there is no third format. A write is
all or nothing: it goes to a scratch name in the same folder, to the disk, and then under its
name, so a kill or a power loss leaves the old content or the new one. A read trusts nothing:
sizes are checked before memory is taken, and what does not fit is a typed error.

This module never unpickles, never opens a path that it found inside a file, never writes over
a file in place, and never lets an `OSError` out.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import logging
import math
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import safetensors.torch
import torch
from torch import Tensor

from spacil.errors import SpacilError, StorageError

MAX_JSON_BYTES = 16 * 2**20
MAX_JSON_DEPTH = 32
MAX_TENSOR_BYTES = 8 * 2**30

_STAGE, _TRASH, _SCRATCH = ".stage-", ".trash-", ".tmp-"
LEFTOVERS = (_STAGE, _TRASH, _SCRATCH)
"""How names start that mean nothing once their process is gone."""

_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}

_FOREIGN_KINDS = {
    b"\x80": "a pickle",
    b"PK": "a zip archive, as torch.save and numpy write",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a numpy array",
}

_logger = logging.getLogger(__name__)


class DamagedFileError(StorageError):
    """A file is missing, cut short, altered or of another kind: reading it again will not help."""


# --- errors -----------------------------------------------------------------------------------


def describe(error: OSError, action: str, path: Path, num_bytes: int | None = None) -> str:
    """What could not be done, where, why, and what to do about it."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            needed = "" if num_bytes is None else f" ({num_bytes:,} bytes needed)"
            reason = f"the disk is full{needed}; free some space and run the command again"
        case errno.EFBIG:
            needed = "" if num_bytes is None else f" of {num_bytes:,} bytes"
            reason = f"a file{needed} is over the limit of this system; see `ulimit -f`"
        case errno.EACCES | errno.EPERM:
            reason = "permission denied; change its permissions or choose another path"
        case errno.EROFS:
            reason = "the file system is read-only; choose another path"
        case errno.ENAMETOOLONG:
            reason = "a name in it is too long (255 bytes at most); choose a shorter one"
        case errno.EEXIST:
            reason = "something of that name is in the way; choose another path"
        case errno.ENOTDIR:
            reason = "a part of it is a file, not a folder; choose another path"
        case errno.ENOENT:
            reason = "there is no such file or folder; check the path"
        case errno.ELOOP:
            reason = "it is a symbolic link, which is not followed here"
        case _:
            reason = f"{error.strerror or error}; check the disk and run the command again"
    return f"cannot {action} {str(path)!r}: {reason}"


@contextlib.contextmanager
def os_errors_as(
    kind: type[SpacilError], action: str, path: Path, num_bytes: int | None = None
) -> Iterator[None]:
    """Turn an `OSError` of the block into the typed error `kind`."""
    try:
        yield
    except OSError as error:
        raise kind(describe(error, action, path, num_bytes)) from error


# --- JSON -------------------------------------------------------------------------------------


def canonical_json(document: Any) -> bytes:
    """The one way to write a document: sorted keys, ASCII, floats that read back exactly.

    What the reader would refuse or change (NaN, deep nesting, keys that are not text, more than
    16 MB) is a `ValueError` here, so nothing is saved that cannot be loaded.
    """
    text = json.dumps(document, sort_keys=True, indent=2, allow_nan=False) + "\n"
    _check_nesting(document)
    if len(text) > MAX_JSON_BYTES:
        raise ValueError(f"a JSON document of {len(text):,} bytes is over {MAX_JSON_BYTES:,}")
    return text.encode("ascii")


def parse_json(data: bytes | bytearray, source: object) -> Any:
    """Strict JSON: UTF-8, finite numbers, no key twice, bounded size and depth."""
    if len(data) > MAX_JSON_BYTES:
        raise DamagedFileError(f"{source}: {len(data):,} bytes of JSON, over {MAX_JSON_BYTES:,}")
    try:
        document = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            object_pairs_hook=_unique_keys,
        )
        _check_nesting(document)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{source}: not valid JSON{_kind_hint(data)}: {error}") from None
    return document


def write_json(path: Path, document: Any) -> None:
    replace_file(path, canonical_json(document))


def read_json(path: Path, *, follow_symlinks: bool = True) -> Any:
    return parse_json(read_bytes(path, MAX_JSON_BYTES, follow_symlinks=follow_symlinks), path)


def document_hash(document: Any) -> str:
    return hashlib.sha256(canonical_json(document)).hexdigest()


def _check_nesting(document: Any) -> None:
    level, depth = [document], 0
    while containers := [node for node in level if isinstance(node, dict | list | tuple)]:
        depth += 1
        if depth > MAX_JSON_DEPTH:
            raise ValueError(f"nested deeper than {MAX_JSON_DEPTH} levels")
        level = []
        for container in containers:
            level += container.values() if isinstance(container, dict) else container
            if isinstance(container, dict) and not all(isinstance(key, str) for key in container):
                raise ValueError("a key is not text, and would be text when read back")


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # 1e999 is valid JSON and infinite in floating point
        raise ValueError(f"{text} is too large a number")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key occurs twice")
    return mapping


# --- whole files ------------------------------------------------------------------------------


def read_bytes(path: Path, max_bytes: int, *, follow_symlinks: bool = True) -> bytearray:
    """The content of a regular file of at most `max_bytes`; the size is checked before reading."""
    # O_NONBLOCK: a named pipe would block the open, before its kind can be seen and refused.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if not follow_symlinks:
        flags |= os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DamagedFileError(f"{str(path)!r} is not a regular file")
            if status.st_size > max_bytes:
                raise DamagedFileError(
                    f"{str(path)!r} has {status.st_size:,} bytes, {max_bytes:,} at most expected"
                )
            content = bytearray(status.st_size)
            if file.readinto(content) != len(content):
                raise DamagedFileError(f"{str(path)!r} became shorter while it was read")
            return content
    except OSError as error:
        # Other reasons (no permission, no descriptors left) say nothing about the file itself.
        of_the_file = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO}
        kind = DamagedFileError if error.errno in of_the_file else StorageError
        raise kind(describe(error, "read", path)) from error


def sha256_of_file(path: Path) -> str:
    with os_errors_as(StorageError, "read", path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_synced(path: Path, content: bytes) -> None:
    """A new file, on the disk when this returns. Only for names that nobody reads yet."""
    with os_errors_as(StorageError, "write", path, len(content)), path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file such that every reader, at every moment, sees the old one or the new one."""
    scratch = path.with_name(f"{_SCRATCH}{uuid.uuid4().hex}")
    try:
        with os_errors_as(StorageError, "write", path, len(content)), scratch.open("xb") as file:
            _mark_alive(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            scratch.replace(path)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power loss."""
    with os_errors_as(StorageError, "write", folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
                raise
        finally:
            os.close(descriptor)


def require_free_space(folder: Path, num_bytes: int) -> None:
    with os_errors_as(StorageError, "look at the disk of", folder):
        free = shutil.disk_usage(folder).free
    if free < num_bytes:
        raise StorageError(
            f"the disk of {str(folder)!r} is full: {num_bytes:,} bytes needed, {free:,} free; "
            "free some space and run the command again"
        )


# --- folders ----------------------------------------------------------------------------------


@contextlib.contextmanager
def staged_folder(parent: Path) -> Iterator[Path]:
    """A hidden folder to fill and then `publish`; deleted at the end if that did not happen."""
    stage = parent / f"{_STAGE}{uuid.uuid4().hex}"
    with os_errors_as(StorageError, "create a folder in", parent):
        stage.mkdir()
        descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _mark_alive(descriptor)
        yield stage
    finally:
        os.close(descriptor)
        shutil.rmtree(stage, ignore_errors=True)


def publish(stage: Path, target: Path) -> None:
    """Give a staged folder its final, new name. Its files have been written by `write_synced`."""
    # rename would replace an empty folder without a word
    if os.path.lexists(target):
        raise StorageError(f"{str(target)!r} exists already and is not written over")
    sync_folder(stage)
    with os_errors_as(StorageError, "publish", target):
        stage.rename(target)
    sync_folder(target.parent)


def move_aside(path: Path, prefix: str = _TRASH) -> Path:
    """Rename to a hidden name in the same folder: gone for readers in one step."""
    hidden = path.with_name(f"{prefix}{path.name}-{uuid.uuid4().hex[:8]}")
    with os_errors_as(StorageError, "rename", path):
        path.rename(hidden)
    sync_folder(path.parent)
    return hidden


def delete(path: Path) -> None:
    """Delete a file, a link (never what it points to) or a folder."""
    with os_errors_as(StorageError, "delete", path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sweep_abandoned(folder: Path) -> None:
    """Delete what killed processes left half written or half deleted; living ones hold a lock."""
    with os_errors_as(StorageError, "list", folder):
        leftovers = [p for p in folder.iterdir() if p.name.startswith(LEFTOVERS)]
    for leftover in leftovers:
        try:
            if _is_abandoned(leftover):
                delete(leftover)
        except StorageError as error:
            _logger.warning("left in place: %s", error)


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file until it is closed or its process dies; False if taken."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _mark_alive(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # without locks nothing is swept, which is safe
        try_lock(descriptor)


def _is_abandoned(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return try_lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)


# --- tensors ----------------------------------------------------------------------------------


class _Span(NamedTuple):
    """Where in the payload a tensor lies, as the header declares it."""

    start: int
    stop: int
    name: str
    dtype: torch.dtype
    shape: list[int]


def encode_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Safetensors. Equal tensors give equal bytes: no metadata, whose order is not fixed."""
    for name, tensor in tensors.items():
        if tensor.dtype not in _DTYPES.values():
            raise TypeError(f"tensor {name!r} has dtype {tensor.dtype}, which is never stored")
    # Clones: the library refuses views of one storage, which a caller may well hold.
    dense = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return safetensors.torch.save(dense)


def decode_tensors(content: bytearray, source: object) -> dict[str, Tensor]:
    """The tensors of a safetensors file, each in memory of its own.

    Checked here and not by the library, which lets duplicate names pass and answers odd types
    and shapes with a `KeyError` or a `TypeError`.
    """
    header_size = int.from_bytes(content[:8], "little")
    if content[8:9] != b"{" or header_size > min(MAX_JSON_BYTES, len(content) - 8):
        raise DamagedFileError(f"{source}: not a safetensors file{_kind_hint(content)}")
    header = parse_json(content[8 : 8 + header_size], f"{source}, header")
    header.pop("__metadata__", None)
    spans = sorted(_declared_span(name, entry, source) for name, entry in header.items())
    ends = [0, *(span.stop for span in spans)]
    num_payload_bytes = len(content) - 8 - header_size
    if [span.start for span in spans] != ends[:-1] or ends[-1] != num_payload_bytes:
        raise DamagedFileError(f"{source}: the declared tensors do not fill the file exactly")
    payload = memoryview(content)[8 + header_size :]
    return {span.name: _tensor_at(payload, span) for span in spans}


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    replace_file(path, encode_tensors(tensors))


def load_tensors(path: Path) -> dict[str, Tensor]:
    return decode_tensors(read_bytes(path, MAX_TENSOR_BYTES), path)


def content_hash(tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> str:
    """SHA-256 over the document and the name, dtype, shape and bytes of every tensor."""
    digest = hashlib.sha256(canonical_json(document))
    for name, tensor in sorted(tensors.items()):
        digest.update(canonical_json([name, str(tensor.dtype), list(tensor.shape)]))
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _declared_span(name: str, entry: Any, source: object) -> _Span:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(start), int(stop)]}:
            is_known = dtype in _DTYPES and all(type(size) is int and size >= 0 for size in shape)
            # The product without zeros bounds the strides of an empty tensor as well.
            is_small = is_known and math.prod(size or 1 for size in shape) <= MAX_TENSOR_BYTES
            if is_small and stop - start == math.prod(shape) * _DTYPES[dtype].itemsize:
                return _Span(start, stop, name, _DTYPES[dtype], shape)
    raise DamagedFileError(f"{source}: the entry of tensor {name!r} is not valid")


def _tensor_at(payload: memoryview, span: _Span) -> Tensor:
    if span.start == span.stop:
        return torch.empty(span.shape, dtype=span.dtype)
    raw = torch.frombuffer(payload[span.start : span.stop], dtype=torch.uint8)
    # The clone lies in torch's own aligned memory: at another alignment a matrix product may
    # sum in another order, and a resumed run would no longer repeat bit for bit.
    return raw.clone().view(span.dtype).reshape(span.shape)


def _kind_hint(content: bytes | bytearray) -> str:
    for magic, kind in _FOREIGN_KINDS.items():
        if content.startswith(magic):
            return f" (it looks like {kind}, which is never opened)"
    return ""
