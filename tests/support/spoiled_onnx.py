"""Damaged and hostile ONNX policies, each from a seed.

Damage to the bytes and to what stands in a file's place is that of `corrupted_files`. Here is what
only ONNX can be: lengths of protobuf that lie, weights in other files, graphs of another kind of
function, and small graphs that ask for much memory or time.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from corrupted_files import BYTE_DAMAGE, PLACE_DAMAGE, PlaceDamage, Rng
from onnx import TensorProto, helper, numpy_helper
from policies_of_others import make_module, write_onnx

NUM_STATES, NUM_ACTIONS = 11, 2
NAME = "policy.onnx"
WEIGHTS = "weights.bin"
"""Holds the right weights, beside the policy and in the working folder: read from there alone,
under this plain name, and only as a whole."""

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64

Model = Any
Forgery = Callable[[Model, Rng], None]


def write_good(folder: Path) -> Path:
    """A policy that can be read, and its first weights once more in files of their own."""
    path = write_onnx(make_module(NUM_STATES, NUM_ACTIONS), folder / NAME)
    for place in (folder, Path()):
        (place / WEIGHTS).write_bytes(onnx.load(path).graph.initializer[0].raw_data)
    return path


def is_same_but_for_numbers(one: Path, other: Path) -> bool:
    """Whether two files differ in nothing but the numbers of their weights."""

    def skeleton(path: Path) -> bytes:
        model = onnx.load_model_from_string(path.read_bytes())
        for tensor in model.graph.initializer:
            tensor.raw_data = bytes(len(tensor.raw_data))
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    return skeleton(one) == skeleton(other)


def _forged(forgery: Forgery) -> PlaceDamage:
    """The same policy written anew with another meaning; nothing checks it first."""

    def damage(path: Path, rng: Rng) -> None:
        model = onnx.load_model_from_string(path.read_bytes())
        forgery(model, rng)
        path.write_bytes(model.SerializeToString())

    return damage


# --- lengths that lie

_MESSAGES = {"model": {7: "graph", 8: "opset"}, "graph": {1: "node", 5: "tensor", 11: "value"}}
"""Field numbers of ONNX that hold messages worth walking into."""


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = content[place]
        value |= (byte & 127) << shift
        shift, place = shift + 7, place + 1
        if byte < 128:
            return value, place


def _as_varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _lengths(content: bytes, start: int, stop: int, kind: str) -> Iterator[tuple[int, int, int]]:
    """Where each length stands, where it ends, and what it says."""
    while start < stop:
        key, place = _varint(content, start)
        value, after = _varint(content, place)
        match key & 7:
            case 0:
                start = after
            case 1:
                start = place + 8
            case 2:
                yield place, after, value
                inner = _MESSAGES.get(kind, {}).get(key >> 3)
                if inner is not None:
                    yield from _lengths(content, after, after + value, inner)
                start = after + value
            case _:
                start = place + 4


def _lie_about_a_length(path: Path, rng: Rng) -> None:
    content = path.read_bytes()
    place, after, length = rng.choice(list(_lengths(content, 0, len(content), "model")))
    lies = [length + rng.randint(1, 1000), 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1]
    if length:
        lies += [length - 1, rng.randrange(length)]
    path.write_bytes(content[:place] + _as_varint(rng.choice(lies)) + content[after:])


# --- weights in other files


def _external(*locations: str) -> Forgery:
    def forge(model: Model, rng: Rng) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        entries = {"location": rng.choice(locations)}
        if rng.random() < 0.5:
            entries["offset"] = str(rng.choice([0, 4096, 2**40, 2**63 - 1, -4]))
            entries["length"] = str(4 * 16 * NUM_STATES)
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)

    return forge


_CLIMBING = (
    f"./{WEIGHTS}",
    f"copy/../{WEIGHTS}",
    f"copy/{WEIGHTS}",
    f"../{WEIGHTS}",
    "../" * 9 + "etc/passwd",
    "..",
)
_ABSOLUTE = ("/etc/passwd", "/dev/zero", "/proc/self/mem", "//etc/passwd")
_ODD = ("", ".", "*/_ORT_MEM_ADDR_/*", "file:///etc/passwd", "a\0b", "x" * 5000, NAME)


# --- another kind of function


def _port(name: str, kind: int, shape: list[Any] | None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _replace_input(kind: int, shape: list[Any]) -> Forgery:
    return lambda model, rng: model.graph.input[0].CopyFrom(_port("obs", kind, shape))


def _replace_output(kind: int, shape: list[Any]) -> Forgery:
    return lambda model, rng: model.graph.output[0].CopyFrom(_port("action", kind, shape))


def _two_inputs(model: Model, rng: Rng) -> None:
    model.graph.input.append(_port("mask", TensorProto.FLOAT, ["batch", rng.randint(1, 99)]))


def _two_outputs(model: Model, rng: Rng) -> None:
    model.graph.output.append(_port(rng.choice("hty"), TensorProto.FLOAT, ["batch", None]))


def _other_widths(path: Path, rng: Rng) -> None:
    """In order, but of another task."""
    states = rng.choice([1, 10, 12, 376])
    write_onnx(make_module(states, rng.randint(1, 5)), path)


def _edit_weights(model: Model, rng: Rng, edit: Callable[[np.ndarray], np.ndarray]) -> None:
    tensor = rng.choice(model.graph.initializer)
    values = edit(numpy_helper.to_array(tensor).copy())
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), tensor.name))


def _poison(value: float) -> Forgery:
    def edit(values: np.ndarray) -> np.ndarray:
        values[...] = value
        return values

    return lambda model, rng: _edit_weights(model, rng, edit)


def _as_type(*kinds: str) -> Forgery:
    return lambda model, rng: _edit_weights(
        model, rng, lambda values: values.astype(rng.choice(kinds))
    )


def _column_less(model: Model, rng: Rng) -> None:
    """Of any but the last bias: two numbers less one are a valid bias, one for all actions."""
    tensor = rng.choice(model.graph.initializer[:-1])
    values = np.ascontiguousarray(numpy_helper.to_array(tensor)[..., :-1])
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _lying_dims(model: Model, rng: Rng) -> None:
    """Dimensions that the numbers stored do not fill."""
    tensor = rng.choice(model.graph.initializer)
    axis = rng.randrange(len(tensor.dims))
    tensor.dims[axis] = rng.choice([0, -1, 1, tensor.dims[axis] + 1, 2**31, 2**40, 2**62])


def _lying_type(model: Model, rng: Rng) -> None:
    kinds = (0, TensorProto.DOUBLE, TensorProto.INT8, TensorProto.STRING, 99, -1)
    rng.choice(model.graph.initializer).data_type = rng.choice(kinds)


def _unknown_operator(model: Model, rng: Rng) -> None:
    node = rng.choice(model.graph.node)
    node.op_type = rng.choice(["RunShell", "", "Gemm2", "PyOp"])
    node.domain = rng.choice(["", "com.microsoft", "ai.onnx.contrib", "evil"])


def _loose_ends(model: Model, rng: Rng) -> None:
    """A cycle, a missing node, or a name given twice."""
    nodes = model.graph.node
    match rng.randrange(3):
        case 0:
            nodes[0].input[0] = "t"
        case 1:
            del nodes[rng.randrange(len(nodes))]
        case _:
            nodes.append(helper.make_node("Tanh", ["h"], ["t"]))


def _of_another_version(model: Model, rng: Rng) -> None:
    if rng.random() < 0.5:
        model.ir_version = rng.choice([0, 99, 2**62])
    else:
        model.opset_import[0].version = rng.choice([0, 99, 2**62])


def _append(model: Model, *nodes: Any, **constants: np.ndarray) -> None:
    """More nodes between the policy's last one, now "pre", and its output."""
    model.graph.node[-1].output[0] = "pre"
    model.graph.node.extend(nodes)
    for name, values in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(values, name))


def _dice(model: Model, rng: Rng) -> None:
    noise = helper.make_node("RandomNormalLike", ["pre"], ["noise"], scale=1.0)
    _append(model, noise, helper.make_node("Add", ["pre", "noise"], ["action"]))


def _mixed_rows(model: Model, rng: Rng) -> None:
    mean = helper.make_node("ReduceMean", ["pre"], ["m"], axes=[0], keepdims=1)
    _append(model, mean, helper.make_node("Add", ["pre", "m"], ["action"]))


# --- small files that ask for much


def _swelling(model: Model, rng: Rng) -> None:
    """A constant of gigabytes, made when the graph is computed."""
    shape = np.array([rng.choice([10**9, 10**10, 10**15, 2**62])], np.int64)
    _append(
        model,
        helper.make_node("ConstantOfShape", ["shape"], ["big"]),
        helper.make_node("ReduceSum", ["big"], ["sum"], keepdims=0),
        helper.make_node("Add", ["pre", "sum"], ["action"]),
        shape=shape,
    )


def _endless(model: Model, rng: Rng) -> None:
    """A loop that would take years."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Tanh", ["v"], ["w"])],
        "body",
        [_port("i", INT64, []), _port("c", TensorProto.BOOL, []), _port("v", FLOAT, None)],
        [_port("d", TensorProto.BOOL, []), _port("w", FLOAT, None)],
    )
    _append(
        model,
        helper.make_node("Loop", ["times", "go", "pre"], ["action"], body=body),
        times=np.array(rng.choice([10**10, 2**62]), np.int64),
        go=np.array(True),
    )


def _huge_batch(model: Model, rng: Rng) -> None:
    size = rng.choice([10**9, 10**12, 2**62])
    for port in (model.graph.input[0], model.graph.output[0]):
        port.type.tensor_type.shape.dim[0].dim_value = size


def _nested(path: Path, rng: Rng) -> None:
    """Messages within messages, deeper than a parser's stack."""
    content = b""
    for _ in range(rng.choice([150, 5000])):
        content = b"\x3a" + _as_varint(len(content)) + content  # a graph in a graph
    path.write_bytes(content)


def _other_format(path: Path, rng: Rng) -> None:
    """The mark of the runtime's own format, before noise or the old content."""
    content = rng.choice([path.read_bytes()[8:], rng.randbytes(500)])
    path.write_bytes(rng.randbytes(4) + b"ORTM" + content)


def _in_file(name: str) -> PlaceDamage:
    damage = BYTE_DAMAGE[name]
    return lambda path, rng: path.write_bytes(damage(path.read_bytes(), rng)) and None


MAY_CHANGE: dict[str, PlaceDamage] = {
    kind: _in_file(kind)
    for kind in ("one bit flipped", "bits flipped", "a block of zeros", "a block of noise")
}
"""Anywhere in the file, so also in a number, where nothing can tell."""

INFINITE: dict[str, PlaceDamage] = {"infinity": _forged(_poison(np.inf))}
"""Behind a tanh the actions are finite. Weights are not looked at; graphs may hold infinities."""

MAY_STAY: dict[str, PlaceDamage] = {
    "noise appended": _in_file("noise appended"),
    "a block lost": _in_file("a block lost"),
    "a block twice": _in_file("a block twice"),
    "a length that lies": _lie_about_a_length,
    "an action too wide": _forged(_replace_output(FLOAT, ["batch", NUM_ACTIONS + 1])),
    "of another version": _forged(_of_another_version),
    "weights in a file beside it": _forged(_external(WEIGHTS)),
    "three axes out": _forged(_replace_output(FLOAT, ["batch", 1, NUM_ACTIONS])),
}
"""Refused, or of no effect: a field that nobody knows, a label whose content is told by others."""

CUTS: dict[str, PlaceDamage] = {k: _in_file(k) for k in ("cut short", "cut at the front")}

HOSTILE: dict[str, PlaceDamage] = (
    {name: _in_file(name) for name in list(BYTE_DAMAGE)[9:]}
    | PLACE_DAMAGE
    | {
        "the runtime's own format": _other_format,
        "nested messages": _nested,
        "of other widths": _other_widths,
    }
    | {
        kind: _forged(forgery)
        for kind, forgery in {
            "weights behind a climbing path": _external(*_CLIMBING),
            "weights behind an absolute path": _external(*_ABSOLUTE),
            "weights behind an odd path": _external(*_ODD),
            "two inputs": _two_inputs,
            "no input": lambda model, rng: model.graph.ClearField("input"),
            "two outputs": _two_outputs,
            "no output": lambda model, rng: model.graph.ClearField("output"),
            "integers in": _replace_input(INT64, ["batch", NUM_STATES]),
            "doubles in": _replace_input(DOUBLE, ["batch", NUM_STATES]),
            "text in": _replace_input(TensorProto.STRING, ["batch", NUM_STATES]),
            "one axis in": _replace_input(FLOAT, [NUM_STATES]),
            "three axes in": _replace_input(FLOAT, ["batch", 1, NUM_STATES]),
            "a state too wide": _replace_input(FLOAT, ["batch", NUM_STATES + 1]),
            "integers out": _replace_output(INT64, ["batch", NUM_ACTIONS]),
            "NaN": _poison(np.nan),
            "weights of another type": _as_type("float16", "float64", "int32", "bool"),
            "a column less": _column_less,
            "dimensions that lie": _lying_dims,
            "a type that lies": _lying_type,
            "an unknown operator": _unknown_operator,
            "loose ends": _loose_ends,
            "dice": _dice,
            "rows mixed": _mixed_rows,
            "a swelling constant": _swelling,
            "an endless loop": _endless,
            "a huge batch": _huge_batch,
        }.items()
    }
)
"""Nothing of it may be read."""
