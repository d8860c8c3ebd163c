"""What every vectorised environment of spacil offers, and the checks none of them may skip."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.errors import DataError
from spacil.seeding import derived_seed

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
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    """JSON-able identity: id, version, kwargs, sizes, bounds, horizon, hash of the model file."""
    restores_exactly: bool = True
    """Whether `save_state` / `load_state` continue bit for bit."""

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

    An env may reuse the memory of what it returned in its next call: copy to keep.
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
        """Everything needed to continue, by name."""
        ...

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        """Continue from a saved state, on any device; returns the current observations [N, S]."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class ResetSeeds:
    """Reset seeds of one stream of a run: distinct for every env and episode."""

    root_seed: int
    stream: str
    first_env: int = 0
    """The number of the first env among all of the run, where these are a part of them"""

    def __call__(self, env: int, episode: int) -> int:
        return derived_seed(self.root_seed, self.stream, self.first_env + env, episode)


def fingerprint(
    gymnasium_id: str | None,
    kwargs: Mapping[str, Any],
    num_states: int,
    action_low: ActionArray,
    action_high: ActionArray,
    horizon: int | None,
    model_sha256: str | None = None,
) -> dict[str, Any]:
    """The identity of a task as plain JSON: data of two envs mix only when theirs are equal.

    Versions of libraries are left out on purpose: the model file's hash tells when they matter.
    """
    version = re.search(r"-v(\d+)$", gymnasium_id or "")
    return {
        "gymnasium_id": gymnasium_id,
        "version": int(version[1]) if version else None,
        "kwargs": dict(kwargs),
        "num_states": num_states,
        "num_actions": len(action_low),
        "action_low": _json_bounds(action_low),
        "action_high": _json_bounds(action_high),
        "horizon": horizon,
        "model_sha256": model_sha256,
    }


def _json_bounds(bounds: ActionArray) -> list[float | None]:
    """JSON has no infinity: an open side is null."""
    return [float(bound) if np.isfinite(bound) else None for bound in bounds]


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
