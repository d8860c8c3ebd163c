"""What `predict` returns: the action, and no pair.

Stable-Baselines3 returns the pair (action, state), and `action, _ = policy.predict(obs)` is a
habit. On a bare array of two actions that line splits the action and goes on. An `Action` is an
array that refuses exactly this: being unpacked into two names. Everything else about it is numpy's;
slices and results of arithmetic are plain arrays.
"""

import dis
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import ConfigError

_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


class Action(np.ndarray[Any, np.dtype[np.float32]]):
    """An action [A], or a batch of them [B, A], straight from `predict`."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        operation = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
        if operation == bytes([_UNPACK, 2]):
            raise ConfigError(
                "predict returns the action alone: write `action = policy.predict(obs)`. For the "
                "pair of Stable-Baselines3 pass state=None: `action, _ = policy.predict(obs, "
                "state=None)`; for the numbers of an action of two, predict(obs).tolist()"
            )
        return iter(self.view(np.ndarray))

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key]

    def __array_wrap__(
        self, array: NDArray[Any], context: Any = None, return_scalar: bool = False
    ) -> Any:
        return array[()] if return_scalar else np.asarray(array)


class NotAsked:
    """The type of `NOT_ASKED`."""


NOT_ASKED = NotAsked()
"""Default of `predict(state=...)`: None is what Stable-Baselines3 passes, and asks for its pair."""
