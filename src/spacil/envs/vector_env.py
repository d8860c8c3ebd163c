"""What every vectorised environment of spacil offers, and the checks none of them may skip."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from spacil.errors import DataError, DivergedError, EnvError
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


@dataclass(frozen=True)
class StepResult:
    """One step of all envs. A finished env is already in its next episode in `states`."""

    states: FloatArray
    """[N, S], what to act on next."""
    final_states: FloatArray
    """[N, S], the true successor: differs from `states` only where an episode ended."""
    rewards: FloatArray
    """[N]"""
    terminated: BoolArray
    """[N]"""
    truncated: BoolArray
    """[N]"""


class VectorEnv(Protocol):
    """N copies of one task, stepped together.

    Env i starts its k-th episode from `ResetSeeds(...)(i, k)`, so an episode can be replayed
    alone with `gymnasium.make(id).reset(seed=...)`.
    """

    spec: EnvSpec
    num_envs: int

    def reset(self, first_episode: int = 0) -> FloatArray:
        """Start episode `first_episode` in every env; returns states [N, S]."""
        ...

    def step(self, actions: ActionArray, active: BoolArray | None = None) -> StepResult:
        """Step the envs with actions [N, A] float32, within bounds or not.

        Rows where `active` is False are not simulated: state repeated, reward 0, no flags.
        An active env whose episode ends is reset at once.
        """
        ...

    def save_state(self) -> dict[str, NDArray[Any]]:
        """Everything needed to continue, as arrays for a checkpoint."""
        ...

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Continue from a saved state; returns the current states [N, S]."""
        ...

    def repeats_exactly(self) -> bool:
        """Whether equal seeds and actions give equal bits; to be asked before the first reset."""
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


def refuse_copy(task: str) -> NoReturn:
    """Live envs hold threads, native memory and objects of others: none of it can be copied."""
    raise TypeError(
        f"{task}: live envs cannot be copied or pickled. Agent.save(folder) keeps a whole agent, "
        "Agent.load(folder) makes another one of it, in any process"
    )


def require_own_process(process: int, task: str) -> None:
    """Refuse to simulate in a forked child, which has the memory and not the threads."""
    if os.getpid() != process:
        raise EnvError(
            f"{task}: these envs were made in process {process}, and this is process "
            f"{os.getpid()}: a fork copies no threads. Make or load the agent in the new process"
        )


def check_actions(actions: NDArray[Any], spec: EnvSpec, num_envs: int) -> None:
    """Refuse a wrong width, batch, dtype or a non-finite value before anything is stepped.

    Simulators broadcast, ignore or freeze on such input without a word.
    """
    expected = (num_envs, spec.num_actions)
    if actions.shape != expected:
        raise DivergedError(
            f"{spec.task}: actions have shape {actions.shape}, expected {expected}; "
            "nothing was stepped"
        )
    if actions.dtype != np.float32:
        raise DivergedError(
            f"{spec.task}: actions are {actions.dtype}, expected float32; nothing was stepped"
        )
    if not _is_surely_finite(actions) and not np.isfinite(actions).all():
        env, column = np.argwhere(~np.isfinite(actions))[0]
        raise DivergedError(
            f"{spec.task}: the policy's action is {actions[env, column]} "
            f"(env {env}, column {column}); nothing was stepped. "
            "The last checkpoint is intact; a smaller --max-kl may help"
        )


def _is_surely_finite(array: NDArray[np.floating[Any]]) -> bool:
    """One pass without a temporary; False also where only the sum of squares overflows."""
    return math.isfinite(np.vdot(array, array))


def check_active(active: NDArray[Any], spec: EnvSpec, num_envs: int) -> None:
    """Refuse a mask that numpy would read as indices, or stretch."""
    if active.shape != (num_envs,) or active.dtype != np.bool_:
        raise ValueError(
            f"{spec.task}: `active` is {active.dtype} {active.shape}, expected bool ({num_envs},)"
        )


def first_non_finite_row(states: FloatArray, rewards: FloatArray) -> int | None:
    """The first env with a non-finite state or reward, if any."""
    if _is_surely_finite(states) and _is_surely_finite(rewards):
        return None
    bad = np.flatnonzero(~(np.isfinite(states).all(axis=-1) & np.isfinite(rewards)))
    return int(bad[0]) if len(bad) else None
