"""JSON documents as spacil writes them, of bounded size; NaN and infinity are refused."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from spacil.storage.faults import DamagedFileError
from spacil.storage.files import read_bytes, replace_file

MAX_JSON_BYTES = 16 * 2**20


def canonical_json(document: Any) -> bytes:
    """Write a document in the one way: sorted keys, ASCII, floats that read back exactly."""
    text = json.dumps(document, sort_keys=True, indent=2, allow_nan=False) + "\n"
    return text.encode("ascii")


def parse_json(data: bytes | bytearray, source: object) -> Any:
    """Read a document; anything but JSON with finite numbers is refused."""
    if len(data) > MAX_JSON_BYTES:
        raise DamagedFileError(f"{source}: {len(data):,} bytes of JSON, over {MAX_JSON_BYTES:,}")
    try:
        return json.loads(data, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{source}: not valid JSON: {error}") from None


def write_json(path: Path, document: Any) -> None:
    replace_file(path, canonical_json(document))


def read_json(path: Path, *, follow_symlinks: bool = True) -> Any:
    return parse_json(read_bytes(path, MAX_JSON_BYTES, follow_symlinks=follow_symlinks), path)


def without_non_finite(document: Any) -> Any:
    """A copy with null for every NaN and infinity, which JSON has no words for."""
    if isinstance(document, float):
        return float(document) if math.isfinite(document) else None
    if isinstance(document, dict):
        return {name: without_non_finite(member) for name, member in document.items()}
    if isinstance(document, list | tuple):
        return [without_non_finite(member) for member in document]
    return document


def document_hash(document: Any) -> str:
    return hashlib.sha256(canonical_json(document)).hexdigest()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # also 1e999
        raise ValueError(f"{text} is no finite number")
    return value
