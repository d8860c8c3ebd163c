"""Files: the one place where spacil reads and writes them.

JSON holds documents, safetensors holds tensors, and there is no third format. A write goes to a
scratch name in the same folder, is synced, and only then gets its name, so a kill or a power loss
leaves either the old content or the new. A read checks sizes before memory is allocated.

This module never unpickles, never opens a path that it found inside a file, and never lets an
`OSError` escape.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from spacil.errors import ConfigError, DataError, SpacilError, StorageError
from spacil.plain_text import shown

MAX_JSON_BYTES = 16 * 2**20
MAX_TENSOR_BYTES = 8 * 2**30

_METADATA_KEY = "spacil"
_SCRATCH = re.compile(r"\.tmp-[0-9a-f]{32}")


class DamagedFileError(StorageError):
    """A file is missing, truncated, altered or of another kind: reading it again will not help."""


@contextlib.contextmanager
def os_errors_as(kind: type[SpacilError], action: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` of the block into the typed error `kind`."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "free some space and run the command again" if is_full else "check the path"
        raise kind(f"cannot {action} {str(path)!r}: {error.strerror or error}; {remedy}") from error


# --- whole files


def read_bytes(path: Path, max_bytes: int, cut: int | None = None) -> bytearray:
    """Read a regular file of at most `max_bytes`, or its first `cut` bytes; its size is checked."""
    try:
        # O_NONBLOCK: a named pipe would block the open, before its kind can be seen and refused.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
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
        raise kind(f"cannot read {str(path)!r}: {error.strerror}; check the path") from error


def replace_file(path: Path, content: bytes, confirm: Callable[[], object] | None = None) -> None:
    """Write a file so that every reader, at every moment, sees either the old or the new one.

    `confirm` is called right before the file gets its name, and may raise.
    """
    scratch = path.with_name(f".tmp-{uuid.uuid4().hex}")
    try:
        with os_errors_as(StorageError, "write", path), scratch.open("xb") as file:
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


PAGE_ENDINGS = (".html", ".htm")


def require_free(path: str | Path, *, overwrite: bool, endings: Sequence[str] = ()) -> None:
    """Refuse to write where no folder is, or over what is there, a link to nothing included.

    With `endings`, refuse other file names too.
    """
    if endings and Path(path).suffix.lower() not in endings:
        raise ConfigError(f"{path}: expected a file name that ends in {' or '.join(endings)}")
    if not Path(path).absolute().parent.is_dir():
        raise StorageError(f"cannot write {str(path)!r}: create its folder first")
    if not overwrite and os.path.lexists(path):
        raise StorageError(
            f"{str(path)!r} exists already: --overwrite replaces it, another name leaves it alone"
        )


def require_free_in(folder: Path, names: Iterable[str], *, overwrite: bool) -> None:
    """Refuse to write files into a folder, which may be a new one, over some that are there."""
    for name in names if folder.is_dir() else ():
        require_free(folder / name, overwrite=overwrite)


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


# --- JSON


def canonical_json(document: Any) -> bytes:
    """Write a document in the one way: sorted keys, ASCII, floats that read back exactly."""
    return (json.dumps(document, sort_keys=True, indent=2, allow_nan=False) + "\n").encode("ascii")


def parse_json(data: bytes | bytearray, source: object) -> Any:
    """Read a document of bounded size; anything but JSON with finite numbers is refused."""
    if len(data) > MAX_JSON_BYTES:
        raise DamagedFileError(f"{source}: {len(data):,} bytes of JSON, over {MAX_JSON_BYTES:,}")
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_finite, parse_float=_finite)
        if b"\\ud" in data or b"\\uD" in data:  # half a pair of surrogates is no text
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{source}: not valid JSON: {error}") from None


def write_json(path: Path, document: Any) -> None:
    """Write a document so that readers see either the old or the new one."""
    replace_file(path, canonical_json(document))


def read_json(path: Path) -> Any:
    """Read a document from a file."""
    return parse_json(read_bytes(path, MAX_JSON_BYTES), path)


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
    replace_file(path, content, confirm)


def load_sealed(path: Path, form: str, version: int) -> Sealed:
    """Read a sealed file of this form; anything else is a DataError that says why.

    The caller checks that the document has the keys it needs.
    """
    noun = form.removeprefix("spacil-")
    try:
        for cut in (8 + MAX_JSON_BYTES, None):  # the header first: others are not read further
            content = bytes(read_bytes(path, MAX_TENSOR_BYTES, cut))
            header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], path)
            document = parse_json(header["__metadata__"][_METADATA_KEY].encode(), path)
            if document["format"] != form:
                raise ValueError(f"its format is {shown(document['format'])}")
        # The clones lie in torch's own aligned memory: at another alignment a matrix product may
        # sum in another order, and a resumed run would no longer repeat bit for bit.
        loaded = safetensors.torch.load(content)
        tensors = {name: tensor.clone() for name, tensor in loaded.items()}
    except (
        *(DamagedFileError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError),
        AttributeError,
    ) as error:
        raise DataError(
            f"{path}: not a {noun} file; damaged, or of another kind ({error}). Pickles, such as "
            "files of torch.save, can run code and are never opened"
        ) from None
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
