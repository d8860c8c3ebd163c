"""Tensors as safetensors bytes, checked against their header before memory is allocated."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import safetensors.torch
import torch
from torch import Tensor

from spacil.storage.faults import DamagedFileError, kind_hint
from spacil.storage.strict_json import MAX_JSON_BYTES, canonical_json, parse_json

MAX_TENSOR_BYTES = 8 * 2**30

_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


class _Span(NamedTuple):
    """Where in the payload a tensor lies, as the header declares it."""

    start: int
    stop: int
    name: str
    dtype: torch.dtype
    shape: list[int]


def encode_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Safetensors. Equal tensors give equal bytes: no metadata, whose order is not fixed."""
    for name, tensor in tensors.items():
        if tensor.dtype not in _DTYPES.values():
            raise TypeError(f"tensor {name!r} has dtype {tensor.dtype}, which is never stored")
    # Clones: the library refuses views of one storage, which a caller may well hold.
    dense = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return safetensors.torch.save(dense)


def decode_tensors(content: bytearray, source: object) -> dict[str, Tensor]:
    """The tensors of a safetensors file, each in memory of its own.

    Checked here and not by the library, which accepts duplicate names and raises a bare `KeyError`
    or `TypeError` on odd types and shapes.
    """
    header_size = int.from_bytes(content[:8], "little")
    if content[8:9] != b"{" or header_size > min(MAX_JSON_BYTES, len(content) - 8):
        raise DamagedFileError(f"{source}: not a safetensors file{kind_hint(content)}")
    header = parse_json(content[8 : 8 + header_size], f"{source}, header")
    header.pop("__metadata__", None)
    spans = sorted(_declared_span(name, entry, source) for name, entry in header.items())
    ends = [0, *(span.stop for span in spans)]
    num_payload_bytes = len(content) - 8 - header_size
    if [span.start for span in spans] != ends[:-1] or ends[-1] != num_payload_bytes:
        raise DamagedFileError(f"{source}: the declared tensors do not fill the file exactly")
    payload = memoryview(content)[8 + header_size :]
    return {span.name: _tensor_at(payload, span) for span in spans}


def content_hash(tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> str:
    """SHA-256 over the document and the name, dtype, shape and bytes of every tensor."""
    digest = hashlib.sha256(canonical_json(document))
    for name, tensor in sorted(tensors.items()):
        digest.update(canonical_json([name, str(tensor.dtype), list(tensor.shape)]))
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _declared_span(name: str, entry: Any, source: object) -> _Span:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(start), int(stop)]}:
            is_known = dtype in _DTYPES and all(type(size) is int and size >= 0 for size in shape)
            # The product without zeros bounds the strides of an empty tensor as well.
            is_small = is_known and math.prod(size or 1 for size in shape) <= MAX_TENSOR_BYTES
            if is_small and stop - start == math.prod(shape) * _DTYPES[dtype].itemsize:
                return _Span(start, stop, name, _DTYPES[dtype], shape)
    raise DamagedFileError(f"{source}: the entry of tensor {name!r} is not valid")


def _tensor_at(payload: memoryview, span: _Span) -> Tensor:
    if span.start == span.stop:
        return torch.empty(span.shape, dtype=span.dtype)
    raw = torch.frombuffer(payload[span.start : span.stop], dtype=torch.uint8)
    # The clone lies in torch's own aligned memory: at another alignment a matrix product may
    # sum in another order, and a resumed run would no longer repeat bit for bit.
    return raw.clone().view(span.dtype).reshape(span.shape)
