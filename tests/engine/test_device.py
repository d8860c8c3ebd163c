"""Which device a name means, and names that mean none."""

import pytest
import torch

from spacil.engine.device import resolve_device
from spacil.errors import ConfigError


def test_devices_are_resolved_or_refused() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    for name in ("gpu", "", "meta", "mps"):
        with pytest.raises(ConfigError, match="expected cpu, cuda, cuda:N or auto"):
            resolve_device(name)
    with pytest.raises(ConfigError, match="--device cuda:99: "):
        resolve_device("cuda:99")
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto").type == expected
