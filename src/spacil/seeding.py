"""One root seed, many named streams.

No library code draws from a global generator. Each use of chance has its own stream, so that
turning a feature off draws nothing and leaves every other stream where it was.
"""

import zlib
from dataclasses import dataclass, fields

import numpy as np
import torch

from spacil.errors import ConfigError


def derived_seed(root_seed: int, *path: str | int) -> int:
    """A 63-bit seed that depends on every element of `path`; never `seed + i`.

    Paths of one length never meet. A trailing 0 counts for nothing: `SeedSequence` pads with it.
    """
    if root_seed < 0:
        raise ConfigError(f"the seed is {root_seed}, expected 0 or more")
    words = [zlib.crc32(part.encode()) if isinstance(part, str) else part for part in path]
    state = np.random.SeedSequence([root_seed, *words]).generate_state(1, np.uint64)
    return int(state[0]) >> 1


def stream(root_seed: int, name: str) -> torch.Generator:
    """The named CPU generator of a run."""
    return torch.Generator().manual_seed(derived_seed(root_seed, name))


@dataclass(frozen=True)
class Streams:
    """The generators a training run draws from, one per use."""

    action: torch.Generator
    ball: torch.Generator
    mixing: torch.Generator
    subset: torch.Generator
    target: torch.Generator
    minibatch: torch.Generator
    init: torch.Generator

    @classmethod
    def from_seed(cls, root_seed: int) -> "Streams":
        return cls(**{field.name: stream(root_seed, field.name) for field in fields(cls)})
