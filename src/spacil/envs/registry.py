"""Task names, and the simulator behind each.

Light to import: mujoco and gymnasium are loaded when an env is made, not before. Another simulator
is one function in `BACKENDS`, or an entry point of the group `spacil.envs` in a package of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from spacil.envs.mujoco_tasks import MUJOCO_TASKS, MujocoTask
from spacil.errors import ConfigError

if TYPE_CHECKING:
    from spacil.envs.gymnasium_env import EnvSource
    from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv

TASKS: Mapping[str, MujocoTask] = MappingProxyType({task.name: task for task in MUJOCO_TASKS})
"""Every built-in task. `Ant-v4` is the paper's, with contact forces: 111 numbers."""

PAPER_TASKS = ("Reacher-v4", "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")
"""The paper's five, in the order of its tables."""


@dataclass(frozen=True)
class EnvOptions:
    """What a run says of its envs beyond task, number and seeds; a simulator reads what it can."""

    num_threads: int = 1
    timeout: float | None = None
    """Seconds that one call into an env which is not ours may take"""
    device: str = "cpu"
    """Device of the run's updates: envs that can be there save the way to the host"""


MakeEnv = Callable[["EnvSource", int, "ResetSeeds", EnvOptions], "VectorEnv"]
"""Task, number of envs, seeds of their episodes, options -> the envs"""


def _mujoco(task: EnvSource, num_envs: int, seeds: ResetSeeds, options: EnvOptions) -> VectorEnv:
    from spacil.envs.threaded_mujoco import ThreadedMujocoEnv

    return ThreadedMujocoEnv(TASKS[str(task)], num_envs, seeds, options.num_threads)


def _gymnasium(task: EnvSource, num_envs: int, seeds: ResetSeeds, options: EnvOptions) -> VectorEnv:
    from spacil.envs.gymnasium_env import DEFAULT_TIMEOUT, GymnasiumVectorEnv, as_env_factory

    make_env, name = as_env_factory(task)
    return GymnasiumVectorEnv(make_env, name, num_envs, seeds, options.timeout or DEFAULT_TIMEOUT)


def _mjlab(task: EnvSource, num_envs: int, seeds: ResetSeeds, options: EnvOptions) -> VectorEnv:
    from spacil.envs.rsl_rl import make_mjlab_env

    return make_mjlab_env(str(task), num_envs, seeds, options.device)


def _rsl_rl(task: Any, num_envs: int, seeds: ResetSeeds, options: EnvOptions) -> VectorEnv:
    from spacil.envs.rsl_rl import RslRlEnv, RslRlTask

    if isinstance(task, str):
        raise ConfigError(
            f"{task}: an rsl_rl VecEnv has no name; pass it from Python, env=..., or give its "
            f"maker a name by an entry point of the group {ENTRY_POINTS}"
        )
    return RslRlEnv(task if isinstance(task, RslRlTask) else RslRlTask(task), num_envs, seeds)


MUJOCO, GYMNASIUM, RSL_RL = "mujoco", "gymnasium", "rsl_rl"
BACKENDS: dict[str, MakeEnv] = {
    MUJOCO: _mujoco,
    GYMNASIUM: _gymnasium,
    RSL_RL: _rsl_rl,
    "mjlab": _mjlab,
}
"""Simulator -> what makes its envs. `mjlab/X`, or `mjlab:X`, is a task of the simulator `mjlab`;
without a simulator a built-in name is MuJoCo's, and anything else Gymnasium's"""
ENTRY_POINTS = "spacil.envs"


def make_vector_env(
    task: EnvSource,
    num_envs: int,
    seeds: ResetSeeds,
    num_threads: int = 1,
    timeout: float | None = None,
    device: str = "cpu",
) -> VectorEnv:
    """The envs of a task: a built-in name, `simulator/task`, or what Gymnasium can make.

    The latter is an id, `module:Env-v0` or `module:function` of a user's own, an env, or a
    function without arguments that makes one. An rsl_rl `VecEnv` is taken as it is.
    """
    options = EnvOptions(num_threads, timeout, device)
    return _backend_of(task)(task, num_envs, seeds, options)


def _backend_of(task: EnvSource) -> MakeEnv:
    if not isinstance(task, str):
        return BACKENDS[RSL_RL if _is_rsl_rl(task) else GYMNASIUM]
    if task in TASKS:
        return BACKENDS[MUJOCO]
    name = re.split("[:/]", task, maxsplit=1)[0]
    if name != task and name not in BACKENDS:
        for entry in entry_points(group=ENTRY_POINTS, name=name):
            BACKENDS[name] = entry.load()
    return BACKENDS.get(name if name != task else "", BACKENDS[GYMNASIUM])


def _is_rsl_rl(task: object) -> bool:
    return hasattr(task, "get_observations") or hasattr(
        getattr(task, "env", None), "get_observations"
    )


def require_task(task: str) -> None:
    """Refuse a name that no simulator knows. No env is made, which may be costly."""
    if _backend_of(task) is _gymnasium:
        from spacil.envs.gymnasium_env import as_env_factory

        as_env_factory(task)


def built_in_task(spec: EnvSpec) -> MujocoTask | None:
    """The built-in task that an env is, by name and sizes; None for any other or a wrapped one."""
    task = TASKS.get(spec.task)
    if task is None or (task.num_states, task.num_actions) != (spec.num_states, spec.num_actions):
        return None
    return task


def task_name(task: EnvSource) -> str:
    """What a run of this env is called."""
    if isinstance(task, str):
        return task
    if _is_rsl_rl(task):
        from spacil.envs.rsl_rl import RslRlTask

        return str(task if isinstance(task, RslRlTask) else RslRlTask(task))
    from spacil.envs.gymnasium_env import as_env_factory

    return as_env_factory(task)[1]
