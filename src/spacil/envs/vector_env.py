"""What every vectorised env of spacil offers, and the base of those whose simulator speaks numpy.

The protocol speaks torch, on the device of the env. Checked here for all: actions, the order of
calls, and the shape of a saved state.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.errors import ConfigError, DataError, DivergedError, EnvError
from spacil.seeding import derived_seed
from spacil.storage import without_non_finite

FloatArray = NDArray[np.float64]
ActionArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class EnvSpec:
    """The sizes, bounds and identity of a task."""

    task: str
    """The name a user typed, e.g. `Hopper-v4`."""
    num_states: int
    num_actions: int
    action_low: ActionArray
    """[A]"""
    action_high: ActionArray
    """[A]"""
    horizon: int | None
    """Time limit in steps; None when the env has none."""
    dt: float | None
    """Seconds of simulated time per step, where the env tells."""
    gymnasium_id: str | None = None
    """Id that Gymnasium knows the task by; None where it knows none."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """What `gymnasium.make` gets beyond the id, JSON-able."""
    model_sha256: str | None = None
    """Hash of the simulator's model file, where there is one."""
    restores_exactly: bool = True
    """Whether `save_state` / `load_state` continue bit for bit."""
    num_sensors: int | None = None
    """Leading numbers of the state that sensors say now, where the others tell of the past."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The identity of the task as plain JSON: data of two envs mix only when theirs are equal.

        Versions of libraries are left out: the model file's hash tells when they matter. So is the
        time limit of an env that is not registered: a wrapper may give it any.
        """
        version = re.search(r"-v(\d+)$", self.gymnasium_id or "")
        identity = {
            "gymnasium_id": self.gymnasium_id,
            "version": int(version[1]) if version else None,
            "kwargs": dict(self.kwargs),
            "num_states": self.num_states,
            "num_actions": self.num_actions,
            "action_low": self.action_low.tolist(),
            "action_high": self.action_high.tolist(),
            "horizon": self.horizon if self.gymnasium_id else None,
            "model_sha256": self.model_sha256,
        }
        return dict(without_non_finite(identity))  # an open bound is null

    def bounds_on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The lowest and the highest action, [A] each."""
        low, high = torch.from_numpy(self.action_low), torch.from_numpy(self.action_high)
        return low.to(device), high.to(device)


@dataclass(frozen=True)
class Step:
    """One step of all envs. A finished env is already in its next episode in `observations`."""

    observations: Tensor
    """[N, S], what to act on next"""
    final_observations: Tensor
    """[N, S], the true successor: differs from `observations` only where an episode ended"""
    rewards: Tensor
    """[N]"""
    terminated: Tensor
    """[N] bool"""
    truncated: Tensor
    """[N] bool"""


class VectorEnv(Protocol):
    """N copies of one task, stepped together; all tensors are on `device`.

    An env may reuse the memory of what it returned in its next call: copy to keep. MuJoCo's envs
    also have `scene`, to be drawn, and ours `positions_and_velocities`, to be replayed; whoever
    wants one asks with `getattr`, so that an env around another passes it on or leaves it out.
    """

    spec: EnvSpec
    num_envs: int
    device: torch.device

    def reset(self, first_episode: int = 0) -> Tensor:
        """Start episode `first_episode` in every env; returns observations [N, S].

        The same episode starts from the same state whenever it is asked for.
        """
        ...

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        """Step the envs with actions [N, A] float32, within bounds or not.

        An env whose episode ends is reset at once. Nobody reads the rows where `active` [N] is
        False: they need not be simulated.
        """
        ...

    def save_state(self) -> dict[str, Tensor]:
        """Everything needed to continue, by name.

        `elapsed_steps` [N] are those of the episodes, in an env that counts them here and reads
        them back: staggered starts write them.
        """
        ...

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        """Continue from a saved state, on any device; returns the current observations [N, S]."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Scene:
    """The first of the envs, as MuJoCo draws it, or the env itself."""

    model: Any
    """The mujoco.MjModel; None where the env draws itself"""
    pose: Callable[[], Any]
    """Returns where everything is now [P] (`mujoco_model.POSE`), a copy; or the env's picture as
    the bytes of a PNG"""
    is_seen_from_above: bool = False


@dataclass(frozen=True)
class ResetSeeds:
    """Reset seeds of one stream of a run: distinct for every env and episode."""

    root_seed: int
    stream: str
    first_env: int = 0
    """The number of the first env among all of the run, where these are a part of them"""

    def __call__(self, env: int, episode: int) -> int:
        return derived_seed(self.root_seed, self.stream, self.first_env + env, episode)


Dims = tuple[int | None, int | None]
"""Of a state and of an action; None where not known"""


def dims_misfits(found: Dims, expected: Dims, whose: str) -> dict[str, str]:
    """What does not fit, as words by "state" and "action"; the unknown fits everything.

    The one wording for policies, demonstrations and states: "17 state dims, Hopper-v4 has 11".
    """
    return {
        noun: f"{ours} {noun} dims, {whose} has {theirs}: wrong file or --task?"
        for noun, ours, theirs in zip(("state", "action"), found, expected, strict=True)
        if None not in (ours, theirs) and ours != theirs
    }


def require_dims(source: object, found: Dims, expected: Dims, whose: str) -> None:
    """Refuse what has other sizes: `require_dims(path, (17, 6), (11, 3), "Hopper-v4")`."""
    for misfit in dims_misfits(found, expected, whose).values():
        raise DataError(f"{source}: {misfit}")


# --- simulators that speak numpy


class NumpyVectorEnv(ABC):
    """A `VectorEnv` on the CPU, of a simulator that implements the five methods with arrays."""

    spec: EnvSpec
    device = torch.device("cpu")
    _has_episodes = False
    """False before the first reset and after a fault: then there is nothing to step."""
    _is_closed = False

    def __init__(self, task: str, num_envs: int) -> None:
        if num_envs < 1:
            raise ConfigError(f"{task}: num_envs is {num_envs}, expected 1 or more")
        self.num_envs = num_envs

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
        self._require_open("step()")
        self._has_episodes = False
        arrays = self._step(actions.numpy(), None if active is None else active.numpy())
        self._has_episodes = True
        return Step(*map(torch.from_numpy, arrays))

    def save_state(self) -> dict[str, Tensor]:
        """All that the next step depends on."""
        self._require_open("save_state()")
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_open(self, call: str | None = None) -> None:
        """Refuse to go on with a closed env, and a `call` that needs episodes without them."""
        if self._is_closed:
            raise EnvError(f"{self.spec.task}: this env is closed")
        if call and not self._has_episodes:
            raise EnvError(f"{self.spec.task}: {call} before reset() or load_state()")


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
    is_finite = actions.isfinite()
    if not is_finite.all():
        env, column = (~is_finite).nonzero()[0].tolist()
        raise DivergedError(
            f"{spec.task}: the policy's action is {actions[env, column]} "
            f"(env {env}, column {column}); nothing was stepped. "
            "The last checkpoint is intact; a smaller --max-kl may help"
        )
