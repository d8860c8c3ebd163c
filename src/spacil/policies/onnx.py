"""ONNX both ways: a file as a policy, and a policy of spacil's as a file.

A file is only data: onnxruntime computes its graph on the CPU and imports nothing. It is tried in
a limited child process first; a graph of a few bytes can ask for any amount of memory and time.
Weights in a second file beside it are read by onnxruntime. The child imports this file: no torch.

A written graph is the whole of `predict`, node by node, without a tracer: raw observations in,
final actions out, any number of rows.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from spacil.errors import ConfigError, DataError
from spacil.foreign import read_foreign
from spacil.version import __version__

if TYPE_CHECKING:
    from spacil.nets.policy import GaussianPolicy

OPSET = 18
INPUT, OUTPUT = "observation", "action"
PAST = ("commands", "past_observations")
"""Inputs of a policy with a history, beside the observation; the outputs are `next_` of them"""
_PAST_PORTS = {*PAST, *(f"next_{name}" for name in PAST)}
_IR_VERSION = 8
"""Version of the ONNX release that brought opset 18: older runtimes read no newer one"""
_PRODUCER = "spacil"
"""`producer_name` of files that name their task"""
_MAX_ROWS = 256
"""States that are computed at once: as many as the file is tried with, and never more"""
_DTYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


class OnnxGraph:
    """A graph, in a file or in its content, that maps states [B, S] to actions [B, A]."""

    def __init__(self, model: str | bytes, name: Path, num_threads: int = 1) -> None:
        onnxruntime = import_or_explain("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # the exception says what is wrong
        try:
            self._session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        except MemoryError:
            raise
        except Exception as error:  # its exception classes share no public base
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise DataError(
                f"{name}: not a usable ONNX file, damaged or of another kind: {reason}"
            ) from None
        about = self._session.get_modelmeta()
        is_ours = about.producer_name == _PRODUCER
        ports, parts = [], dict[str, int]()
        for noun, found, letters in (
            ("input", self._session.get_inputs(), "states [B, S]"),
            ("output", self._session.get_outputs(), "actions [B, A]"),
        ):
            if is_ours and len(found) > 1 and {port.name for port in found[1:]} <= _PAST_PORTS:
                if noun == "input":
                    parts = {port.name: port.shape[1] for port in found}
                found = found[:1]
            if len(found) != 1 or len(found[0].shape) != 2:
                shapes = ", ".join(f"{port.name!r} {port.shape}" for port in found) or "none"
                raise DataError(
                    f"{name}: has {len(found)} {noun}s ({shapes}), expected one batch of "
                    f"{letters}; export the policy with a single {noun}"
                )
            ports += found
        self._input, self._output = ports
        if self._input.type not in _DTYPES:
            raise DataError(f"{name}: its input is {self._input.type}, expected float or double")
        sizes = [s if isinstance(s, int) else None for port in ports for s in port.shape]
        if 0 in sizes:
            raise DataError(f"{name}: has a batch or width of 0, expected 1 or more")
        self._batch, self.num_states, _, self.num_actions = sizes
        """None for a size that the file leaves open"""
        self._parts = parts or {self._input.name: self.num_states or 0}
        """Name of each input -> its columns of the states"""
        if parts:
            self.num_states = sum(parts.values())
        self.task: str | None = about.custom_metadata_map.get("task") if is_ours else None
        """Task it was trained on; only files of spacil say so"""
        self.conditions = about.custom_metadata_map.get("conditions", "{}") if is_ours else "{}"
        """JSON of the conditions it was made for; likewise"""

    def act(self, states: NDArray[Any]) -> NDArray[Any]:
        rows, num_rows = states.astype(_DTYPES[self._input.type], copy=False), len(states)
        if self._batch is not None:  # the one size that it takes: its last row fills the rest
            rows = np.concatenate([rows, np.repeat(rows[-1:], -num_rows % self._batch, axis=0)])
        size = self._batch or _MAX_ROWS
        parts = [rows[i : i + size] for i in range(0, len(rows), size)] or [rows]
        actions = [
            np.atleast_1d(self._session.run([self._output.name], self._split(part))[0])
            for part in parts
        ]
        return np.concatenate(actions)[:num_rows]

    def step(self, inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Every output by name, for inputs by name."""
        names = [port.name for port in self._session.get_outputs()]
        return dict(zip(names, self._session.run(names, inputs), strict=True))

    def _split(self, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
        ends = np.cumsum(list(self._parts.values()))[:-1]
        return dict(zip(self._parts, np.split(rows, ends, axis=1), strict=True))


def read_onnx(path: Path, num_threads: int = 1) -> OnnxGraph:
    """Open a file, after a trial in the child; refuse one that is no policy."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; check the path")
    read_foreign(_try, path, "onnxruntime", "export")
    return OnnxGraph(str(path), path, num_threads)


def _try(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compute the graph for one state and for many."""
    graph = OnnxGraph(str(path), path)
    rng = np.random.default_rng(0)
    for num_rows in (1, _MAX_ROWS) if graph.num_states else ():
        graph.act(rng.normal(size=(num_rows, graph.num_states or 0)))
    return {}, {}


def import_or_explain(library: Literal["onnx", "onnxruntime"]) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError:
        verb = "writing" if library == "onnx" else "reading"
        raise ConfigError(f"{verb} ONNX needs {library}: pip install 'spacil[export]'") from None


# --- writing


Arrays = dict[str, NDArray[np.float32]]


def arrays_of(policy: "GaussianPolicy") -> tuple[Arrays, list[tuple[Any, Any]]]:
    """The numbers of `predict`: by name, and (weight [out, in], bias [out]) of each layer."""

    def array(tensor: Any) -> NDArray[np.float32]:
        return np.ascontiguousarray(tensor.detach().cpu().numpy(), np.float32)

    normalizer = policy.normalizer
    numbers = {"shift": normalizer.shift, "scale": normalizer.scale}
    numbers |= {"low": policy.action_low, "high": policy.action_high}
    layers = [(array(weight), array(bias)) for weight, bias in policy.mean_net.weights_and_biases]
    return {name: array(tensor) for name, tensor in numbers.items()}, layers


def onnx_bytes(
    policy: "GaussianPolicy",
    metadata: Mapping[str, str],
    widths: tuple[int, int, int] | None = None,
) -> bytes:
    """An ONNX file: `observation` [batch, S] -> `action` [batch, A], float32.

    `widths`: those of the observation, of commands and of past observations, where the policy sees
    them; they are inputs of their own, and what they are in the next step are outputs.
    """
    from spacil.nets.policy import CLIP  # loads torch

    onnx = import_or_explain("onnx")
    node: Callable[..., Any] = onnx.helper.make_node
    numbers: dict[str, Any]
    numbers, layers = arrays_of(policy)
    limit = np.float32(CLIP)
    numbers |= {"lower_limit": np.array(-limit), "upper_limit": np.array(limit)}
    past = {n: w for n, w in zip(PAST, widths[1:], strict=True) if w} if widths else {}
    whole = "input" if past else INPUT
    nodes = [node("Concat", [INPUT, *past], [whole], axis=1)] if past else []
    nodes += [
        node("Sub", [whole, "shift"], ["centred"]),
        node("Mul", ["centred", "scale"], ["scaled"]),
        node("Clip", ["scaled", "lower_limit", "upper_limit"], ["hidden_0"]),
    ]
    for i, (weight, bias) in enumerate(layers, start=1):
        numbers |= {f"weight_{i}": weight, f"bias_{i}": bias}
        names = [f"hidden_{i - 1}", f"weight_{i}", f"bias_{i}"]
        nodes.append(node("Gemm", names, [f"linear_{i}"], transB=1))
        if i < len(layers):
            nodes.append(node("Tanh", [f"linear_{i}"], [f"hidden_{i}"]))
    # Clip takes one bound for all columns, and each action has its own.
    nodes.append(node("Min", [f"linear_{len(layers)}", "high"], ["not_above"]))
    nodes.append(node("Max", ["not_above", "low"], [OUTPUT]))
    for name, width in past.items():
        newest = OUTPUT if name == PAST[0] else INPUT
        numbers[f"{name}_end"] = np.array([width], np.int64)
        nodes.append(node("Concat", [newest, name], [f"longer_{name}"], axis=1))
        ends = ["from", f"{name}_end", "columns"]
        nodes.append(node("Slice", [f"longer_{name}", *ends], [f"next_{name}"]))
    if past:
        numbers |= {"from": np.array([0], np.int64), "columns": np.array([1], np.int64)}

    def values(sizes: Mapping[str, int]) -> list[Any]:
        return [
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", width])
            for name, width in sizes.items()
        ]

    inputs = values({INPUT: widths[0] if widths else policy.num_states, **past})
    later = {f"next_{name}": width for name, width in past.items()}
    outputs = values({OUTPUT: policy.num_actions, **later})
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in numbers.items()]
    graph = onnx.helper.make_graph(nodes, "policy", inputs, outputs, constants)
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name=_PRODUCER,
        producer_version=__version__,
    )
    onnx.helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content
