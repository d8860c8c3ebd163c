"""Any other Gymnasium env with flat `Box` observations and actions, behind our protocol.

A plain loop in this process. Spaces that a Gaussian policy cannot serve are refused before anything
runs; none is flattened in silence.
"""

import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from spacil.envs.env_source import Env, EnvFactory
from spacil.envs.foreign_env import ForeignEnv, exit_as_error, told
from spacil.envs.numpy_env import NumpyVectorEnv
from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    EnvSpec,
    FloatArray,
    ResetSeeds,
    fingerprint,
)
from spacil.envs.watchdog import Watchdog
from spacil.errors import ConfigError, EnvError, SpacilError

DEFAULT_TIMEOUT = 300.0
"""Seconds that one call into an env may take."""


class GymnasiumVectorEnv(NumpyVectorEnv):
    """N envs from one factory. Gymnasium's own autoreset is never used."""

    def __init__(
        self,
        make_env: EnvFactory,
        task_name: str,
        num_envs: int,
        seeds: ResetSeeds,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"{task_name}: num_envs is {num_envs}, it must be at least 1")
        self.num_envs = num_envs
        self._seeds = seeds
        self._watchdog = Watchdog(timeout)
        self._envs: list[ForeignEnv] = []
        try:
            self._envs.append(ForeignEnv(make_env, task_name, 0, self._watchdog))
            self.spec = describe(self._envs[0].env, task_name)
            while len(self._envs) < num_envs:
                self._envs.append(ForeignEnv(make_env, task_name, len(self._envs), self._watchdog))
            if len({id(foreign.env) for foreign in self._envs}) < num_envs:
                raise ConfigError(
                    f"{task_name}: the factory returned one env twice, it must make a new one "
                    "each time"
                )
        except BaseException:
            self.close()
            raise
        self._action_dtype = self._envs[0].env.action_space.dtype
        self._episodes = np.zeros(num_envs, dtype=np.int64)
        self._states = np.zeros((num_envs, self.spec.num_states))

    def _reset(self, first_episode: int) -> FloatArray:
        self._episodes[:] = first_episode
        return self._start_all()

    def _step(self, actions: ActionArray, active: BoolArray | None) -> tuple[NDArray[Any], ...]:
        final_states = self._states.copy()
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        for env in range(self.num_envs) if active is None else np.flatnonzero(active).tolist():
            final_states[env], rewards[env], terminated[env], truncated[env] = self._envs[env].step(
                actions[env].astype(self._action_dtype)
            )
            self._states[env] = final_states[env]
            if terminated[env] or truncated[env]:
                self._episodes[env] += 1
                self._start_episode(env)
        return self._states.copy(), final_states, rewards, terminated, truncated

    def unwrapped_env(self, index: int) -> Any:
        """The env inside all wrappers, for somebody who looks and does not touch."""
        return self._envs[index].env.unwrapped

    def _live_arrays(self) -> dict[str, NDArray[Any]]:
        """The episode counters. What happens inside an arbitrary env cannot be saved."""
        return {"episodes": self._episodes}

    def _continue(self) -> FloatArray:
        self._episodes += 1
        return self._start_all()

    def _let_go(self) -> None:
        envs, self._envs = self._envs, []
        for foreign in envs:
            foreign.close()
        self._watchdog.close()

    def _start_all(self) -> FloatArray:
        for env in range(self.num_envs):
            self._start_episode(env)
        return self._states.copy()

    def _start_episode(self, env: int) -> None:
        episode = int(self._episodes[env])
        self._states[env] = self._envs[env].start_episode(episode, self._seeds(env, episode))


def describe(env: Env, task_name: str) -> EnvSpec:
    """Sizes, bounds and identity of an env, or a refusal that names what is supported."""
    try:
        with exit_as_error(task_name, "when it was asked for its spaces"):
            return _described(env, task_name)
    except SpacilError:
        raise
    except Exception as error:  # its spaces, spec and dt are code of others too
        raise EnvError(f"{task_name} cannot be described: {told(error)}") from error


def _described(env: Env, task_name: str) -> EnvSpec:
    observations = _flat_box(env.observation_space, f"{task_name}: observations")
    actions = _flat_box(env.action_space, f"{task_name}: actions")
    if not np.issubdtype(actions.dtype, np.floating):
        raise ConfigError(f"{task_name}: actions are {actions.dtype}, expected a Box of floats")
    low, high = _inner_bounds(actions)
    registered = env.spec.max_episode_steps if env.spec is not None else None
    dt = getattr(env.unwrapped, "dt", None)
    num_states = observations.shape[0]
    return EnvSpec(
        task=task_name,
        num_states=num_states,
        num_actions=actions.shape[0],
        action_low=low,
        action_high=high,
        horizon=registered or _wrapped_time_limit(env),
        dt=float(dt) if isinstance(dt, int | float) else None,
        fingerprint=fingerprint(
            env.spec.id if env.spec is not None else None,
            _json_kwargs(env.spec.kwargs if env.spec is not None else {}),
            num_states,
            low,
            high,
            registered,  # a wrapper's limit joined later: runs of before would not be resumed
        ),
        restores_exactly=False,
    )


def _wrapped_time_limit(env: Env) -> int | None:
    """The shortest limit among the wrappers; an env that was never registered has no recipe."""
    limits: list[int] = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            limits.append(env._max_episode_steps)
        env = env.env
    return min(limits, default=None)


def _flat_box(space: gymnasium.Space[Any], what: str) -> Box:
    if not isinstance(space, Box):
        raise ConfigError(
            f"{what} are {type(space).__name__}; supported are gymnasium.spaces.Box of shape (n,)"
        )
    if len(space.shape) != 1 or space.shape[0] == 0:
        raise ConfigError(
            f"{what} are a Box of shape {space.shape}; supported is shape (n,). "
            "gymnasium.wrappers.FlattenObservation flattens observations"
        )
    return space


def _inner_bounds(actions: Box) -> tuple[ActionArray, ActionArray]:
    """Float32 bounds that a clipped action cannot cross: rounding to nearest may go outside."""
    low, high = actions.low.astype(np.float32), actions.high.astype(np.float32)
    low = np.where(low < actions.low, np.nextafter(low, np.float32(np.inf)), low)
    high = np.where(high > actions.high, np.nextafter(high, np.float32(-np.inf)), high)
    return low, high


def _json_kwargs(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values as they are; of anything else its type, which is all that stays the same."""
    plain = bool | int | str | None
    return {
        name: value
        if isinstance(value, plain) or (isinstance(value, float) and math.isfinite(value))
        else type(value).__name__
        for name, value in kwargs.items()
    }
