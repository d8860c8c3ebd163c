"""JSON in one strict dialect: only what spacil could have written is read."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NoReturn

from spacil.storage.faults import DamagedFileError, kind_hint
from spacil.storage.files import read_bytes, replace_file

MAX_JSON_BYTES = 16 * 2**20
MAX_JSON_DEPTH = 32
MAX_JSON_VALUES = 100_000
"""In any document: a file of 16 MB could hold millions, and take many seconds to parse."""
MAX_JSON_INT = 2**256
"""Every float of such a number is finite; no counter, size or seed of spacil comes near."""


def canonical_json(document: Any) -> bytes:
    """The one way to write a document: sorted keys, ASCII, floats that read back exactly.

    Whatever the reader would refuse or change (NaN, deep nesting, keys that are not text, too many
    values) is a `ValueError` here, so nothing is saved that cannot be loaded.
    """
    text = json.dumps(document, sort_keys=True, indent=2, allow_nan=False) + "\n"
    _check_nesting(document)
    content = text.encode("ascii")
    if len(content) > MAX_JSON_BYTES or _num_values(content) > MAX_JSON_VALUES:
        raise ValueError(f"a JSON document of {len(content):,} bytes could not be read back")
    return content


def parse_json(data: bytes | bytearray, source: object) -> Any:
    """Strict JSON: UTF-8, finite numbers, no key twice; bounded in size, depth and values."""
    if len(data) > MAX_JSON_BYTES:
        raise DamagedFileError(f"{source}: {len(data):,} bytes of JSON, over {MAX_JSON_BYTES:,}")
    # Counted before parsing; commas inside strings count too, which does no harm.
    num_values = _num_values(data)
    if num_values > MAX_JSON_VALUES:
        raise DamagedFileError(f"{source}: {num_values:,} values, over {MAX_JSON_VALUES:,}")
    try:
        document = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_bounded_int,
            object_pairs_hook=_unique_keys,
        )
        _check_nesting(document)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{source}: not valid JSON{kind_hint(data)}: {error}") from None
    return document


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


def _num_values(content: bytes | bytearray) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))


def _check_nesting(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if any(isinstance(node, int) and abs(node) > MAX_JSON_INT for node in level):
            raise ValueError("a number has too many digits to be read back")
        containers = [node for node in level if isinstance(node, dict | list | tuple)]
        depth += bool(containers)
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


def _bounded_int(text: str) -> int:
    value = int(text)
    if abs(value) > MAX_JSON_INT:
        raise ValueError(f"a number of {len(text)} digits is too large")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key occurs twice")
    return mapping
