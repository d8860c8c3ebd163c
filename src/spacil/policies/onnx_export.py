"""Writing a policy as an ONNX graph, node by node: no tracer, no second file.

The graph is the whole of `predict`: raw observations in, final actions out, any number of rows.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spacil.errors import ConfigError
from spacil.policies.onnx_policy import PRODUCER
from spacil.policies.plain_network import PlainNetwork
from spacil.version import __version__

OPSET = 18
IR_VERSION = 8
"""Of the ONNX release that brought opset 18: older runtimes read no newer one"""
INPUT, OUTPUT = "observation", "action"


def onnx_bytes(network: PlainNetwork, metadata: Mapping[str, str]) -> bytes:
    """An ONNX file: `observation` [batch, S] -> `action` [batch, A], float32."""
    helper = load_writer().helper
    nodes, numbers = _graph_of(network)
    graph = helper.make_graph(
        [helper.make_node(*node, **options) for node, options in nodes],
        "policy",
        [_port(INPUT, network.num_states)],
        [_port(OUTPUT, network.num_actions)],
        [load_writer().numpy_helper.from_array(array, name) for name, array in numbers.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name=PRODUCER,
        producer_version=__version__,
    )
    helper.set_model_props(model, dict(metadata))
    load_writer().checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def load_writer() -> Any:
    """The onnx package."""
    try:
        import onnx
    except ImportError:
        raise ConfigError("writing ONNX needs onnx: pip install 'spacil[export]'") from None
    return onnx


Node = tuple[tuple[str, list[str], list[str]], dict[str, int]]
"""(operator, inputs, outputs), attributes"""


def _graph_of(network: PlainNetwork) -> tuple[list[Node], dict[str, Any]]:
    """Nodes in the order of computing, and the constants that they name."""
    limit = np.float32(network.limit)
    numbers: dict[str, Any] = {
        "shift": network.shift,
        "scale": network.scale,
        "lower_limit": np.array(-limit),
        "upper_limit": np.array(limit),
        "action_low": network.action_low,
        "action_high": network.action_high,
    }
    nodes: list[Node] = [
        (("Sub", [INPUT, "shift"], ["centred"]), {}),
        (("Mul", ["centred", "scale"], ["scaled"]), {}),
        (("Clip", ["scaled", "lower_limit", "upper_limit"], ["hidden_0"]), {}),
    ]
    for i, (weight, bias) in enumerate(network.layers, start=1):
        numbers |= {f"weight_{i}": weight, f"bias_{i}": bias}
        names = [f"hidden_{i - 1}", f"weight_{i}", f"bias_{i}"]
        nodes.append((("Gemm", names, [f"linear_{i}"]), {"transB": 1}))
        if i < len(network.layers):
            nodes.append((("Tanh", [f"linear_{i}"], [f"hidden_{i}"]), {}))
    # Clip takes one bound for all columns, and each action has its own.
    nodes += [
        (("Min", [f"linear_{len(network.layers)}", "action_high"], ["not_above"]), {}),
        (("Max", ["not_above", "action_low"], [OUTPUT]), {}),
    ]
    return nodes, numbers


def _port(name: str, width: int) -> Any:
    onnx = load_writer()
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", width])
