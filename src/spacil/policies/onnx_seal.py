"""The seal at the end of an ONNX file of spacil's: a hash of everything before it.

ONNX has no checksum: a weight with a flipped bit is another weight, and a file that lost its last
bytes may still be a graph. What spacil wrote ends with one more entry of its metadata, the hash of
all bytes before. Other readers see an entry that means nothing to them: in protobuf, bytes appended
to a message are merged into it. No torch here: the sandbox's child imports this module.
"""

import hashlib

PRODUCER = "spacil"
"""`producer_name` of the files that must have a seal"""

_KEY = b"spacil_seal_sha256"
_METADATA_ENTRY, _NAME, _VALUE = b"\x72", b"\x0a", b"\x12"
"""Tags of ModelProto.metadata_props and of an entry's two halves; all lengths are below 128"""


def sealed(body: bytes) -> bytes:
    """A serialised model with its seal."""
    return body + _seal_of(body)


def is_sealed(content: bytes) -> bool:
    """Whether a file ends with the seal of what stands before it."""
    body = content[: -len(_seal_of(b""))]
    return content == body + _seal_of(body)


def _seal_of(body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest().encode("ascii")
    entry = _NAME + bytes([len(_KEY)]) + _KEY + _VALUE + bytes([len(digest)]) + digest
    return _METADATA_ENTRY + bytes([len(entry)]) + entry
