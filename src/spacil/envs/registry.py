"""Task names, and the env behind each.

Light to import: mujoco and gymnasium are loaded when an env is made, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from spacil.envs.mujoco_tasks import MUJOCO_TASKS, MujocoTask

if TYPE_CHECKING:
    from spacil.envs.env_source import EnvSource
    from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv

TASKS: Mapping[str, MujocoTask] = MappingProxyType({task.name: task for task in MUJOCO_TASKS})
"""Every built-in task. `Ant-v4` is the paper's, with contact forces: 111 numbers."""

PAPER_TASKS = ("Reacher-v4", "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")
"""The paper's five, in the order of its tables."""


def make_vector_env(
    task: EnvSource,
    num_envs: int,
    seeds: ResetSeeds,
    num_threads: int = 1,
    timeout: float | None = None,
) -> VectorEnv:
    """Our simulator for a built-in name; else the Gymnasium adapter, which ignores `num_threads`.

    `task` is a built-in name, any Gymnasium id, `module:Env-v0` or `module:function` of a user's
    own, an env, or a function without arguments that makes one. `timeout`: seconds that one call
    into an env which is not ours may take.
    """
    if isinstance(task, str) and task in TASKS:
        from spacil.envs.threaded_mujoco import ThreadedMujocoEnv

        return ThreadedMujocoEnv(TASKS[task], num_envs, seeds, num_threads)
    from spacil.envs.env_source import as_env_factory
    from spacil.envs.gymnasium_env import DEFAULT_TIMEOUT, GymnasiumVectorEnv

    make_env, name = as_env_factory(task, other_names=TASKS)
    return GymnasiumVectorEnv(make_env, name, num_envs, seeds, timeout or DEFAULT_TIMEOUT)


def built_in_task(spec: EnvSpec) -> MujocoTask | None:
    """The built-in task that an env is, by name and sizes; None for any other or a wrapped one."""
    task = TASKS.get(spec.task)
    if task is None or (task.num_states, task.num_actions) != (spec.num_states, spec.num_actions):
        return None
    return task


def gymnasium_spec(task: str) -> str:
    """What Gymnasium needs to make a built-in task's env, as its JSON."""
    import copy

    import gymnasium

    spec = copy.deepcopy(gymnasium.spec(TASKS[task].gymnasium_id))
    spec.kwargs.update(TASKS[task].kwargs)
    return spec.to_json()


def task_name(task: EnvSource) -> str:
    """What a run of this env is called."""
    if isinstance(task, str):
        return task
    from spacil.envs.env_source import as_env_factory

    return as_env_factory(task, other_names=TASKS)[1]
