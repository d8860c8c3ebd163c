"""Policies of others, built by hand: one network in every form that spacil can read."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn


def make_module(num_states: int = 11, num_actions: int = 2, seed: int = 0) -> nn.Sequential:
    """A small tanh MLP with the same start every time."""
    generator = torch.Generator().manual_seed(seed)
    module = nn.Sequential(nn.Linear(num_states, 16), nn.Tanh(), nn.Linear(16, num_actions))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    return module


def write_onnx(
    module: nn.Sequential,
    path: Path,
    batch: int | str = "batch",
    inputs: tuple[str, ...] = ("obs",),
) -> Path:
    """The same network as an ONNX graph; more than one input makes a file to be refused."""
    first, last = (layer for layer in module if isinstance(layer, nn.Linear))
    tensors = (first.weight, first.bias, last.weight, last.bias)
    constants = [
        numpy_helper.from_array(tensor.detach().numpy(), name)
        for tensor, name in zip(tensors, ("w1", "b1", "w2", "b2"), strict=True)
    ]
    source = inputs[0]
    nodes = [
        helper.make_node("Gemm", [source, "w1", "b1"], ["h"], transB=1),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("Gemm", ["t", "w2", "b2"], ["y"], transB=1),
    ]
    for i, other in enumerate(inputs[1:]):
        nodes.append(helper.make_node("ReduceSum", [other], [f"unused{i}"]))
    nodes.append(helper.make_node("Identity", ["y"], ["action"]))
    width = first.in_features
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [batch, width]) for n in inputs],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, [batch, last.out_features])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def as_function(module: nn.Module) -> Any:
    """The same network as a plain numpy function."""

    def act(states: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return module(torch.from_numpy(states)).numpy()

    return act
