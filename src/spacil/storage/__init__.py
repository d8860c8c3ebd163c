"""Files: the one place where spacil reads and writes them.

JSON holds documents, safetensors holds tensors, and there is no third format. A write is all or
nothing: it goes to a scratch name in the same folder, is synced to disk, and only then gets its
name, so a kill or a power loss leaves either the old content or the new. A read trusts nothing:
sizes are checked before memory is allocated, and anything unexpected is a typed error.

This room never unpickles, never opens a path that it found inside a file, never overwrites a
file in place, and never lets an `OSError` escape.
"""

from spacil.storage.faults import DamagedFileError, os_errors_as
from spacil.storage.files import (
    open_descriptor,
    read_bytes,
    refuse_link,
    replace_file,
    require_free_space,
    try_lock,
    write_synced,
)
from spacil.storage.folders import (
    delete,
    is_leftover,
    move_aside,
    publish,
    staged_folder,
    sweep_abandoned,
)
from spacil.storage.strict_json import (
    MAX_JSON_BYTES,
    canonical_json,
    document_hash,
    parse_json,
    read_json,
    without_non_finite,
    write_json,
)
from spacil.storage.tensor_bytes import (
    MAX_TENSOR_BYTES,
    TENSOR_ERRORS,
    content_hash,
    decode_tensors,
    encode_tensors,
)

__all__ = [
    "MAX_JSON_BYTES",
    "MAX_TENSOR_BYTES",
    "TENSOR_ERRORS",
    "DamagedFileError",
    "canonical_json",
    "content_hash",
    "decode_tensors",
    "delete",
    "document_hash",
    "encode_tensors",
    "is_leftover",
    "move_aside",
    "open_descriptor",
    "os_errors_as",
    "parse_json",
    "publish",
    "read_bytes",
    "read_json",
    "refuse_link",
    "replace_file",
    "require_free_space",
    "staged_folder",
    "sweep_abandoned",
    "try_lock",
    "without_non_finite",
    "write_json",
    "write_synced",
]
