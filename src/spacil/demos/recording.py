"""Recording demonstrations: an expert acts in a vector env, and whole episodes are kept."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.episode import Episode
from spacil.demos.metadata import DemoMetadata
from spacil.envs.episodes import Actor, play_wave, waves
from spacil.envs.vector_env import VectorEnv
from spacil.errors import ConfigError

OnProgress = Callable[[int, int], None]
"""Called with (episodes recorded, episodes asked for)."""


def record_demonstrations(
    env: VectorEnv,
    act: Actor,
    num_episodes: int,
    provenance: Mapping[str, Any],
    on_progress: OnProgress | None = None,
) -> Demonstrations:
    """Record whole episodes of `act`: wave 0 of every env in env order, then wave 1, and so on.

    The env executes the action clipped to its bounds; both forms are stored. The record depends
    on the env's seeds, its number of envs and `act` alone.
    """
    if env.spec.horizon is None:
        raise ConfigError(
            f"{env.spec.task} has no time limit, so an episode may never end; "
            "wrap it in gymnasium.wrappers.TimeLimit"
        )
    episodes: list[Episode] = []
    for wave, num_wanted in waves(env, num_episodes):
        episodes += _record_wave(env, act, wave, num_wanted)
        if on_progress is not None:
            on_progress(len(episodes), num_episodes)
    metadata = DemoMetadata(env.spec.task, env.spec.fingerprint, provenance)
    return Demonstrations(tuple(episodes), metadata, source=f"{env.spec.task} recording")


def _record_wave(env: VectorEnv, act: Actor, wave: int, num_wanted: int) -> list[Episode]:
    """Record one episode of each of the first `num_wanted` envs."""
    first_states = env.reset(first_episode=wave)
    starts: list[dict[str, Tensor]] = [{} for _ in range(num_wanted)]
    read = getattr(env, "positions_and_velocities", None)
    if read is not None:  # the physics that episodes can be replayed from, float64
        qpos, qvel = map(torch.from_numpy, read())
        starts = [{"initial_qpos": qpos[i], "initial_qvel": qvel[i]} for i in range(num_wanted)]
    played = play_wave(env, act, first_states, num_wanted)
    return [
        Episode(
            torch.cat([played.states[:length, i], played.final_states[i : i + 1]]).cpu(),
            played.executed_actions[:length, i].cpu().clone(),
            bool(played.terminated[i]),
            bool(played.truncated[i]),
            actions=played.actions[:length, i].cpu().clone(),
            rewards=played.rewards[:length, i].cpu().clone(),
            **starts[i],
        )
        for i, length in enumerate(played.lengths)
    ]
