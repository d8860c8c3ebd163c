"""Where updates run."""

import logging

import torch

from spacil.errors import ConfigError

_logger = logging.getLogger(__name__)


def resolve_device(name: str) -> torch.device:
    """cpu, cuda, cuda:1, or auto: cuda when there is one."""
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        if not has_cuda:
            _logger.info("no CUDA device here: --device auto is the CPU")
        return torch.device("cuda" if has_cuda else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"--device {name}: expected cpu, cuda, cuda:N or auto") from error
    if device.type == "cuda" and not has_cuda:
        raise ConfigError(f"--device {name}: no CUDA device here; use --device cpu or auto")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"--device {name}: there are {torch.cuda.device_count()} CUDA devices")
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"--device {name}: expected cpu, cuda, cuda:N or auto")
    return device
