"""Reading a policy from an ONNX file, to evaluate or measure it."""

from pathlib import Path

from spacil import storage
from spacil.errors import DataError
from spacil.policies.onnx_graph import OnnxPolicy, policy_from_bytes

MAX_ONNX_BYTES = 2 * 2**30
"""What one protobuf message can hold."""


def load_onnx_policy(path: Path, num_threads: int = 1) -> OnnxPolicy:
    """Open the file; refused with a reason if it is not a policy."""
    try:
        content = bytes(storage.read_bytes(path, MAX_ONNX_BYTES))
    except storage.DamagedFileError as error:
        raise DataError(str(error)) from None
    return policy_from_bytes(content, path, num_threads)
