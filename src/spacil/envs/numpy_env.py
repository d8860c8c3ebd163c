"""The one way from simulators that speak numpy to the protocol, which speaks torch.

Tensors share the memory of the arrays: nothing is copied. Checked here for all of them: actions,
the order of calls, and the shape of a saved state.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.envs.vector_env import ActionArray, BoolArray, EnvSpec, FloatArray, Step
from spacil.errors import ConfigError, DivergedError, EnvError


class NumpyVectorEnv(ABC):
    """A `VectorEnv` on the CPU, of a simulator that implements the five methods with arrays."""

    spec: EnvSpec
    num_envs: int
    device = torch.device("cpu")
    _has_episodes = False
    """False before the first reset and after a fault: then there is nothing to step."""
    _is_closed = False
    _process: int

    def __new__(cls, *_: object, **__: object) -> Self:
        env = super().__new__(cls)
        env._process = os.getpid()
        return env

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.spec.task}: live envs cannot be copied or pickled; make new ones")

    @abstractmethod
    def _reset(self, first_episode: int) -> FloatArray:
        """`VectorEnv.reset` in arrays."""

    @abstractmethod
    def _step(self, actions: ActionArray, active: BoolArray | None) -> tuple[NDArray[Any], ...]:
        """`VectorEnv.step` in arrays, in the order of `Step`; rows that are not active stay."""

    @abstractmethod
    def _live_arrays(self) -> dict[str, NDArray[Any]]:
        """The memory that `save_state` copies out and `load_state` copies in."""

    @abstractmethod
    def _continue(self) -> FloatArray:
        """The observations to go on from, after the live arrays were written."""

    @abstractmethod
    def _let_go(self) -> None:
        """Free what the simulator holds; called once."""

    def reset(self, first_episode: int = 0) -> Tensor:
        """Start episode `first_episode` in every env; returns observations [N, S]."""
        self._require_open()
        self._has_episodes = False
        observations = self._reset(first_episode)
        self._has_episodes = True
        return torch.from_numpy(observations)

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        """One step of all envs, or of those in `active`; see `VectorEnv.step`."""
        check_actions(actions, self.spec, self.num_envs)
        self._require_open()
        if not self._has_episodes:
            raise EnvError(f"{self.spec.task}: step() before reset() or load_state()")
        self._has_episodes = False
        arrays = self._step(actions.numpy(), None if active is None else active.numpy())
        self._has_episodes = True
        return Step(*map(torch.from_numpy, arrays))

    def save_state(self) -> dict[str, Tensor]:
        """All that the next step depends on."""
        self._require_open()
        if not self._has_episodes:
            raise EnvError(f"{self.spec.task}: save_state() before reset() or load_state()")
        return {name: torch.from_numpy(array.copy()) for name, array in self._live_arrays().items()}

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        """Continue from a saved state; returns the current observations [N, S]."""
        self._require_open()
        live, saved = self._live_arrays(), {name: t.cpu().numpy() for name, t in state.items()}
        for name, array in live.items():
            found = saved.get(name)
            if found is None or found.shape != array.shape or found.dtype != array.dtype:
                words = "nothing" if found is None else f"{found.dtype} {found.shape}"
                raise ConfigError(
                    f"{self.spec.task}: the saved state has {words} for {name}, this env needs "
                    f"{array.dtype} {array.shape}: another task, --num-envs or mujoco version?"
                )
        self._has_episodes = False
        for name, array in live.items():
            array[:] = saved[name]
        observations = self._continue()
        self._has_episodes = True
        return torch.from_numpy(observations)

    def close(self) -> None:
        """Free the simulator; closing twice is harmless."""
        if not self._is_closed:
            self._is_closed = True
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise EnvError(f"{self.spec.task}: this env is closed")
        # Threads of the simulator do not survive a fork: a call would wait forever.
        if os.getpid() != self._process:
            raise EnvError(
                f"{self.spec.task}: these envs were made in process {self._process}, and this is "
                f"process {os.getpid()}: a fork copies no threads. Make them in the new process"
            )


def check_actions(actions: Tensor, spec: EnvSpec, num_envs: int) -> None:
    """Refuse a wrong width, batch, dtype or a non-finite value before anything is stepped.

    Simulators broadcast, ignore or freeze on such input without a word.
    """
    expected = (num_envs, spec.num_actions)
    if actions.shape != expected or actions.dtype != torch.float32:
        raise DivergedError(
            f"{spec.task}: actions are {actions.dtype} {tuple(actions.shape)}, expected "
            f"{torch.float32} {expected}; nothing was stepped"
        )
    flat = actions.flatten()
    if not math.isfinite(torch.dot(flat, flat)) and not actions.isfinite().all():
        env, column = (~actions.isfinite()).nonzero()[0].tolist()
        raise DivergedError(
            f"{spec.task}: the policy's action is {actions[env, column]} "
            f"(env {env}, column {column}); nothing was stepped. "
            "The last checkpoint is intact; a smaller --max-kl may help"
        )


def first_non_finite_row(states: FloatArray, rewards: FloatArray) -> int | None:
    """The first env with a non-finite state or reward, if any."""
    # One pass without a temporary; only where a sum of squares overflows are all looked at.
    if math.isfinite(np.vdot(states, states)) and math.isfinite(np.vdot(rewards, rewards)):
        return None
    bad = np.flatnonzero(~(np.isfinite(states).all(axis=-1) & np.isfinite(rewards)))
    return int(bad[0]) if len(bad) else None
