"""Trying an ONNX file once where it can do no harm: in the sandbox's child process."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from spacil.policies import onnx_graph


def load_library() -> Any:
    return onnx_graph.load_library(Path("ONNX"))


def try_once(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse the file, prepare its graph and compute it for one state and for many.

    A graph of a few bytes can ask for any amount of memory and time when it is computed, and for
    more with every row. A file that is refused here is not opened again. The hash says which bytes
    were tried: only these are used afterwards, whatever the name then stands for. A file that names
    others is not tried: `onnx_parts` reads them together.
    """
    content = path.read_bytes()
    if others := onnx_graph.names_of_other_files(content):
        return {}, {"other_files": sorted(others)}
    try_content(content, path)
    return {}, {"sha256": hashlib.sha256(content).hexdigest()}


def try_content(content: bytes, path: Path) -> None:
    """Refuse what cannot be computed."""
    policy = onnx_graph.policy_from_bytes(content, path)
    if policy.num_states is not None:
        rng = np.random.default_rng(0)
        for num_rows in (1, onnx_graph.MAX_ROWS):
            policy.act(np.zeros((num_rows, policy.num_states), np.float32))
            policy.act(rng.normal(size=(num_rows, policy.num_states)).astype(np.float32))
