"""Tensors and one JSON document in one safetensors file, sealed by a content hash.

The format of demonstration and policy files. The document sits under one key of the safetensors
metadata; the hash covers the document and the name, dtype, shape and bytes of every tensor, so a
flipped bit anywhere is detected. Pickles are never opened: they are named, and refused.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from spacil import storage
from spacil.errors import DataError

_METADATA_KEY = "spacil"
_OTHER_KINDS = {
    b"PK": "a zip archive: name it .npz if numpy wrote it; torch.save files hold pickles and are "
    "never opened",
    b"\x89HDF": "an HDF5 file: name it .hdf5 if it has D4RL's layout",
    b"\x93NUMPY": "a single numpy array: put observations and actions into one file with np.savez",
    b"\x80": "a pickle, which can run code and is never opened: load it where you trust it and "
    "save plain arrays: save_demos(Demonstrations.from_arrays(observations, actions), path)",
}
"""What a file looks like by its first bytes, and what to do with it."""


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
    text = storage.canonical_json(sealed).decode("ascii")
    storage.replace_file(path, storage.encode_tensors(tensors, {_METADATA_KEY: text}))


def load(path: Path, form: str, version: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and document of a file of this form; anything else is a DataError that says why.

    The caller checks that the document has the keys it needs.
    """
    noun = form.removeprefix("spacil-")
    content = bytearray()
    try:
        content = storage.read_bytes(path, storage.MAX_TENSOR_BYTES)
        tensors = storage.decode_tensors(content, path)
        header = storage.parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")], path)
        text = header.get("__metadata__", {}).get(_METADATA_KEY)
        document = None if text is None else storage.parse_json(text.encode(), path)
    except storage.DamagedFileError as error:
        # A safetensors file begins with the length of its header, which may look like any of these.
        is_safetensors = content[8:9] == b"{"
        kinds = [kind for magic, kind in _OTHER_KINDS.items() if content.startswith(magic)]
        known = kinds and not is_safetensors
        reason = f"it looks like {kinds[0]}" if known else f"damaged, or of another kind: {error}"
        raise DataError(f"{path}: not a {noun} file; {reason}") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise DataError(f"{path}: a safetensors file, but not a {noun} file")
    if document.get("format_version") != version:
        raise DataError(
            f"{path}: has format version {document.get('format_version')}, this spacil "
            f"reads {version}; use the version of spacil that wrote it, or a newer one"
        )
    stored_hash = document.pop("content_hash", None)
    del document["format"], document["format_version"]
    if storage.content_hash(tensors, document) != stored_hash:
        raise DataError(
            f"{path}: the content does not match its hash, so the file was changed or damaged; "
            "download or create it again"
        )
    return tensors, document
