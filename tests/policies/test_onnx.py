"""ONNX files as policies: of ours and of others, in one file and in two; hostile ones refused."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import policies_of_others as foreign
import pytest
import torch
from fixture_types import Spacil
from torch import Tensor

from spacil.errors import DataError
from spacil.export.export import export_policy
from spacil.policies.open import load_expert, open_policy

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

NAME, DATA = "model.onnx", "model.onnx.data"
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def states(num_rows: int = 20) -> Tensor:
    return torch.randn(num_rows, 11, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def one_file(tmp_path: Path) -> Path:
    return foreign.write_onnx(foreign.make_module(), tmp_path / NAME)


@pytest.fixture
def two_files(one_file: Path, tmp_path: Path) -> Path:
    """A network whose weights lie in model.onnx.data."""
    path = tmp_path / "two" / NAME
    path.parent.mkdir()
    model = onnx.load(one_file)
    onnx.save_model(model, path, save_as_external_data=True, location=DATA, size_threshold=0)
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "robot"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", "no-such-compiler")  # the header is of no interest here
        export_policy("Reacher-v4", folder, episodes=1, num_checked=100)
    return folder / "policy.onnx"


def test_an_exported_policy_is_read_back_with_its_task(exported: Path) -> None:
    source = open_policy(exported)
    assert source.task == "Reacher-v4"
    expected = torch.from_numpy(np.asarray(load_expert("Reacher-v4").predict(states().numpy())))
    assert (source.mean(states()) - expected).abs().max() < 1e-5


def test_an_exported_policy_is_measured_by_its_own_task(exported: Path, spacil: Spacil) -> None:
    done = spacil("smoothness", exported, "--episodes", 1, "--max-states", 50, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["task"] == "Reacher-v4"


def test_only_files_of_ours_say_which_task_they_are_for(exported: Path, tmp_path: Path) -> None:
    model = onnx.load(exported)
    model.producer_name = "my-tools"
    onnx.save(model, tmp_path / NAME)
    assert open_policy(tmp_path / NAME).task is None


@pytest.mark.parametrize("verb", ["evaluate", "export"])
def test_our_verbs_send_onnx_on(verb: str, exported: Path, tmp_path: Path, spacil: Spacil) -> None:
    more = ("-o", tmp_path / "again") if verb == "export" else ()
    refused = spacil(verb, exported, *more)
    assert refused.code == 65
    assert "spacil smoothness measures it, and spacil smooth distils it" in refused.err
    assert not (tmp_path / "again").exists()


def test_weights_in_a_second_file_are_read(two_files: Path) -> None:
    assert two_files.with_name(DATA).stat().st_size == 4 * (16 * 11 + 16 + 2 * 16 + 2)
    source = open_policy(two_files)
    assert torch.allclose(source.mean(states()), foreign.make_module()(states()), atol=1e-6)
    assert (source.kind, source.num_states, source.num_actions) == ("onnx", 11, 2)


@pytest.mark.slow
def test_what_torch_writes_is_read(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    module, path = foreign.make_module(), tmp_path / NAME
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), (states()[:1],), path, dynamo=True)
    assert (tmp_path / DATA).is_file()
    assert torch.allclose(open_policy(path).mean(states()), module(states()), atol=1e-6)


@pytest.mark.parametrize("location", ["../outside", "/etc/passwd", "link", "missing", ""])
def test_weights_elsewhere_than_beside_the_file_are_refused(two_files: Path, location: str) -> None:
    outside = two_files.parents[1] / "outside"
    outside.write_bytes(two_files.with_name(DATA).read_bytes())
    two_files.with_name("link").symlink_to(outside)
    model = onnx.load(two_files, load_external_data=False)
    for tensor in model.graph.initializer:
        tensor.external_data[0].value = location
    two_files.write_bytes(model.SerializeToString())
    with pytest.raises(DataError, match=NAME):
        open_policy(two_files)


def test_a_second_file_that_was_cut_short_is_refused(two_files: Path) -> None:
    data = two_files.with_name(DATA)
    data.write_bytes(data.read_bytes()[:-4])
    with pytest.raises(DataError, match=NAME):
        open_policy(two_files)


@pytest.mark.parametrize("batch", ["batch", 1, 7])
def test_any_batch_size_computes_any_number_of_rows(batch: int | str, tmp_path: Path) -> None:
    module = foreign.make_module()
    source = open_policy(foreign.write_onnx(module, tmp_path / NAME, batch=batch))
    for num_rows in (1, 20, 300):
        rows = states(num_rows)
        assert torch.allclose(source.mean(rows), module(rows), atol=1e-6)


def write_quadratic(path: Path, depth: int) -> None:
    """Actions [B, 2] = 0, by way of a tensor [B, B, depth]: a few hundred bytes."""
    node = onnx.helper.make_node
    constants = {"last": [2], "depth": [depth], "axes": [1, 2], "one": [1]}
    graph = onnx.helper.make_graph(
        [
            node("Transpose", ["x"], ["t"], perm=[1, 0]),
            node("MatMul", ["x", "t"], ["square"]),
            node("Unsqueeze", ["square", "last"], ["cube"]),
            node("ConstantOfShape", ["depth"], ["zeros"]),
            node("Mul", ["cube", "zeros"], ["big"]),
            node("ReduceSum", ["big", "axes"], ["sums"], keepdims=0),
            node("Unsqueeze", ["sums", "one"], ["column"]),
            node("Concat", ["column", "column"], ["y"], axis=1),
        ],
        "quadratic",
        [onnx.helper.make_tensor_value_info("x", FLOAT, ["B", 11])],
        [onnx.helper.make_tensor_value_info("y", FLOAT, ["B", 2])],
        [_constant(name, np.array(value)) for name, value in constants.items()],
    )
    opset = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(model.SerializeToString())


def test_a_graph_that_grows_with_its_rows_squared_fails(spacil: Spacil, tmp_path: Path) -> None:
    path = tmp_path / "greedy.onnx"
    write_quadratic(path, depth=100_000)
    assert path.stat().st_size < 1_000
    refusal = spacil("smoothness", path, "--task", "Reacher-v4", "--episodes", 1)
    assert refusal.code == 65
    assert "greedy.onnx" in refusal.err


def test_many_rows_are_computed_in_the_portions_that_were_tried(tmp_path: Path) -> None:
    write_quadratic(tmp_path / "small.onnx", depth=10)
    source = open_policy(tmp_path / "small.onnx")
    assert source.mean(torch.zeros(1_000, 11)).shape == (1_000, 2)


def _constant(name: str, values: np.ndarray) -> Any:
    return onnx.numpy_helper.from_array(values, name)


def _append(model: Any, *nodes: Any, **constants: np.ndarray) -> None:
    """More nodes between the policy's last one, now "pre", and its output."""
    model.graph.node[-1].output[0] = "pre"
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(_constant(*item) for item in constants.items())


def _swelling(model: Any) -> None:
    """A constant of gigabytes, made when the graph is computed."""
    node = onnx.helper.make_node
    _append(
        model,
        node("ConstantOfShape", ["shape"], ["big"]),
        node("ReduceSum", ["big"], ["sum"], keepdims=0),
        node("Add", ["pre", "sum"], ["action"]),
        shape=np.array([10**10]),
    )


def _endless(model: Any) -> None:
    """A loop that would take years."""
    port = onnx.helper.make_tensor_value_info
    bool_ = onnx.TensorProto.BOOL
    body = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Identity", ["c"], ["d"]),
            onnx.helper.make_node("Tanh", ["v"], ["w"]),
        ],
        "body",
        [port("i", INT64, []), port("c", bool_, []), port("v", FLOAT, None)],
        [port("d", bool_, []), port("w", FLOAT, None)],
    )
    loop = onnx.helper.make_node("Loop", ["times", "go", "pre"], ["action"], body=body)
    _append(model, loop, times=np.array(10**12), go=np.array(True))


def _input(kind: int, shape: list[Any]) -> Callable[[Any], None]:
    port = onnx.helper.make_tensor_value_info("obs", kind, shape)
    return lambda model: model.graph.input[0].CopyFrom(port)


def _poison(model: Any) -> None:
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(_constant(tensor.name, np.full((16, 11), np.nan, np.float32)))


def _dice(model: Any) -> None:
    noise = onnx.helper.make_node("RandomNormalLike", ["pre"], ["noise"])
    _append(model, noise, onnx.helper.make_node("Add", ["pre", "noise"], ["action"]))


def _mixed_rows(model: Any) -> None:
    mean = onnx.helper.make_node("ReduceMean", ["pre"], ["m"], axes=[0], keepdims=1)
    _append(model, mean, onnx.helper.make_node("Add", ["pre", "m"], ["action"]))


HOSTILE: dict[str, Callable[[Any], None]] = {
    "two inputs": lambda model: model.graph.input.append(model.graph.output[0]),
    "no output": lambda model: model.graph.ClearField("output"),
    "integers in": _input(INT64, ["batch", 11]),
    "three axes in": _input(FLOAT, ["batch", 1, 11]),
    "a state too wide": _input(FLOAT, ["batch", 12]),
    "dimensions that lie": lambda model: model.graph.initializer[0].dims.__setitem__(0, 2**40),
    "an unknown operator": lambda model: setattr(model.graph.node[0], "op_type", "RunShell"),
    "a missing node": lambda model: model.graph.node.__delitem__(1),
    "another version": lambda model: setattr(model.opset_import[0], "version", 2**62),
    "NaN": _poison,
    "dice": _dice,
    "rows mixed": _mixed_rows,
    "a swelling constant": _swelling,
    "an endless loop": _endless,
    "a huge batch": _input(FLOAT, [10**12, 11]),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_graph_that_is_no_policy_is_refused(kind: str, one_file: Path) -> None:
    model = onnx.load(one_file)
    HOSTILE[kind](model)
    one_file.write_bytes(model.SerializeToString())
    with pytest.raises(DataError, match=NAME):
        open_policy(one_file).require_function(states())


@pytest.mark.parametrize("damage", ["cut short", "text", "empty", "a folder", "missing"])
def test_what_is_no_onnx_file_is_refused(damage: str, one_file: Path) -> None:
    content = one_file.read_bytes()
    one_file.unlink()
    match damage:
        case "cut short":
            one_file.write_bytes(content[:-100])
        case "text":
            one_file.write_text("404 Not Found\n")
        case "empty":
            one_file.touch()
        case "a folder":
            one_file.mkdir()
    with pytest.raises(DataError, match=NAME):
        open_policy(one_file)
