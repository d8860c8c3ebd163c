"""Row 21: a small ONNX graph that asks for more with every row, and a file that is swapped."""

import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from spacil.errors import DataError
from spacil.policies import onnx_policy
from spacil.policies.open import open_policy
from spacil.policies.third_party import from_onnx

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def write_quadratic(path: Path, depth: int) -> None:
    """Actions [B, 2] = 0, by way of a tensor [B, B, depth]: a few hundred bytes."""
    helper, numbers = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["square"]),
        helper.make_node("Unsqueeze", ["square", "last"], ["cube"]),
        helper.make_node("ConstantOfShape", ["depth"], ["zeros"]),
        helper.make_node("Mul", ["cube", "zeros"], ["big"]),
        helper.make_node("ReduceSum", ["big", "axes"], ["sums"], keepdims=0),
        helper.make_node("Unsqueeze", ["sums", "one"], ["column"]),
        helper.make_node("Concat", ["column", "column"], ["y"], axis=1),
    ]
    constants = {"last": [2], "depth": [depth], "axes": [1, 2], "one": [1]}
    graph = helper.make_graph(
        nodes,
        "quadratic",
        [helper.make_tensor_value_info("x", numbers.FLOAT, ["B", 11])],
        [helper.make_tensor_value_info("y", numbers.FLOAT, ["B", 2])],
        [
            onnx.numpy_helper.from_array(np.array(value, np.int64), name)
            for name, value in constants.items()
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(model.SerializeToString())


def test_a_graph_that_grows_with_the_square_of_its_rows_is_refused(
    spacil: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "greedy.onnx"
    write_quadratic(path, depth=20_000)
    assert path.stat().st_size < 1_000
    refusal = spacil("smoothness", path, "--task", "Reacher-v4", "--episodes", 1)
    assert refusal.code == 65
    assert "greedy.onnx" in refusal.err


def test_many_rows_are_computed_in_the_portions_that_were_tried(tmp_path: Path) -> None:
    write_quadratic(tmp_path / "small.onnx", depth=10)
    source = from_onnx(tmp_path / "small.onnx")
    assert source.mean(torch.zeros(1_000, 11)).shape == (1_000, 2)


def test_a_file_that_is_swapped_after_it_was_tried_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.onnx"
    write_quadratic(path, depth=10)
    write_quadratic(tmp_path / "greedy.onnx", depth=20_000)
    try_file = onnx_policy.read_foreign

    def try_and_swap(reader: str, tried: Path) -> Any:
        answer = try_file(reader, tried)
        shutil.copy(tmp_path / "greedy.onnx", path)  # as another process may at this moment
        return answer

    monkeypatch.setattr(onnx_policy, "read_foreign", try_and_swap)
    with pytest.raises(DataError, match="changed while it was being opened"):
        open_policy(path)


def test_a_file_that_is_swapped_all_the_time_is_never_used_untried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the two each attempt meets: only the one that passes its trial is used."""
    path = tmp_path / "policy.onnx"
    small, greedy = tmp_path / "small.onnx", tmp_path / "greedy.onnx"
    write_quadratic(small, depth=10)
    write_quadratic(greedy, depth=20_000)
    used: list[bytes] = []
    make_policy = onnx_policy.policy_from_bytes

    def make_noted(content: bytes, *others: Any) -> Any:
        used.append(content)
        return make_policy(content, *others)

    monkeypatch.setattr(onnx_policy, "policy_from_bytes", make_noted)

    def put(source: Path) -> None:
        shutil.copy(source, tmp_path / "next")
        (tmp_path / "next").replace(path)

    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            for source in (greedy, small):
                put(source)
                time.sleep(0.01)

    put(small)
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(10):
            with contextlib.suppress(DataError):
                open_policy(path)
    finally:
        is_over.set()
        swapper.join()
    put(small)
    open_policy(path)
    put(greedy)
    with pytest.raises(DataError):
        open_policy(path)
    assert set(used) == {small.read_bytes()}
