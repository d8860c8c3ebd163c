"""An ONNX graph as a policy: one state in, one action out.

The file is only data: onnxruntime computes its graph on the CPU and imports nothing. The file is
read completely before it is parsed, and onnxruntime opens no other file: weights in a second one
are put into the first by `onnx_parts`. Anything but one state in and one action out is refused,
with a message that says what was found. No torch here: the sandbox's child imports this module.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import ConfigError, DataError
from spacil.policies.onnx_seal import PRODUCER, is_sealed

_OTHER_FILES = "session.model_external_initializers_file_folder_path"

MAX_ROWS = 256
"""States that are computed at once: as many as the file was tried with, and never more."""

_LOCATION = re.compile(rb"\x0a\x08location\x12([\x00-\x7f])")
"""An entry of protobuf with the key `location`: so a tensor names the file that holds it"""
_DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


@dataclass(frozen=True)
class OnnxPolicy:
    """A graph that maps states [B, S] to actions [B, A]."""

    act: Callable[[NDArray[Any]], NDArray[Any]]
    num_states: int | None
    """None if the file leaves the size open"""
    num_actions: int | None
    task: str | None = None
    """What it was trained on; only files of spacil's say so"""


def names_of_other_files(content: bytes) -> set[str]:
    """Files that may hold weights of this one, found without parsing it; the reader of them checks.

    Longer names than 127 bytes are not found, and their graphs are refused as incomplete.
    """
    found = ((match.end(), match[1][0]) for match in _LOCATION.finditer(content))
    return {content[start : start + size].decode(errors="replace") for start, size in found}


def load_library(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError(
            f"{path}: reading ONNX needs onnxruntime: pip install 'spacil[export]'"
        ) from None
    return onnxruntime


def policy_from_bytes(content: bytes, path: Path, num_threads: int = 1) -> OnnxPolicy:
    """The policy in the content of a file; refused with a reason if there is none."""
    onnxruntime = load_library(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # the exception says what is wrong
    # Weights in other files are looked up in this folder; a file is no folder, so none are found.
    options.add_session_config_entry(_OTHER_FILES, str(path.absolute()))
    try:
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    except MemoryError:
        raise
    except Exception as error:  # its exception classes share no public base
        raise DataError(
            f"{path}: not a usable ONNX file, damaged or of another kind: {_first_line(error)}"
        ) from None
    about = session.get_modelmeta()
    if about.producer_name == PRODUCER and not is_sealed(content):
        raise DataError(
            f"{path}: was cut short or changed after spacil wrote it: its content does not match "
            "its seal. Export it again; if the change is yours, give it another producer_name"
        )
    source = _only(session.get_inputs(), "input", "one batch of states [B, S]", path)
    target = _only(session.get_outputs(), "output", "one batch of actions [B, A]", path)
    if source.type not in _DTYPES:
        raise DataError(f"{path}: its input is {source.type}, expected float or double")
    dtype, batch_size = _DTYPES[source.type], _size(source.shape[0])

    def act(states: NDArray[Any]) -> NDArray[Any]:
        rows = states.astype(dtype, copy=False)
        if batch_size is not None:
            parts = _parts(rows, batch_size)
        else:
            parts = [rows[i : i + MAX_ROWS] for i in range(0, len(rows), MAX_ROWS)] or [rows]
        actions = [_as_array(session.run([target.name], {source.name: part})[0]) for part in parts]
        if any(part.ndim == 0 for part in actions):
            raise DataError(f"{path}: returned a single number, expected actions [B, A]")
        return np.concatenate(actions)[: len(rows)]

    task = about.custom_metadata_map.get("task") if about.producer_name == PRODUCER else None
    return OnnxPolicy(act, _size(source.shape[1]), _size(target.shape[1]), task)


def _only(ports: list[Any], noun: str, expected: str, path: Path) -> Any:
    if len(ports) != 1:
        names = ", ".join(repr(port.name) for port in ports) or "none"
        raise DataError(
            f"{path}: has {len(ports)} {noun}s ({names}), expected {expected}; "
            f"export the policy with a single {noun}"
        )
    (port,) = ports
    if len(port.shape) != 2:
        raise DataError(f"{path}: its {noun} has shape {port.shape}, expected {expected}")
    return port


def _size(dimension: object) -> int | None:
    """A fixed size, or None for a name such as 'batch'."""
    return dimension if isinstance(dimension, int) else None


def _parts(rows: NDArray[Any], size: int) -> list[NDArray[Any]]:
    """Batches of the one size that the file accepts; the last is padded with its last row."""
    missing = -len(rows) % size
    filled = np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])
    return [filled[i : i + size] for i in range(0, len(filled), size)]


def _as_array(value: object) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(value)
    return array


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
