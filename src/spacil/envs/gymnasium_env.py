"""Any other Gymnasium env with flat `Box` observations and actions, behind our protocol.

A plain loop in this process. Nothing is trusted: an exception, a wrong shape or a non-finite
number becomes an error that names the env, the step and the seed that replays it. Spaces that a
Gaussian policy cannot serve are refused before anything runs; none is flattened in silence.
"""

import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from spacil.envs.env_source import Env, EnvFactory
from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    EnvSpec,
    FloatArray,
    ResetSeeds,
    StepResult,
    check_actions,
    check_active,
    fingerprint,
)
from spacil.errors import ConfigError, EnvError

_MAX_FLOAT32 = np.finfo(np.float32).max


class GymnasiumVectorEnv:
    """N envs from one factory. Gymnasium's own autoreset is never used."""

    spec: EnvSpec
    num_envs: int

    def __init__(
        self, make_env: EnvFactory, task_name: str, num_envs: int, seeds: ResetSeeds
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"{task_name}: num_envs is {num_envs}, it must be at least 1")
        self.num_envs = num_envs
        self._seeds = seeds
        self._envs: list[Env] = []
        try:
            self._envs.append(_made(make_env, task_name))
            self.spec = describe(self._envs[0], task_name)
            while len(self._envs) < num_envs:
                self._envs.append(_made(make_env, task_name))
            if len({id(env) for env in self._envs}) < num_envs:
                raise ConfigError(
                    f"{task_name}: the factory returned one env twice, it must make a new one "
                    "each time"
                )
        except BaseException:
            self.close()
            raise
        self._action_dtype = self._envs[0].action_space.dtype
        self._elapsed_steps = np.zeros(num_envs, dtype=np.int64)
        self._episodes = np.zeros(num_envs, dtype=np.int64)
        self._states = np.zeros((num_envs, self.spec.num_states))
        self._has_episodes = False
        """False before the first reset and after a fault: then there is nothing to step."""

    def reset(self, first_episode: int = 0) -> FloatArray:
        """Start episode `first_episode` in every env; returns states [N, S]."""
        self._refuse_if_closed()
        self._episodes[:] = first_episode
        return self._start_all()

    def step(self, actions: ActionArray, active: BoolArray | None = None) -> StepResult:
        """One step of all envs, or of those in `active`; see `VectorEnv.step`."""
        check_actions(actions, self.spec, self.num_envs)
        if active is not None:
            check_active(active, self.spec, self.num_envs)
        self._refuse_if_closed()
        if not self._has_episodes:
            raise EnvError(f"{self.spec.task}: step() before reset() or load_state()")
        final_states = self._states.copy()
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        for env in range(self.num_envs) if active is None else np.flatnonzero(active).tolist():
            final_states[env], rewards[env], terminated[env], truncated[env] = self._step_one(
                env, actions[env].astype(self._action_dtype)
            )
            self._states[env] = final_states[env]
            if terminated[env] or truncated[env]:
                self._episodes[env] += 1
                self._start_episode(env)
        return StepResult(self._states.copy(), final_states, rewards, terminated, truncated)

    def save_state(self) -> dict[str, NDArray[Any]]:
        """The episode counters. What happens inside an arbitrary env cannot be saved."""
        return {"episodes": self._episodes.copy()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Start the episode after the saved one in every env; returns its states [N, S]."""
        self._refuse_if_closed()
        episodes = state.get("episodes")
        if episodes is None or episodes.shape != (self.num_envs,):
            found = "none" if episodes is None else f"{len(episodes)}"
            raise ConfigError(
                f"{self.spec.task}: the saved state has {found} envs, this run has "
                f"{self.num_envs}: another --num-envs?"
            )
        self._episodes[:] = episodes + 1
        return self._start_all()

    def close(self) -> None:
        """Close every env; closing twice is harmless."""
        envs, self._envs = self._envs, []
        for env in envs:
            env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _start_all(self) -> FloatArray:
        for env in range(self.num_envs):
            self._start_episode(env)
        self._has_episodes = True
        return self._states.copy()

    def _start_episode(self, env: int) -> None:
        self._elapsed_steps[env] = 0
        try:
            state, _ = self._envs[env].reset(seed=self._seed(env))
        except Exception as error:
            raise self._fault(env, f"raised {_told(error)} in reset") from error
        self._states[env] = self._checked_state(env, state)

    def _step_one(self, env: int, action: NDArray[Any]) -> tuple[FloatArray, float, bool, bool]:
        self._elapsed_steps[env] += 1
        try:
            state, reward, terminated, truncated, _ = self._envs[env].step(action)
        except Exception as error:
            raise self._fault(env, f"raised {_told(error)} in step") from error
        try:
            value = float(reward)
        except (TypeError, ValueError):
            raise self._fault(env, f"returned the reward {reward!r}, expected a number") from None
        if not math.isfinite(value):
            raise self._fault(env, f"returned the reward {value}")
        return self._checked_state(env, state), value, bool(terminated), bool(truncated)

    def _checked_state(self, env: int, state: Any) -> FloatArray:
        try:
            array = np.asarray(state, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._fault(
                env, f"returned a {type(state).__name__} as observation, expected an array"
            ) from None
        if array.shape != (self.spec.num_states,):
            expected = (self.spec.num_states,)
            raise self._fault(
                env, f"returned an observation of shape {array.shape}, expected {expected}"
            )
        # Policies read float32: what is finite here and not there would reach them as infinity.
        is_sound = np.abs(array) <= _MAX_FLOAT32
        if not is_sound.all():
            column = int(np.flatnonzero(~is_sound)[0])
            raise self._fault(env, f"returned {array[column]} in column {column} of an observation")
        return array

    def _seed(self, env: int) -> int:
        return self._seeds(env, int(self._episodes[env]))

    def _fault(self, env: int, what: str) -> EnvError:
        self._has_episodes = False
        return EnvError(
            f"{self.spec.task}: env {env} {what}, at step {self._elapsed_steps[env]} of episode "
            f"{self._episodes[env]}, which starts from reset(seed={self._seed(env)})"
        )

    def _refuse_if_closed(self) -> None:
        if not self._envs:
            raise EnvError(f"{self.spec.task}: this env is closed")


def _made(make_env: EnvFactory, task_name: str) -> Env:
    try:
        env = make_env()
    except ImportError as error:
        raise ConfigError(
            f"{task_name} needs a package that is not installed: {error}. "
            "For Gymnasium's MuJoCo tasks: pip install 'gymnasium[mujoco]'"
        ) from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise ConfigError(f"{task_name} needs a package that is not installed: {error}") from error
    except Exception as error:
        raise EnvError(f"{task_name} cannot be made: {_told(error)}") from error
    if not isinstance(env, gymnasium.Env):
        raise ConfigError(
            f"{task_name}: the factory returned a {type(env).__name__}, expected a gymnasium.Env"
        )
    return env


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def describe(env: Env, task_name: str) -> EnvSpec:
    """Sizes, bounds and identity of an env, or a refusal that names what is supported."""
    observations = _flat_box(env.observation_space, f"{task_name}: observations")
    actions = _flat_box(env.action_space, f"{task_name}: actions")
    if not np.issubdtype(actions.dtype, np.floating):
        raise ConfigError(f"{task_name}: actions are {actions.dtype}, expected a Box of floats")
    low, high = _inner_bounds(actions)
    horizon = env.spec.max_episode_steps if env.spec is not None else None
    dt = getattr(env.unwrapped, "dt", None)
    num_states = observations.shape[0]
    return EnvSpec(
        task=task_name,
        num_states=num_states,
        num_actions=actions.shape[0],
        action_low=low,
        action_high=high,
        horizon=horizon,
        dt=float(dt) if isinstance(dt, int | float) else None,
        fingerprint=fingerprint(
            env.spec.id if env.spec is not None else None,
            _json_kwargs(env.spec.kwargs if env.spec is not None else {}),
            num_states,
            low,
            high,
            horizon,
        ),
        restores_exactly=False,
    )


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
