"""Tensors as safetensors bytes, and a hash over tensors and a document."""

import hashlib
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from spacil.storage.faults import DamagedFileError
from spacil.storage.strict_json import canonical_json

MAX_TENSOR_BYTES = 8 * 2**30
TENSOR_ERRORS = (SafetensorError, KeyError, TypeError, ValueError, RuntimeError)
"""What safetensors and torch raise on headers that make no sense."""


def encode_tensors(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Safetensors; equal tensors give equal bytes."""
    # Clones: the library refuses views of one storage, which a caller may well hold.
    dense = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return safetensors.torch.save(dense, metadata)


def decode_tensors(content: bytes | bytearray, source: object) -> dict[str, Tensor]:
    """The tensors of a safetensors file, each in memory of its own."""
    try:
        tensors = safetensors.torch.load(bytes(content))
    except TENSOR_ERRORS as error:
        raise DamagedFileError(f"{source}: not a safetensors file, or damaged: {error}") from None
    # The clones lie in torch's own aligned memory: at another alignment a matrix product may
    # sum in another order, and a resumed run would no longer repeat bit for bit.
    return {name: tensor.clone() for name, tensor in tensors.items()}


def content_hash(tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> str:
    """SHA-256 over the document and the name, dtype, shape and bytes of every tensor."""
    digest = hashlib.sha256(canonical_json(document))
    for name, tensor in sorted(tensors.items()):
        digest.update(canonical_json([name, str(tensor.dtype), list(tensor.shape)]))
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()
