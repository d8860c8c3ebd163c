"""The state of Adam optimisers as tensors by name, and back; parts of a checkpoint by prefix."""

from collections.abc import Mapping

from torch import Tensor, nn

from spacil.engine.adam import Adam


def optimizer_tensors(name: str, module: nn.Module, optimizer: Adam) -> dict[str, Tensor]:
    """Adam's moments and step count by parameter name."""
    keys = [key for key, _ in module.named_parameters()]
    slots = {
        "exp_avg": optimizer.by_parameter(optimizer.mean),
        "exp_avg_sq": optimizer.by_parameter(optimizer.square),
        "step": [optimizer.num_steps] * len(keys),
    }
    return {
        f"optimizer.{name}.{slot}.{key}": tensor
        for slot, tensors in slots.items()
        for key, tensor in zip(keys, tensors, strict=True)
    }


def restore_optimizer(
    name: str, module: nn.Module, optimizer: Adam, tensors: Mapping[str, Tensor]
) -> None:
    """Restore what `optimizer_tensors` returned."""
    for key, place in optimizer_tensors(name, module, optimizer).items():
        place.copy_(tensors[key])


def with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose name starts with `prefix`, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
