"""Modules, Adam optimisers and their memory as tensors by name, and back."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

_ADAM_SLOTS = ("exp_avg", "exp_avg_sq", "step")


def optimizer_tensors(
    name: str, module: nn.Module, optimizer: torch.optim.Adam
) -> dict[str, Tensor]:
    """Adam's memory by parameter name; zeros before the first step, so the names never change."""
    named: dict[str, Tensor] = {}
    for key, parameter in module.named_parameters():
        state = optimizer.state.get(parameter) or _fresh_adam_state(parameter, optimizer)
        named |= {f"optimizer.{name}.{slot}.{key}": state[slot] for slot in _ADAM_SLOTS}
    return named


def restore_optimizer(
    name: str, module: nn.Module, optimizer: torch.optim.Adam, tensors: Mapping[str, Tensor]
) -> None:
    """Put back what `optimizer_tensors` took."""
    for key, parameter in module.named_parameters():
        state = _fresh_adam_state(parameter, optimizer)
        for slot in _ADAM_SLOTS:
            state[slot].copy_(tensors[f"optimizer.{name}.{slot}.{key}"])
        optimizer.state[parameter] = state


def _fresh_adam_state(parameter: Tensor, optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    # A fused Adam counts its steps where the parameters are, a plain one on the CPU.
    device = parameter.device if optimizer.defaults["fused"] else None
    return {
        "step": torch.zeros((), dtype=torch.float32, device=device),
        "exp_avg": torch.zeros_like(parameter, requires_grad=False),
        "exp_avg_sq": torch.zeros_like(parameter, requires_grad=False),
    }


def with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose name starts with `prefix`, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
