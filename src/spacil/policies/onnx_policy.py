"""Reading a policy from an ONNX file, to evaluate or measure it."""

import hashlib
from pathlib import Path

from spacil import storage
from spacil.errors import DataError
from spacil.policies.onnx_graph import OnnxPolicy, policy_from_bytes
from spacil.policies.onnx_parts import is_plain_name
from spacil.sandbox.parent import read_foreign

MAX_ONNX_BYTES = 2 * 2**30
"""What one protobuf message can hold."""
PROBE = "spacil.policies.onnx_probe:try_once"
JOIN = "spacil.policies.onnx_parts:join"


def load_onnx_policy(path: Path, num_threads: int = 1) -> OnnxPolicy:
    """Open the file; refused with a reason if it is not a policy.

    It is tried in the importer's child first: a crash, a hang or a memory blow-up stays there. A
    file with its weights in a second one comes back from the child as one, tried.
    """
    notes = read_foreign(PROBE, path)[1] if path.is_file() else {}
    if others := notes.get("other_files"):
        beside = [path.parent / name for name in others if is_plain_name(name)]
        arrays, _ = read_foreign(JOIN, path, beside)
        return policy_from_bytes(arrays["model"].tobytes(), path, num_threads)
    tried = notes.get("sha256")
    try:
        content = bytes(storage.read_bytes(path, MAX_ONNX_BYTES))
    except storage.DamagedFileError as error:
        raise DataError(str(error)) from None
    if hashlib.sha256(content).hexdigest() != tried:
        raise DataError(f"{path}: changed while it was being opened; try again")
    return policy_from_bytes(content, path, num_threads)
