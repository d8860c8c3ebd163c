"""The manifest of a checkpoint: which files belong to it, with size and hash, under a seal.

The seal is the hash of the manifest itself, so that a flipped bit anywhere is detected before any
of its numbers are used. File names are fixed: none is ever taken from a manifest.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.errors import StorageError
from spacil.storage import DamagedFileError

FORMAT = "spacil-checkpoint"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

_KEYS = {
    "format",
    "format_version",
    "iteration",
    "content_hash",
    "parent",
    "files",
    "provenance",
}


def sealed_manifest(
    iteration: int,
    content_hash: str,
    parent: str | None,
    files: Mapping[str, bytes],
    provenance: Mapping[str, Any],
) -> bytes:
    """The bytes to write; `parent` is the content hash of the checkpoint before this one."""
    return _sealed(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "iteration": iteration,
            "content_hash": content_hash,
            "parent": parent,
            "files": {
                name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in files.items()
            },
            "provenance": dict(provenance),
        }
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a checkpoint in this version of the format, every field checked."""
    source = path / MANIFEST
    manifest = _unsealed(source)
    if manifest.get("format") != FORMAT or manifest.get("format_version") != FORMAT_VERSION:
        raise StorageError(
            f"{str(source)!r} is {manifest.get('format')!r} version "
            f"{manifest.get('format_version')!r}, expected {FORMAT!r} version {FORMAT_VERSION}: "
            "use the spacil that wrote it, or a newer one"
        )
    match manifest:
        case {
            "iteration": int(),
            "content_hash": str(),
            "parent": str() | None,
            "provenance": dict(),
            "files": {
                "state.safetensors": {"size": int(), "sha256": str()},
                "state.json": {"size": int(), "sha256": str()},
            } as files,
        } if manifest.keys() == _KEYS and len(files) == 2:
            return manifest
    raise StorageError(f"{str(source)!r} has fields unknown to this version of spacil")


def read_part(path: Path, part: Mapping[str, Any]) -> bytearray:
    """The content of a file that a manifest describes, checked against size and hash."""
    size = min(part["size"], storage.MAX_TENSOR_BYTES)
    content = storage.read_bytes(path, size, follow_symlinks=False)
    if len(content) != part["size"] or hashlib.sha256(content).hexdigest() != part["sha256"]:
        raise DamagedFileError(
            f"{str(path)!r} ({len(content):,} bytes) does not match the manifest, which describes "
            f"a file of {part['size']:,} bytes"
        )
    return content


def _sealed(manifest: dict[str, Any]) -> bytes:
    """Canonical JSON with its own hash inside; this step is the same in every format version."""
    return storage.canonical_json(manifest | {"seal": storage.document_hash(manifest)})


def _unsealed(source: Path) -> dict[str, Any]:
    content = storage.read_bytes(source, storage.MAX_JSON_BYTES, follow_symlinks=False)
    document = storage.parse_json(content, source)
    manifest = dict(document) if isinstance(document, dict) else {}
    manifest.pop("seal", None)
    # Comparing bytes detects a flip anywhere, even in spacing and in fields that nobody reads.
    if _sealed(manifest) != content:
        raise DamagedFileError(f"{str(source)!r} was altered after it was written")
    return manifest
