"""Modules, Adam optimisers as tensors by name, and back; parts by prefix."""

from collections.abc import Mapping

from torch import Tensor, nn

from spacil.engine.adam import Adam


def module_tensors(modules: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """Parameters and buffers of modules, each under its module's name."""
    named: dict[str, Tensor] = {}
    for name, module in modules.items():
        named |= prefixed(f"{name}.", module.state_dict())
    return named


def restore_modules(modules: Mapping[str, nn.Module], tensors: Mapping[str, Tensor]) -> None:
    """Restore what `module_tensors` returned."""
    for name, module in modules.items():
        module.load_state_dict(with_prefix(tensors, f"{name}."))


def copies_on_cpu(named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors that nothing else writes to."""
    return {name: value.detach().cpu().contiguous().clone() for name, value in named.items()}


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


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors under longer names."""
    return {f"{prefix}{name}": value for name, value in tensors.items()}


def with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose name starts with `prefix`, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
