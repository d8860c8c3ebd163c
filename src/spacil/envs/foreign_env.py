"""One env that others wrote, and an episode in it. Nothing it does is trusted.

An exception, a wrong shape or a non-finite number becomes an error that names the env, the step and
the seed that replays it; a call that never returns ends the process with the same words. An
exception gets one second chance: the episode is played again in a new env, from its seed, and goes
on if it comes to the same state. `sys.exit` gets none: only a finished run may end as one.
"""

import contextlib
import logging
import math
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from spacil.envs.env_source import Env, EnvFactory
from spacil.envs.vector_env import FloatArray
from spacil.envs.watchdog import Watchdog
from spacil.errors import ConfigError, EnvError
from spacil.plain_text import shown

_MAX_FLOAT32 = np.finfo(np.float32).max
_MAX_REPLAYED_STEPS = 10_000
"""Episodes longer than this get no second chance: their actions are not kept."""

_logger = logging.getLogger(__name__)


class Step(NamedTuple):
    """What one step returned, checked."""

    state: FloatArray
    reward: float
    is_terminated: bool
    is_truncated: bool


class ForeignEnv:
    """Env number `index` of a task."""

    def __init__(self, make_env: EnvFactory, task: str, index: int, watchdog: Watchdog) -> None:
        self._make_env = make_env
        self._task = task
        self._index = index
        self._watchdog = watchdog
        self._episode = self._seed = self._elapsed_steps = 0
        self._actions: list[NDArray[Any]] = []
        """Those of the episode, to play it again."""
        self._state: FloatArray = np.zeros(0)
        self._verb = "reset"
        self._is_told_out_of_bounds = False
        self.env = self._made()
        self._space = self.env.observation_space
        """As it was when the run began; an env has no business to change it."""

    def start_episode(self, episode: int, seed: int) -> FloatArray:
        """Reset from a seed; returns the state [S]."""
        self._episode, self._seed, self._elapsed_steps = episode, seed, 0
        self._actions.clear()
        self._state = self._checked_state(self._with_second_chance(self._reset))
        return self._state

    def step(self, action: NDArray[Any]) -> Step:
        self._elapsed_steps += 1
        outcome = self._with_second_chance(lambda: self._step(action))
        if len(self._actions) < _MAX_REPLAYED_STEPS:
            self._actions.append(action)
        state, reward, terminated, truncated, _ = outcome
        self._state = self._checked_state(state)
        return Step(
            self._state,
            self._checked_reward(reward),
            self._checked_flag(terminated, "terminated"),
            self._checked_flag(truncated, "truncated"),
        )

    # --- calls into the env, watched

    def _reset(self) -> Any:
        self._verb = "reset"
        with self._watchdog.watch(self._whereabouts), self._exit_as_fault():
            outcome = self.env.reset(seed=self._seed)
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise self._fault(
                f"returned {_counted(outcome)} from reset, expected observation and info"
            )
        return outcome[0]

    def _step(self, action: NDArray[Any]) -> tuple[Any, ...]:
        self._verb = "step"
        with self._watchdog.watch(self._whereabouts), self._exit_as_fault():
            outcome = self.env.step(action)
        if not isinstance(outcome, tuple) or len(outcome) != 5:
            raise self._fault(
                f"returned {_counted(outcome)} from step, expected observation, reward, "
                "terminated, truncated and info"
            )
        return outcome

    def close(self) -> None:
        """Close the env. Whatever it does then comes too late to change what the run has done."""
        described = f"{self._task}: env {self._index} was called with close"
        try:
            with self._watchdog.watch(lambda: described), exit_as_error(self._task, "in close"):
                self.env.close()
        except Exception as error:
            _logger.warning("%s: env %d cannot be closed: %s", self._task, self._index, told(error))

    def _made(self) -> Env:
        described = f"{self._task}: env {self._index} is being made"
        with self._watchdog.watch(lambda: described):
            return made(self._make_env, self._task)

    @contextlib.contextmanager
    def _exit_as_fault(self) -> Iterator[None]:
        with exit_as_error(self._task, self._located(f"in {self._verb} of env {self._index}")):
            yield

    def _with_second_chance(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except EnvError:
            raise
        except Exception as error:
            fault = self._located(f"raised {told(error)} in {self._verb}")
            try:
                self._make_anew()
                outcome = call()
            except Exception as again:
                raise EnvError(f"{fault}; a new env failed too ({told(again)})") from error
        _logger.warning("%s; it was made anew, and the same episode goes on", fault)
        return outcome

    def _make_anew(self) -> None:
        """A new env, led by the same seed and actions to the state where the broken one was."""
        self.close()
        self.env = self._made()
        num_steps_done = self._elapsed_steps - 1
        if num_steps_done < 0:  # it broke in its reset, which is called again
            return
        if num_steps_done > len(self._actions):
            raise EnvError("the episode is too long to be played again")
        state = self._reset()
        for action in self._actions:
            state = self._step(action)[0]
        if not np.array_equal(self._checked_state(state), self._state):
            raise EnvError("it comes to another state")

    # --- what it returns, checked

    def _checked_state(self, state: Any) -> FloatArray:
        array = _as_numbers(state)
        if array is None:
            raise self._fault(
                f"returned a {type(state).__name__} as observation, expected an array of real "
                "numbers"
            )
        space = self._space
        assert isinstance(space, Box)
        if self.env.observation_space.shape != space.shape:
            raise self._fault(
                f"changed its observation space from shape {space.shape} to "
                f"{shown(self.env.observation_space.shape)}"
            )
        if array.shape != space.shape:
            raise self._fault(
                f"returned an observation of shape {array.shape}, expected {space.shape}"
            )
        # Policies read float32: what is finite here and not there would reach them as infinity.
        is_sound = np.abs(array) <= _MAX_FLOAT32
        if not is_sound.all():
            column = int(np.flatnonzero(~is_sound)[0])
            raise self._fault(f"returned {array[column]} in column {column} of an observation")
        if not self._is_told_out_of_bounds:
            self._tell_if_out_of_bounds(array, space)
        return array

    def _tell_if_out_of_bounds(self, state: FloatArray, space: Box) -> None:
        """Told once: many envs overstep what they declare, and learning does not depend on it."""
        outside = np.flatnonzero((state < space.low) | (state > space.high))
        if len(outside):
            self._is_told_out_of_bounds = True
            column = int(outside[0])
            value = f"{state[column]:g} in column {column} of an observation"
            bounds = f"[{space.low[column]:g}, {space.high[column]:g}]"
            _logger.warning(
                "%s; told once", self._located(f"returned {value}, declared to be in {bounds}")
            )

    def _checked_reward(self, reward: Any) -> float:
        number = _as_numbers(reward)
        if number is None or number.size != 1:
            raise self._fault(f"returned the reward {shown(repr(reward), 64)}, expected a number")
        value = float(number.reshape(-1)[0])
        if not math.isfinite(value):
            raise self._fault(f"returned the reward {value}")
        return value

    def _checked_flag(self, flag: Any, name: str) -> bool:
        number = _as_numbers(flag)
        if number is None or number.ndim or number not in (0, 1):
            raise self._fault(f"returned {shown(repr(flag), 64)} as {name}, expected True or False")
        return bool(number)

    def _fault(self, what: str) -> EnvError:
        return EnvError(self._located(what))

    def _whereabouts(self) -> str:
        return self._located(f"was called with {self._verb}")

    def _located(self, what: str) -> str:
        """With all that is needed to meet the fault again."""
        return (
            f"{self._task}: env {self._index} {what}, at step {self._elapsed_steps} of episode "
            f"{self._episode}, which starts from reset(seed={self._seed})"
        )


def made(make_env: EnvFactory, task_name: str) -> Env:
    try:
        with exit_as_error(task_name, "while it was made"):
            env = make_env()
    except EnvError:
        raise
    except ImportError as error:
        raise ConfigError(
            f"{task_name} needs a package that is not installed: {error}. "
            "For Gymnasium's MuJoCo tasks: pip install 'gymnasium[mujoco]'"
        ) from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise ConfigError(f"{task_name} needs a package that is not installed: {error}") from error
    except Exception as error:
        raise EnvError(f"{task_name} cannot be made: {told(error)}") from error
    if not isinstance(env, gymnasium.Env):
        raise ConfigError(
            f"{task_name}: the factory returned a {type(env).__name__}, expected a gymnasium.Env"
        )
    return env


@contextlib.contextmanager
def exit_as_error(task_name: str, where: str) -> Iterator[None]:
    """Code of others that calls `sys.exit` has failed: the run has not ended.

    A child that it forked may exit as it likes.
    """
    process = os.getpid()
    try:
        yield
    except SystemExit as ending:
        if os.getpid() != process:
            raise
        raise EnvError(f"{task_name} called sys.exit({shown(ending.code, 64)}) {where}") from ending


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {shown(error)}"


def _as_numbers(value: Any) -> FloatArray | None:
    """Real numbers as float64; None for text, complex numbers, objects, and what is too large.

    Nothing is cast that numpy would cast: "1.5" is no number, and 1+2j not 1.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            return None
        return np.array(array, dtype=np.float64)
    except Exception:  # any object may be returned, and raise anything when looked at
        return None


def _counted(outcome: Any) -> str:
    return f"{len(outcome)} values" if isinstance(outcome, tuple) else type(outcome).__name__
