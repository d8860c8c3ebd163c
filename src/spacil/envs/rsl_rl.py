"""Any rsl_rl `VecEnv` (mjlab, Isaac Lab, Genesis) as a `VectorEnv`: tensors stay on its device.

What such an env does by itself: it resets worlds that are over, at once, and mostly without showing
the state in which they ended. Then `final_observations` repeat the last state that was seen, and a
critic bootstraps from there, one step early, as rsl_rl's own PPO does. Actions have no bounds but
the wrapper's `clip_actions`. Nobody can save it: a resumed run begins new episodes.

Neither rsl_rl nor a simulator is imported before a task of mjlab is made.
"""

import difflib
import importlib
import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from spacil.envs.vector_env import EnvSpec, ResetSeeds, Scene, Step
from spacil.errors import ConfigError, EnvError

READ_BY_POLICY = ("actor", "policy")
"""Names of the observation group that policies read: of mjlab and rsl_rl, and of Isaac Lab."""
FINAL = ("final_obs", "final_observation", "terminal_observations")
"""Entries of `extras` that hold the observations in which worlds ended, in an env that keeps them.
"""

_PLAYED_BY: WeakKeyDictionary[Any, "RslRlEnv"] = WeakKeyDictionary()
"""Whose episodes are going on in an env that several share: training and its evaluations."""


@dataclass(frozen=True, eq=False)
class RslRlTask:
    """An rsl_rl `VecEnv` of a user's own: `spacil.SPaCIL(spacil.RslRlTask(env), ...)`.

    Training, evaluations and measurements share it, since Isaac Lab simulates one scene per
    process. Whoever plays it next begins new episodes; those of the other are cut.
    """

    env: Any
    groups: tuple[str, ...] = ()
    """Observation groups that the policy reads, put together in this order; by default the group
    named actor or policy, or the only one"""
    name: str = ""
    """Name of the task in run folders and tables; by default the class of the env"""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a robot's software needs beside the policy, for an export: `joint_names`,
    `joint_stiffness`, `joint_damping`, `default_joint_pos`, `action_scale`, `observation_names`.
    mjlab tells by itself"""

    def __str__(self) -> str:
        return self.name or type(getattr(self.env, "unwrapped", self.env)).__name__


class RslRlEnv:
    """An rsl_rl `VecEnv`. An evaluation plays in as many of its worlds as it needs."""

    def __init__(
        self, source: RslRlTask, num_envs: int, seeds: ResetSeeds, *, is_own: bool = False
    ) -> None:
        """`is_own`: made here, so it is closed with this."""
        env = self.env = source.env
        self.seeds, self._is_own, self.device = seeds, is_own, torch.device(env.device)
        self._facts = source.facts
        self.num_envs = min(num_envs, env.num_envs)
        if seeds.stream == "env" and num_envs != env.num_envs:
            raise ConfigError(
                f"{source}: num_envs is {num_envs:,}, and this env simulates {env.num_envs:,} "
                f"worlds: pass num_envs={env.num_envs}, or make it with as many"
            )
        if not callable(getattr(env, "reset", None)):
            raise ConfigError(
                f"{source}: {type(env).__name__} has no reset(), which evaluations need"
            )
        self._groups = _groups_read(env.get_observations(), source)
        self._episode, self._last = 0, self._read(env.get_observations())
        inner, limit = getattr(env, "unwrapped", env), env.max_episode_length
        dt, clip = getattr(inner, "step_dt", None), getattr(env, "clip_actions", None)
        bound = np.full(env.num_actions, np.inf if clip is None else clip, dtype=np.float32)
        self.spec = EnvSpec(
            task=str(source),
            num_states=self._last.shape[1],
            num_actions=env.num_actions,
            action_low=-bound,
            action_high=bound,
            horizon=int(limit) if isinstance(limit, int | float) or limit.numel() == 1 else None,
            dt=None if dt is None else float(dt),
            restores_exactly=False,
        )

    def reset(self, first_episode: int = 0) -> Tensor:
        """Start new episodes everywhere; the same ones again in an env that can be seeded."""
        self._episode = first_episode
        if callable(seed := getattr(self.env, "seed", None)):
            seed(self.seeds(0, first_episode) % 2**31)
        observations = self.env.reset()
        if isinstance(observations, tuple):
            observations = observations[0]
        _PLAYED_BY[self.env] = self
        self._last = self._read(observations)
        return self._last

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        """Step all worlds; see `VectorEnv.step`."""
        last, count, is_none = self._last, self.num_envs, actions.new_zeros(self.num_envs).bool()
        if _PLAYED_BY.get(self.env) is not self:  # somebody else has played here: cut the episodes
            observations = self.reset(self._episode + 1)
            return Step(observations, last, actions.new_zeros(count), is_none, ~is_none)
        if spare := self.env.num_envs - count:
            actions = torch.cat([actions, actions.new_zeros(spare, actions.shape[1])])
        observations, rewards, dones, extras = self.env.step(actions)
        self._last = self._read(observations)
        is_over, time_outs = dones[:count].bool(), extras.get("time_outs")
        truncated = is_none if time_outs is None else is_over & time_outs[:count].bool()
        ended_in = next((self._read(extras[name]) for name in FINAL if name in extras), last)
        final = torch.where(is_over.unsqueeze(1), ended_in, self._last)
        return Step(self._last, final, rewards[:count], is_over & ~truncated, truncated)

    def save_state(self) -> dict[str, Tensor]:
        """How long the episodes have lasted: all that such an env lets go of."""
        return {"elapsed_steps": self.env.episode_length_buf[: self.num_envs].clone()}

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        """Begin new episodes, with so much of their time gone."""
        observations, elapsed = self.reset(self._episode + 1), self.env.episode_length_buf.clone()
        elapsed[: self.num_envs] = state["elapsed_steps"].to(elapsed)
        self.env.episode_length_buf = elapsed
        return observations

    def robot_facts(self) -> dict[str, Any]:
        """Joint names, gains, scales and history, by the names that mjlab's own export has."""
        if self._facts or "mjlab" not in sys.modules or not hasattr(self.env, "unwrapped"):
            return dict(self._facts)
        exporter = importlib.import_module("mjlab.rl.exporter_utils")
        found: dict[str, Any] = exporter.get_base_metadata(self.env.unwrapped, "")
        return {name: value for name, value in found.items() if name != "run_path"}

    def scene(self) -> Scene | None:
        """The env's own pictures, where it was made with render_mode "rgb_array"."""
        if getattr(self.env, "render_mode", None) != "rgb_array":
            return None
        from matplotlib import pyplot

        def picture() -> bytes:
            content = io.BytesIO()
            pyplot.imsave(content, np.asarray(self.env.unwrapped.render()), format="png")
            return content.getvalue()

        return Scene(None, picture)

    def close(self) -> None:
        """Close an env that was made here; that of a user stays open."""
        if self._is_own:
            self.env.close()

    def _read(self, observations: Any) -> Tensor:
        """What the policy reads [N, S], a copy in float32."""
        parts = [observations[name][: self.num_envs].float() for name in self._groups]
        if any(part.ndim != 2 for part in parts):
            shapes = {name: tuple(observations[name].shape) for name in self._groups}
            raise ConfigError(f"observation groups have shapes {shapes}, expected [N, S]")
        return torch.cat(parts, dim=1)


def _groups_read(observations: Any, source: RslRlTask) -> tuple[str, ...]:
    names = tuple(observations.keys())
    by_default = names if len(names) == 1 else tuple(n for n in READ_BY_POLICY if n in names)[:1]
    groups = source.groups or by_default
    if not groups or not set(groups) <= set(names):
        raise ConfigError(
            f"{source}: observation groups are {', '.join(names)}, and the policy reads "
            f"{', '.join(groups) or 'one of them'}: say which, "
            f'spacil.RslRlTask(env, groups=("{names[0]}",))'
        )
    return groups


# --- mjlab


def make_mjlab_env(task: str, num_envs: int, seeds: ResetSeeds, device: str) -> RslRlEnv:
    """`mjlab:Mjlab-Velocity-Flat-Unitree-Go1`: a registered task, on a GPU where there is one."""
    name = task.partition("mjlab")[2][1:]
    try:
        tasks: Any = importlib.import_module("mjlab.tasks.registry")
        importlib.import_module("mjlab.tasks")
        envs, wrappers = map(importlib.import_module, ("mjlab.envs", "mjlab.rl"))
    except Exception as error:
        try:
            found = f"MuJoCo {version('mujoco')}"
        except PackageNotFoundError:
            found = "no MuJoCo"
        raise ConfigError(
            f"{task}: mjlab cannot be imported ({type(error).__name__}: {error}); {found} is "
            "installed here. mjlab 1.6 needs MuJoCo 3.11 and spacil's own tasks 4.0: make an "
            "environment for robots, `pip install mjlab` and `pip install --no-deps spacil` there"
        ) from error
    if name not in (known := tasks.list_tasks()):
        close = difflib.get_close_matches(name, known, n=3) or known
        raise ConfigError(f"{task}: mjlab has no task {name!r}; did you mean {', '.join(close)}?")
    if device == "cpu" and torch.cuda.is_available():
        device = "cuda"  # updates on the CPU leave the worlds where they are fast
    config, learner = tasks.load_env_cfg(name), tasks.load_rl_cfg(name)
    config.scene.num_envs, config.seed = num_envs, seeds(0, 0) % 2**31
    try:
        inner = envs.ManagerBasedRlEnv(cfg=config, device=device)
        env = wrappers.RslRlVecEnvWrapper(inner, clip_actions=learner.clip_actions)
    except Exception as error:
        raise EnvError(f"{task} on {device}: {type(error).__name__}: {error}") from error
    return RslRlEnv(RslRlTask(env, name=task), num_envs, seeds, is_own=True)
