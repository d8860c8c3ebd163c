"""Trying an ONNX file once where it can do no harm: in the sandbox's child process."""

from pathlib import Path
from typing import Any

import numpy as np

from spacil.policies import onnx_graph


def load_library() -> Any:
    return onnx_graph.load_library(Path("ONNX"))


def try_once(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse the file, prepare its graph and compute it for one state.

    A graph of a few bytes can ask for any amount of memory and time when it is computed. A file
    that is refused here is not opened again.
    """
    policy = onnx_graph.policy_from_bytes(path.read_bytes(), path)
    if policy.num_states is not None:
        policy.act(np.zeros((1, policy.num_states), np.float32))
    return {}, {}
