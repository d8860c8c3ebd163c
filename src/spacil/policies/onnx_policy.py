"""An ONNX file as a policy: one state in, one action out.

The file is only data: onnxruntime computes its graph on the CPU and imports nothing. It is tried in
a limited child process first; a graph of a few bytes can ask for any amount of memory and time.
Weights in a second file beside it are read by onnxruntime. No torch here: the child imports this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import ConfigError, DataError
from spacil.foreign import read_foreign

PRODUCER = "spacil"
"""`producer_name` of files that name their task."""
_MAX_ROWS = 256
"""States that are computed at once: as many as the file is tried with, and never more."""
_DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


@dataclass(frozen=True)
class OnnxPolicy:
    """A graph that maps states [B, S] to actions [B, A]."""

    act: Callable[[NDArray[Any]], NDArray[Any]]
    num_states: int | None
    """The number of state dims; None if the file leaves it open."""
    num_actions: int | None
    task: str | None = None
    """The task it was trained on; only files of spacil say so."""


def load_onnx_policy(path: Path, num_threads: int = 1) -> OnnxPolicy:
    """Open a file, after a trial in the child; refuse one that is no policy."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; check the path")
    read_foreign(_try, path, "onnxruntime", "export")
    return onnx_policy(str(path), path, num_threads)


def _try(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compute the graph for one state and for many."""
    policy = onnx_policy(str(path), path)
    rng = np.random.default_rng(0)
    for num_rows in (1, _MAX_ROWS) if policy.num_states else ():
        policy.act(rng.normal(size=(num_rows, policy.num_states or 0)))
    return {}, {}


def onnx_policy(model: str | bytes, name: Path, num_threads: int = 1) -> OnnxPolicy:
    """The policy in a file, or in its content."""
    onnxruntime = load_library(name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # the exception says what is wrong
    try:
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    except MemoryError:
        raise
    except Exception as error:  # its exception classes share no public base
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"{name}: not a usable ONNX file, damaged or of another kind: {reason}"
        ) from None
    source = _only(session.get_inputs(), "input", "one batch of states [B, S]", name)
    target = _only(session.get_outputs(), "output", "one batch of actions [B, A]", name)
    if source.type not in _DTYPES:
        raise DataError(f"{name}: its input is {source.type}, expected float or double")
    (batch, num_states), (_, num_actions) = map(_sizes, (source, target))
    part_size = batch or _MAX_ROWS

    def act(states: NDArray[Any]) -> NDArray[Any]:
        rows, num_rows = states.astype(_DTYPES[source.type], copy=False), len(states)
        if batch is not None:  # the one size that it takes: its last row fills the rest
            rows = np.concatenate([rows, np.repeat(rows[-1:], -num_rows % batch, axis=0)])
        parts = [rows[i : i + part_size] for i in range(0, len(rows), part_size)] or [rows]
        actions = [
            np.atleast_1d(session.run([target.name], {source.name: part})[0]) for part in parts
        ]
        return np.concatenate(actions)[:num_rows]

    about = session.get_modelmeta()
    task = about.custom_metadata_map.get("task") if about.producer_name == PRODUCER else None
    return OnnxPolicy(act, num_states, num_actions, task)


def load_library(name: object) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError(
            f"{name}: reading ONNX needs onnxruntime: pip install 'spacil[export]'"
        ) from None
    return onnxruntime


def _only(ports: list[Any], noun: str, expected: str, name: Path) -> Any:
    if len(ports) != 1:
        names = ", ".join(repr(port.name) for port in ports) or "none"
        raise DataError(
            f"{name}: has {len(ports)} {noun}s ({names}), expected {expected}; "
            f"export the policy with a single {noun}"
        )
    if len(ports[0].shape) != 2:
        raise DataError(f"{name}: its {noun} has shape {ports[0].shape}, expected {expected}")
    return ports[0]


def _sizes(port: Any) -> list[int | None]:
    """Fixed sizes, and None for a name such as 'batch'."""
    return [size if isinstance(size, int) else None for size in port.shape]
