"""The policy to export in its env: what it earns there, and states worth comparing files on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spacil.envs.vector_env import EnvSpec
from spacil.errors import SpacilError
from spacil.measuring.evaluate import (
    Evaluation,
    evaluation_env,
    evaluation_of,
    play_mean_actions,
)
from spacil.measuring.frames import choose_frame
from spacil.nets.policy import GaussianPolicy
from spacil.policies.file import SavedPolicy, require_fit
from spacil.runs.inputs import task_to_play
from spacil.user_code import task_named_in_file


@dataclass(frozen=True)
class Played:
    """The policy in its env, with mean actions."""

    spec: EnvSpec
    states: Tensor
    """[B, S] raw, every state it acted in"""
    evaluation: Evaluation
    frame: str | None
    """Source of the standard deviations in J's unit; None where there is no common frame"""


def play(saved: SavedPolicy, source: object, env: Any, episodes: int, seed: int) -> Played | str:
    """The policy in an env; or why it was not played, where nobody named one that should work."""
    if episodes < 1:
        return "it was not played (episodes is 0)"
    if env is not None:
        return _played(saved, env, episodes, seed)
    if not saved.task:
        return "nobody says which task it is for: pass --task"
    is_file = isinstance(source, str | Path)
    task = task_named_in_file(saved.task, source if is_file else "the policy")
    try:
        task = task_to_play(task, Path(str(source))) if is_file else task
        return _played(saved, task, episodes, seed)
    except SpacilError as error:
        return f"its task cannot be played here: {error}"


def _played(saved: SavedPolicy, env_source: Any, episodes: int, seed: int) -> Played:
    policy = saved.policy
    with evaluation_env(env_source, episodes, seed) as env:
        require_fit(policy, env.spec, env.spec.task)
        frame = choose_frame(None, saved.common_frame, env.spec.task)
        if frame is not None and frame.num_states != policy.num_states:
            frame = None
        totals = play_mean_actions(policy, env, 0, episodes)
    evaluation = evaluation_of(policy, totals, frame)
    return Played(env.spec, totals.states, evaluation, None if frame is None else frame.source)


def states_to_check(policy: GaussianPolicy, played: Played | str, count: int) -> Tensor:
    """[count, S] float32: up to half of them visited, where it was played, the others drawn.

    Those drawn lie up to tens of standard deviations from the mean, so that the clipping of states
    and of actions has its turn.
    """
    generator = torch.Generator().manual_seed(0)
    visited = torch.empty(0, policy.num_states)
    if isinstance(played, Played):
        rows = torch.randperm(len(played.states), generator=generator)[: count // 2]
        visited = played.states[rows].to(torch.float32)
    num_drawn = count - len(visited)
    directions = torch.randn(num_drawn, policy.num_states, generator=generator)
    spreads = 10 ** (3 * torch.rand(num_drawn, 1, generator=generator) - 1.5)
    drawn = policy.normalizer.mean + policy.normalizer.std * directions * spreads
    states = torch.cat([visited, drawn.to(torch.float32)])
    return states[torch.randperm(count, generator=generator)]
