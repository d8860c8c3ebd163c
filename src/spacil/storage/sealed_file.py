"""Tensors and one JSON document in one safetensors file, sealed by a content hash.

The format of demonstration and policy files. The document sits under one key of the safetensors
metadata; the hash covers the document and the name, dtype, shape and bytes of every tensor, so a
flipped bit anywhere is detected. Never reads pickle, zip or HDF5: it names such files and refuses
them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from spacil import storage
from spacil.errors import DataError
from spacil.file_kinds import foreign_kind

_METADATA_KEY = "spacil"


def save(
    path: Path, tensors: Mapping[str, Tensor], document: Mapping[str, Any], form: str, version: int
) -> None:
    """Write the file atomically."""
    sealed = {
        **document,
        "format": form,
        "format_version": version,
        "content_hash": storage.content_hash(tensors, document),
    }
    # Clones: safetensors refuses tensors that share memory, as views of one array may.
    cloned = {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    text = storage.canonical_json(sealed).decode("ascii")
    storage.replace_file(path, safetensors.torch.save(cloned, {_METADATA_KEY: text}))


def load(path: Path, form: str, version: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and document of a file of this form; anything else is a DataError that says why.

    The caller checks that the document has the keys it needs.
    """
    try:
        _check_header(path, form, version)
        content = storage.read_bytes(path, storage.MAX_TENSOR_BYTES)
        tensors = storage.decode_tensors(content, path)
        document = _document(content, path, form, version)
    except storage.DamagedFileError as error:
        raise DataError(str(error)) from None
    stored_hash = document.pop("content_hash", None)
    del document["format"], document["format_version"]
    if storage.content_hash(tensors, document) != stored_hash:
        raise DataError(
            f"{path}: the content does not match its hash, so the file was changed or damaged; "
            "download or create it again"
        )
    return tensors, document


def _check_header(path: Path, form: str, version: int) -> None:
    """Refuse a file of another kind by its first bytes, before the gigabytes that may follow."""
    start = storage.read_start(path, 16)
    # Byte 8 opens the JSON header of every safetensors file.
    if start[8:9] != b"{":
        kind = foreign_kind(bytes(start)) or "it is damaged or of an unknown kind"
        raise DataError(f"{path}: not a {_noun(form)} file; {kind}")
    header_size = min(int.from_bytes(start[:8], "little"), storage.MAX_JSON_BYTES)
    content = storage.read_start(path, 8 + header_size)
    _document(content, path, form, version)


def _document(content: bytearray, path: Path, form: str, version: int) -> dict[str, Any]:
    """The document in the header of a file, of which `content` is at least the start."""
    header_size = int.from_bytes(content[:8], "little")
    header = storage.parse_json(content[8 : 8 + header_size], f"{path}, header")
    texts = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(texts, dict) or set(texts) != {_METADATA_KEY}:
        raise DataError(f"{path}: a safetensors file, but not a {_noun(form)} file")
    # Half a surrogate pair is valid in JSON and not in UTF-8; let the parser refuse it.
    text = str(texts[_METADATA_KEY]).encode("utf-8", errors="surrogatepass")
    document = storage.parse_json(text, f"{path}, document")
    if not isinstance(document, dict) or document.get("format") != form:
        raise DataError(f"{path}: a safetensors file, but not a {_noun(form)} file")
    if document.get("format_version") != version:
        raise DataError(
            f"{path}: has format version {document.get('format_version')}, this spacil reads "
            f"{version}; use the version of spacil that wrote it, or a newer one"
        )
    # The same JSON spelled differently was not written by spacil: some bit of it was changed.
    if storage.canonical_json(document) != text:
        raise DataError(
            f"{path}: the document was altered after it was written; create the file again"
        )
    return document


def _noun(form: str) -> str:
    return form.removeprefix("spacil-")
