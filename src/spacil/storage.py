"""Files: the one place where spacil reads and writes them.

JSON holds documents, safetensors holds tensors, and there is no third format. A write goes to a
scratch name in the same folder, is synced, and only then gets its name, so a kill or a power loss
leaves either the old content or the new. A read checks sizes before memory is allocated.

This module never unpickles, never opens a path that it found inside a file, and never lets an
`OSError` escape.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from spacil.errors import DataError, SpacilError, StorageError

MAX_JSON_BYTES = 16 * 2**20
MAX_TENSOR_BYTES = 8 * 2**30

_METADATA_KEY = "spacil"
_SCRATCH = re.compile(r"\.tmp-[0-9a-f]{32}")
_NUM_STANDARD_STREAMS = 3
_REASONS = {
    errno.EACCES: "permission denied; change its permissions or choose another path",
    errno.EPERM: "permission denied; change its permissions or choose another path",
    errno.EROFS: "the file system is read-only; choose another path",
    errno.ENAMETOOLONG: "a name in it is too long (255 bytes at most); choose a shorter one",
    errno.EEXIST: "something with that name already exists; choose another path",
    errno.ENOTDIR: "part of the path is a file, not a folder; choose another path",
    errno.EISDIR: "it is a folder, not a file; check the path",
    errno.ENOENT: "there is no such file or folder; check the path",
    errno.ELOOP: "it is a symbolic link, which is not followed here",
}
_OTHER_KINDS = {
    b"PK": "a zip archive: name it .npz if numpy wrote it; torch.save files hold pickles and are "
    "never opened",
    b"\x89HDF": "an HDF5 file: name it .hdf5 if it has D4RL's layout",
    b"\x93NUMPY": "a single numpy array: put observations and actions into one file with np.savez",
    b"\x80": "a pickle, which can run code and is never opened: load it where you trust it and "
    "save plain arrays: save_demos(Demonstrations.from_arrays(observations, actions), path)",
}
"""First bytes of other files -> what they look like, and what to do with them"""


class DamagedFileError(StorageError):
    """A file is missing, truncated, altered or of another kind: reading it again will not help."""


# --- errors of the system, in words


def describe(error: OSError, action: str, path: Path, num_bytes: int | None = None) -> str:
    """Say what could not be done, where, why, and what to do about it."""
    needed = "" if num_bytes is None else f" ({num_bytes:,} bytes needed)"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = f"the disk is full{needed}; free some space and run the command again"
    elif error.errno == errno.EFBIG:
        size = "" if num_bytes is None else f" of {num_bytes:,} bytes"
        reason = f"a file{size} exceeds the limit of this system; see `ulimit -f`"
    else:
        other = f"{error.strerror or error}; check the disk and run the command again"
        reason = _REASONS.get(error.errno or 0, other)
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


# --- whole files


def open_descriptor(path: Path, flags: int) -> int:
    """Open a file of ours to keep it open: never through a link, never as a standard stream.

    A process that was started with its output closed gets number 1 or 2 for the next file it opens,
    and whatever prints then writes into that file.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o666)
    if descriptor >= _NUM_STANDARD_STREAMS:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _NUM_STANDARD_STREAMS)
    finally:
        os.close(descriptor)


def read_bytes(
    path: Path, max_bytes: int, *, follow_symlinks: bool = True, cut: int | None = None
) -> bytearray:
    """Read a regular file of at most `max_bytes`, or its first `cut` bytes; its size is checked."""
    # O_NONBLOCK: a named pipe would block the open, before its kind can be seen and refused.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(path, flags if follow_symlinks else flags | os.O_NOFOLLOW)
        with os.fdopen(opened, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DamagedFileError(f"{str(path)!r} is not a regular file")
            if status.st_size > max_bytes:
                raise DamagedFileError(
                    f"{str(path)!r} has {status.st_size:,} bytes, expected at most {max_bytes:,}"
                )
            content = bytearray(min(status.st_size, cut or status.st_size))
            if file.readinto(content) != len(content):
                raise DamagedFileError(f"{str(path)!r} became shorter while it was being read")
            return content
    except OSError as error:
        # Other reasons (no permission, no descriptors left) say nothing about the file itself.
        of_the_file = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO}
        kind = DamagedFileError if error.errno in of_the_file else StorageError
        raise kind(describe(error, "read", path)) from error


def replace_file(path: Path, content: bytes, confirm: Callable[[], object] | None = None) -> None:
    """Write a file so that every reader, at every moment, sees either the old or the new one.

    `confirm` is called right before the file gets its name, and may raise.
    """
    scratch = path.with_name(f".tmp-{uuid.uuid4().hex}")
    try:
        with os_errors_as(StorageError, "write", path, len(content)), scratch.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if confirm is not None:
                confirm()
            scratch.replace(path)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
    sync_folder(path.parent)


def require_free(path: str | Path, *, overwrite: bool) -> None:
    """Refuse to write over what is there already, a link to nothing included."""
    if not overwrite and os.path.lexists(path):
        raise StorageError(
            f"{str(path)!r} exists already: --overwrite replaces it, another name leaves it alone"
        )


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


@contextlib.contextmanager
def new_folder(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a hidden folder to fill, which gets its name when the block ends without an error."""
    stage = target.with_name(f".tmp-{uuid.uuid4().hex}")
    former = stage.with_name(f".tmp-{uuid.uuid4().hex}")
    if not replace and os.path.lexists(target):
        raise StorageError(f"{str(target)!r} already exists and is never overwritten")
    try:
        with os_errors_as(StorageError, "write", target):
            stage.mkdir()
            yield stage
            sync_folder(stage)
            if os.path.lexists(target):
                target.rename(former)
            stage.rename(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        shutil.rmtree(former, ignore_errors=True)


def is_leftover(name: str) -> bool:
    """Tell whether a name is one that a write makes up, which a kill may leave behind."""
    return _SCRATCH.fullmatch(name) is not None


def require_free_space(folder: Path, num_bytes: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    with os_errors_as(StorageError, "check the free space of", folder):
        free = shutil.disk_usage(folder).free
    if free < num_bytes:
        raise StorageError(
            f"not enough disk space for {str(folder)!r}: {num_bytes:,} bytes needed, {free:,} "
            "free; free some space and run the command again"
        )


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed or the process dies; False if another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# --- JSON


def canonical_json(document: Any) -> bytes:
    """Write a document in the one way: sorted keys, ASCII, floats that read back exactly."""
    return (json.dumps(document, sort_keys=True, indent=2, allow_nan=False) + "\n").encode("ascii")


def parse_json(data: bytes | bytearray, source: object) -> Any:
    """Read a document of bounded size; anything but JSON with finite numbers is refused."""
    if len(data) > MAX_JSON_BYTES:
        raise DamagedFileError(f"{source}: {len(data):,} bytes of JSON, over {MAX_JSON_BYTES:,}")
    try:
        return json.loads(data, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{source}: not valid JSON: {error}") from None


def write_json(path: Path, document: Any) -> None:
    """Write a document so that readers see either the old or the new one."""
    replace_file(path, canonical_json(document))


def read_json(path: Path, *, follow_symlinks: bool = True) -> Any:
    """Read a document from a file."""
    return parse_json(read_bytes(path, MAX_JSON_BYTES, follow_symlinks=follow_symlinks), path)


def without_non_finite(document: Any) -> Any:
    """Copy a document with null for every NaN and infinity, which JSON has no words for."""
    if isinstance(document, float):
        return float(document) if math.isfinite(document) else None
    if isinstance(document, dict):
        return {name: without_non_finite(member) for name, member in document.items()}
    if isinstance(document, list | tuple):
        return [without_non_finite(member) for member in document]
    return document


def document_hash(document: Any) -> str:
    """Hash a document in its canonical form."""
    return hashlib.sha256(canonical_json(document)).hexdigest()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # also 1e999
        raise ValueError(f"{text} is no finite number")
    return value


# --- sealed files: tensors and one document in a safetensors file, under a hash


@dataclass(frozen=True)
class Sealed:
    """Content of a sealed file, every byte of it checked."""

    tensors: dict[str, Tensor]
    document: dict[str, Any]
    notes: dict[str, Any]
    """What may differ between equal contents; not covered by `content_hash`"""
    content_hash: str


def content_hash(tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> str:
    """SHA-256 over the document and the name, dtype, shape and bytes of every tensor."""
    digest = hashlib.sha256(canonical_json(document))
    for name, tensor in sorted(tensors.items()):
        digest.update(canonical_json([name, str(tensor.dtype), list(tensor.shape)]))
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_sealed(
    path: Path,
    tensors: Mapping[str, Tensor],
    document: Mapping[str, Any],
    form: str,
    version: int,
    notes: Mapping[str, Any] | None = None,
    confirm: Callable[[], object] | None = None,
) -> None:
    """Write tensors and document into one safetensors file; equal contents have equal hashes.

    `confirm` is that of `replace_file`.
    """
    sealed = {
        **document,
        "format": form,
        "format_version": version,
        "content_hash": content_hash(tensors, document),
    }
    if notes is not None:
        sealed |= {"notes": dict(notes), "notes_hash": document_hash(dict(notes))}
    # Clones: the library refuses views of one storage, which a caller may well hold.
    dense = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    text = canonical_json(sealed).decode("ascii")
    content = safetensors.torch.save(dense, {_METADATA_KEY: text})
    require_free_space(path.parent, len(content))
    replace_file(path, content, confirm)


def load_sealed(path: Path, form: str, version: int) -> Sealed:
    """Read a sealed file of this form; anything else is a DataError that says why.

    The caller checks that the document has the keys it needs.
    """
    noun = form.removeprefix("spacil-")
    head, content, document = b"", b"", None
    try:
        # The header first: of a file of another kind nothing else is read.
        head = bytes(read_bytes(path, MAX_TENSOR_BYTES, cut=8 + MAX_JSON_BYTES))
        document = _document_in(head, path)
        if isinstance(document, dict) and document.get("format") == form:
            content = bytes(read_bytes(path, MAX_TENSOR_BYTES))
            document = _document_in(content, path)  # the file may have been replaced meanwhile
        # The clones lie in torch's own aligned memory: at another alignment a matrix product may
        # sum in another order, and a resumed run would no longer repeat bit for bit.
        loaded = safetensors.torch.load(content) if content else {}
        tensors = {name: tensor.clone() for name, tensor in loaded.items()}
    except (
        *(DamagedFileError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError),
        AttributeError,
    ) as e:
        # A safetensors file begins with the length of its header, which may look like any of these.
        is_safetensors = head[8:9] == b"{"
        kinds = [kind for magic, kind in _OTHER_KINDS.items() if head.startswith(magic)]
        known = kinds and not is_safetensors
        reason = f"it looks like {kinds[0]}" if known else f"damaged, or of another kind: {e}"
        raise DataError(f"{path}: not a {noun} file; {reason}") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise DataError(f"{path}: a safetensors file, but not a {noun} file")
    if document.get("format_version") != version:
        raise DataError(
            f"{path}: has format version {document.get('format_version')}, this spacil "
            f"reads {version}; use the version of spacil that wrote it, or a newer one"
        )
    stored, notes = document.pop("content_hash", None), document.pop("notes", {})
    notes_hash = document.pop("notes_hash", document_hash({}))
    del document["format"], document["format_version"]
    if content_hash(tensors, document) != stored or document_hash(notes) != notes_hash:
        raise DataError(
            f"{path}: the content does not match its hash, so the file was changed or damaged; "
            "download or create it again"
        )
    return Sealed(tensors, document, notes, stored)


def _document_in(content: bytes, path: Path) -> Any:
    """Read the document in the header of a safetensors file; None where there is none."""
    header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], path)
    text = header.get("__metadata__", {}).get(_METADATA_KEY)
    return None if text is None else parse_json(text.encode(), path)
