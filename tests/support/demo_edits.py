"""Demonstrations with other numbers: what a test changes about a good record."""

from typing import Any

from spacil.demos.demonstrations import Demonstrations


def with_tensors(demos: Demonstrations, **changes: Any) -> Demonstrations:
    """The record with some of its flat tensors replaced; None leaves one out."""
    tensors = {**demos.tensors(), **changes}
    held = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    return Demonstrations.from_tensors(held, demos.metadata, demos.source)


def with_value(demos: Demonstrations, name: str, row: Any, value: Any) -> Demonstrations:
    """The record with another value in some rows of one flat tensor."""
    tensor = demos.tensors()[name].clone()
    tensor[row] = value
    return with_tensors(demos, **{name: tensor})
