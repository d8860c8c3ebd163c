"""States to measure on that do not depend on the policy: demonstrations, or a file of states.

On its own trajectories a policy is measured where it goes; two policies go to different places,
and a fallen one to a quiet place. On fixed states they are asked the same questions.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.demos.findings import require_finite
from spacil.demos.formats.npz import read_arrays
from spacil.errors import DataError
from spacil.foreign import read_foreign

_NAMES = ("states", "observations", "obs")


@dataclass(frozen=True)
class FixedStates:
    """Raw states and where they are from."""

    states: Tensor
    """[B, S]"""
    origin: str


def demonstrated_states(demos: Demonstrations) -> FixedStates:
    """The states that the demonstrator acted in."""
    return FixedStates(demos.states, demos.source)


def load_states(path: Path) -> FixedStates:
    """From an npz file with an array `states`, `observations` or `obs`; or from demonstrations."""
    if path.suffix.lower() != ".npz":
        demos = load_demos(path)
        require_finite(demos)
        return demonstrated_states(demos)
    arrays, notes = read_foreign(read_arrays, path)
    array = next((arrays[name] for name in _NAMES if name in arrays), None)
    if array is None:
        held = sorted([*arrays, *notes["ignored"]])
        raise DataError(f"{path}: has no array named {' or '.join(_NAMES)}; it has {held}")
    return FixedStates(checked_states(torch.from_numpy(array), str(path)), str(path))


def checked_states(states: Tensor, origin: str) -> Tensor:
    """[B, S], finite, at least one; anything else is refused."""
    if states.ndim == 3:  # [episodes, steps, S]
        states = states.flatten(0, 1)
    if states.ndim != 2 or 0 in states.shape:
        raise DataError(f"{origin}: states have shape {tuple(states.shape)}, expected (B, S)")
    states = states if states.dtype.is_floating_point else states.to(torch.float32)
    is_bad = ~torch.isfinite(states).all(-1)
    if bool(is_bad.any()):
        raise DataError(
            f"{origin}: {int(is_bad.sum())} of {len(states)} states are not finite, "
            f"first in row {int(is_bad.nonzero()[0])}"
        )
    return states
