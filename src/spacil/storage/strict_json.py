"""JSON as one strict dialect: what is read is what could have been written, and no more."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NoReturn

from spacil.storage.faults import DamagedFileError, kind_hint
from spacil.storage.files import read_bytes, replace_file

MAX_JSON_BYTES = 16 * 2**20
MAX_JSON_DEPTH = 32


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
        raise DamagedFileError(f"{source}: not valid JSON{kind_hint(data)}: {error}") from None
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
