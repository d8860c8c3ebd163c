"""Recording demonstrations: an expert acts in a vector env, and whole episodes are kept.

Every env of a wave plays exactly one episode. Keeping the first episodes to finish instead would
prefer short ones, that is, failures.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import DemoMetadata
from spacil.envs.vector_env import ActionArray, FloatArray, VectorEnv, check_actions
from spacil.errors import ConfigError

Act = Callable[[FloatArray], ActionArray]
"""Raw states [N, S] -> raw, unclipped actions [N, A] float32."""
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
    act: Act,
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
    for wave in range(-(-num_episodes // env.num_envs)):
        num_wanted = min(env.num_envs, num_episodes - wave * env.num_envs)
        for name, episodes in _record_wave(env, act, wave, num_wanted).items():
            columns.setdefault(name, []).extend(episodes)
        if on_progress is not None:
            on_progress(len(columns["executed_actions"]), num_episodes)
    metadata = DemoMetadata(env.spec.task, env.spec.fingerprint, provenance)
    return Demonstrations.from_named_arrays(columns, metadata, source=f"{env.spec.task} recording")


def _record_wave(
    env: VectorEnv, act: Act, wave: int, num_wanted: int
) -> dict[str, list[NDArray[Any]]]:
    """One episode of each of the first `num_wanted` envs, as per-episode arrays by field name."""
    states = env.reset(first_episode=wave)
    starts: dict[str, list[NDArray[Any]]] = {}
    if isinstance(env, HasStartStates):
        qpos, qvel = env.positions_and_velocities()
        starts = {
            "initial_qpos": [row.copy() for row in qpos[:num_wanted]],
            "initial_qvel": [row.copy() for row in qvel[:num_wanted]],
        }
    active = np.arange(env.num_envs) < num_wanted
    lengths = np.zeros(env.num_envs, dtype=np.int64)
    frames: list[dict[str, NDArray[Any]]] = []
    while active.any():
        # Finished envs are asked too: a constant batch shape keeps the policy's bits constant.
        acted_in = states.copy()
        raw = act(acted_in)
        check_actions(raw, env.spec, env.num_envs)  # clipping would hide an infinity
        executed = np.clip(raw, env.spec.action_low, env.spec.action_high)
        result = env.step(executed, active)
        frame: dict[str, NDArray[Any]] = {
            "states": acted_in.astype(np.float32),
            "final_states": result.final_states.astype(np.float32),
            "actions": raw,
            "executed_actions": executed,
            "rewards": result.rewards,
            "terminations": result.terminated,
            "truncations": result.truncated,
        }
        # Copies: an env may fill the same arrays again at its next step.
        frames.append({name: array.copy() for name, array in frame.items()})
        lengths += active
        active &= ~(result.terminated | result.truncated)
        states = result.states
    return {**_episodes_of(frames, lengths[:num_wanted].tolist()), **starts}


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
