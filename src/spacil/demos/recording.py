"""Recording demonstrations: an expert acts in a vector env, and whole episodes are kept."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import DemoMetadata
from spacil.envs.episodes import Actor, WaveStep, play_wave, waves
from spacil.envs.vector_env import FloatArray, VectorEnv
from spacil.errors import ConfigError

OnProgress = Callable[[int, int], None]
"""Called with (episodes recorded, episodes asked for)."""


@runtime_checkable
class HasStartStates(Protocol):
    """An env whose episodes can be replayed from their start."""

    def positions_and_velocities(self) -> tuple[FloatArray, FloatArray]:
        """qpos [N, nq] and qvel [N, nv] of every env, float64."""
        ...


def record_demonstrations(
    env: VectorEnv,
    act: Actor,
    num_episodes: int,
    provenance: Mapping[str, Any],
    on_progress: OnProgress | None = None,
) -> Demonstrations:
    """Whole episodes of `act`: wave 0 of every env in env order, then wave 1, and so on.

    The env executes the action clipped to its bounds; both forms are stored. The record depends
    on the env's seeds, its number of envs and `act` alone.
    """
    if num_episodes < 1:
        raise ConfigError(f"cannot record {num_episodes} episodes; ask for 1 or more")
    if env.spec.horizon is None:
        raise ConfigError(
            f"{env.spec.task} has no time limit, so an episode may never end; "
            "wrap it in gymnasium.wrappers.TimeLimit"
        )
    columns: dict[str, list[NDArray[Any]]] = {}
    for wave, num_wanted in waves(env, num_episodes):
        for name, episodes in _record_wave(env, act, wave, num_wanted).items():
            columns.setdefault(name, []).extend(episodes)
        if on_progress is not None:
            on_progress(len(columns["executed_actions"]), num_episodes)
    metadata = DemoMetadata(env.spec.task, env.spec.fingerprint, provenance)
    return Demonstrations.from_named_arrays(columns, metadata, source=f"{env.spec.task} recording")


def _record_wave(
    env: VectorEnv, act: Actor, wave: int, num_wanted: int
) -> dict[str, list[NDArray[Any]]]:
    """One episode of each of the first `num_wanted` envs, as per-episode arrays by field name."""
    first_states = env.reset(first_episode=wave)
    starts = _start_states(env, num_wanted)
    frames: list[dict[str, NDArray[Any]]] = []

    def keep(step: WaveStep) -> None:
        frame = {
            "states": step.states,
            "final_states": step.outcome.final_observations.float(),
            "actions": step.actions,
            "executed_actions": step.executed_actions,
            "rewards": step.outcome.rewards.double(),
            "terminations": step.outcome.terminated,
            "truncations": step.outcome.truncated,
        }
        frames.append({name: value.cpu().numpy().copy() for name, value in frame.items()})

    lengths = play_wave(env, act, first_states, num_wanted, keep)
    return {**_episodes_of(frames, lengths.tolist()), **starts}


def _start_states(env: VectorEnv, num_wanted: int) -> dict[str, list[NDArray[Any]]]:
    """The physics that episodes can be replayed from, where the env shows it."""
    if not isinstance(env, HasStartStates):
        return {}
    qpos, qvel = env.positions_and_velocities()
    return {
        "initial_qpos": [row.copy() for row in qpos[:num_wanted]],
        "initial_qvel": [row.copy() for row in qvel[:num_wanted]],
    }


def _episodes_of(
    frames: list[dict[str, NDArray[Any]]], lengths: list[int]
) -> dict[str, list[NDArray[Any]]]:
    """Cut time-major frames [T, N, ...] into the episode of each env."""
    columns = {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}
    states, final_states = columns.pop("states"), columns.pop("final_states")
    episodes = {
        name: [column[:length, env] for env, length in enumerate(lengths)]
        for name, column in columns.items()
    }
    episodes["observations"] = [
        np.concatenate([states[:length, env], final_states[length - 1 : length, env]])
        for env, length in enumerate(lengths)
    ]
    return episodes
