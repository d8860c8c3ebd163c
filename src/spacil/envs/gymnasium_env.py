"""Any other Gymnasium env with flat `Box` observations and actions, behind our protocol.

A plain loop in this process: Gymnasium's vector env starts an episode from no seed of ours, steps
envs that wait, and casts observations. What an env raises is an error that names the env, the step
and the seed that replays it; an env that hangs ends the process with the stacks of its threads.
"""

import contextlib
import copy
import faulthandler
import inspect
import io
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.wrappers import FlattenObservation
from numpy.typing import NDArray
from PIL import Image

from spacil.envs.mujoco_tasks import MUJOCO_TASKS
from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    EnvSpec,
    FloatArray,
    NumpyVectorEnv,
    ResetSeeds,
    Scene,
)
from spacil.errors import ConfigError, EnvError, RetryableError, SpacilError
from spacil.plain_text import did_you_mean, printable, shown
from spacil.user_code import import_typed

DEFAULT_TIMEOUT = 300.0
"""Seconds that one call may take: a step, a reset or the making of all envs"""

Env = gymnasium.Env[Any, Any]
EnvFactory = Callable[[], Env]
EnvSource = str | Env | EnvFactory

LARGEST_REWARD = 1e100
"""Sums of larger ones, and their squares, are infinite, and no file keeps them"""
FLATTEN = "flatten/"
"""Before a task's name: its observations as one vector"""
_MAX_FLOAT32 = np.finfo(np.float32).max
_STANDARD_ERROR = 2
_logger = logging.getLogger(__name__)


class GymnasiumVectorEnv(NumpyVectorEnv):
    """N envs from one factory. Episodes are counted here, and each has a seed of its own."""

    def __init__(
        self,
        make_env: EnvFactory,
        task_name: str,
        num_envs: int,
        seeds: ResetSeeds,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        super().__init__(task_name, num_envs)
        self._task, self._seeds, self._timeout = task_name, seeds, timeout
        self._process = os.getpid()
        self.envs: list[Env] = []
        try:
            with self._limited():
                for _ in range(num_envs):
                    with self._as_error(f"{task_name} is made"):
                        env = make_env()
                    if not isinstance(env, gymnasium.Env) or env in self.envs:
                        raise ConfigError(
                            f"{task_name}: the factory returned a {type(env).__name__}, expected "
                            "a gymnasium.Env, a new one each time"
                        )
                    self.envs.append(env)
                with self._as_error(f"{task_name} is asked for its spaces"):
                    self.spec = _described(self.envs[0], task_name)
                    spaces = [(env.observation_space, env.action_space) for env in self.envs]
                if other := next((found for found in spaces if found != spaces[0]), None):
                    raise ConfigError(
                        f"{task_name}: one env has the spaces {spaces[0]} and another {other}, "
                        "expected equal ones"
                    )
        except BaseException:
            self.close()
            raise
        self._action_dtype = self.envs[0].action_space.dtype
        self._episodes = np.zeros(num_envs, dtype=np.int64)
        self._elapsed_steps = np.zeros(num_envs, dtype=np.int64)
        self._states = np.zeros((num_envs, self.spec.num_states))

    def _reset(self, first_episode: int) -> FloatArray:
        self._episodes[:] = first_episode
        return self._continue(0)

    def _step(self, actions: ActionArray, active: BoolArray | None) -> tuple[NDArray[Any], ...]:
        final_states, rewards = self._states.copy(), np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=np.bool_)
        ids = np.arange(self.num_envs) if active is None else np.flatnonzero(active)
        self._elapsed_steps[ids] += 1
        with self._limited():
            for i in ids.tolist():
                with self._as_error(self._place(i, "step")):
                    outcome: Any = self.envs[i].step(actions[i].astype(self._action_dtype))
                    state, reward, *ends, _ = outcome
                    final_states[i] = self._checked_state(state)
                    rewards[i] = float(reward + 0.0)  # so that text is no number
                    terminated[i], truncated[i] = map(bool, ends)
                    if not abs(rewards[i]) < LARGEST_REWARD:  # NaN is not
                        raise ValueError(f"the reward is {reward}, expected a finite number")
            self._states[:] = final_states
            ended = np.flatnonzero(terminated | truncated)
            self._episodes[ended] += 1
            self._start_episodes(ended)
        return self._states.copy(), final_states, rewards, terminated, truncated

    def scene(self) -> Scene | None:
        """Show the first env, as MuJoCo or it itself draws; None where nothing does."""
        import mujoco

        from spacil.envs.mujoco_model import POSE

        env: Any = self.envs[0].unwrapped
        model, data = getattr(env, "model", None), getattr(env, "data", None)
        if not (isinstance(model, mujoco.MjModel) and isinstance(data, mujoco.MjData)):
            if "rgb_array" not in (env.metadata.get("render_modes") or ()):
                return None
            env.render_mode = "rgb_array"
            self.reset(0)
            try:
                self._picture()
            except SpacilError as error:
                _logger.warning("%s; it is shown by its actions alone", error)
                return None
            return Scene(None, self._picture)

        def pose() -> FloatArray:
            found = np.empty(mujoco.mj_stateSize(env.model, POSE))
            mujoco.mj_getState(env.model, env.data, found, POSE)
            return found

        return Scene(model, pose)

    def _picture(self) -> bytes:
        """What the first env draws of itself now."""
        with self._limited(), self._as_error(self._place(0, "render")):
            drawn, png = np.asarray(self.envs[0].render()), io.BytesIO()
            if drawn.dtype != np.uint8 or drawn.ndim != 3:
                raise ValueError(f"a picture is {drawn.dtype} of shape {drawn.shape}, expected RGB")
            Image.fromarray(drawn).save(png, "PNG", compress_level=1)
        return png.getvalue()

    def _live_arrays(self) -> dict[str, NDArray[Any]]:
        """The episode counters. What happens inside an arbitrary env cannot be saved."""
        return {"episodes": self._episodes}

    def _continue(self, later: int = 1) -> FloatArray:
        self._episodes += later
        with self._limited():
            self._start_episodes(np.arange(self.num_envs))
        return self._states.copy()

    def _let_go(self) -> None:
        """Close the envs. Whatever they do then comes too late to change what the run has done."""
        for env in self.envs:
            try:
                with self._limited(), self._as_error(f"{self._task} is closed"):
                    env.close()
            except EnvError as error:
                _logger.warning("%s", error)
        self.envs = []

    def _start_episodes(self, ids: NDArray[np.intp]) -> None:
        self._elapsed_steps[ids] = 0
        for i in ids.tolist():
            with self._as_error(self._place(i, "reset")):
                state, _ = self.envs[i].reset(seed=self._seeds(i, int(self._episodes[i])))
                self._states[i] = self._checked_state(state)

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """End the process where its threads are if the block takes longer than the timeout.

        No exception can be raised in a thread that hangs in a driver or a socket.
        """
        timer = threading.Timer(self._timeout, self._end_process)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end_process(self) -> None:
        message = (
            f"spacil: {self._doing}, and has not returned for {self._timeout:g} s "
            "(--env-timeout): it hangs. The process ends here, where its threads are; what was "
            "saved is intact, and the same command with --resume goes on from it\n"
        )
        with contextlib.suppress(OSError):  # nobody reads it; the process has to end all the same
            os.write(_STANDARD_ERROR, printable(message).encode(errors="replace"))
        faulthandler.dump_traceback(_STANDARD_ERROR, all_threads=True)
        os._exit(RetryableError.exit_code)

    @contextlib.contextmanager
    def _as_error(self, doing: str) -> Iterator[None]:
        """An error with the reason, where code of others raises, or calls `sys.exit`.

        A child that it forked may exit as it likes.
        """
        self._doing = doing
        try:
            yield
        except SpacilError:
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, SystemExit) and os.getpid() != self._process:
                raise
            is_setup = isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled)
            kind = ConfigError if is_setup else EnvError
            is_old = isinstance(error, TypeError) and "argument 'seed'" in str(error)
            hint = ". An env of the old Gym API? shimmy wraps it" if is_old else ""
            raise kind(f"{doing}: {type(error).__name__}: {shown(error)}{hint}") from error

    def _place(self, i: int, verb: str) -> str:
        """All that is needed to meet a fault again."""
        episode = int(self._episodes[i])
        return (
            f"{self._task}: env {i} in {verb}, at step {self._elapsed_steps[i]} of episode "
            f"{episode}, which starts from reset(seed={self._seeds(i, episode)})"
        )

    def _checked_state(self, state: Any) -> FloatArray:
        array = np.asarray(state)
        if array.dtype.kind not in "biuf" or array.shape != (self.spec.num_states,):
            raise ValueError(
                f"an observation is {array.dtype} of shape {array.shape}, expected real numbers "
                f"of shape ({self.spec.num_states},)"
            )
        # Policies read float32: what is finite here and not there would reach them as infinity.
        is_sound = np.abs(array) <= _MAX_FLOAT32
        if not is_sound.all():
            column = int(np.flatnonzero(~is_sound)[0])
            raise ValueError(f"{array[column]} in column {column} of an observation")
        return array


# --- what an env is


def _described(env: Env, task_name: str) -> EnvSpec:
    """Sizes, bounds and identity of an env, or a refusal that names what is supported."""
    observations, actions = env.observation_space, env.action_space
    for name, space in (("observations", observations), ("actions", actions)):
        if not isinstance(space, Box) or len(space.shape) != 1 or space.shape[0] == 0:
            remedy = (
                f"--task {FLATTEN}{task_name} flattens them, in Python "
                "gymnasium.wrappers.FlattenObservation"
                if name == "observations"
                else "smoothness is how an action follows the state, and a choice does not"
            )
            raise ConfigError(
                f"{task_name}: {name} are {space}, expected a gymnasium.spaces.Box of shape (n,): "
                f"{remedy}"
            )
    assert isinstance(observations, Box) and isinstance(actions, Box)
    if not np.issubdtype(actions.dtype, np.floating):
        raise ConfigError(f"{task_name}: actions are {actions.dtype}, expected a Box of floats")
    # Float32 bounds that a clipped action cannot cross: rounding to nearest may go outside.
    low, high = actions.low.astype(np.float32), actions.high.astype(np.float32)
    low = np.where(low < actions.low, np.nextafter(low, np.float32(np.inf)), low)
    high = np.where(high > actions.high, np.nextafter(high, np.float32(-np.inf)), high)
    if not (low <= high).all():
        raise ConfigError(f"{task_name}: actions go from {low} to {high}, expected low <= high")
    with np.errstate(over="ignore"):  # bounds so far apart that no float says how far are none
        is_open = np.isfinite(low) & np.isfinite(high) & ~np.isfinite(high - low)
    low, high = np.where(is_open, -np.inf, low), np.where(is_open, np.inf, high)
    dt = getattr(env.unwrapped, "dt", None)
    kwargs, plain = env.spec.kwargs if env.spec is not None else {}, bool | int | float | str | None
    limit = "_max_episode_steps"  # of gymnasium's TimeLimit, also where nobody registered the env
    return EnvSpec(
        task=task_name,
        num_states=observations.shape[0],
        num_actions=actions.shape[0],
        action_low=low,
        action_high=high,
        horizon=env.get_wrapper_attr(limit) if env.has_wrapper_attr(limit) else None,
        dt=float(dt) if isinstance(dt, int | float) else None,
        gymnasium_id=env.spec.id if env.spec is not None else None,
        kwargs={
            # Of anything else its type is all that stays the same.
            name: value if isinstance(value, plain) else type(value).__name__
            for name, value in kwargs.items()
        },
        restores_exactly=False,
    )


# --- from what a user has to a factory of equal, independent envs


def as_env_factory(source: EnvSource) -> tuple[EnvFactory, str]:
    """Return what makes equal, independent envs, and the task's name."""
    if isinstance(source, str):
        if source.startswith(FLATTEN):
            make_env, _ = as_env_factory(source.removeprefix(FLATTEN))
            return lambda: FlattenObservation(make_env()), source
        return (_own_factory if ":" in source else _factory_of_id)(source), source
    if isinstance(source, gymnasium.Env):
        name = source.spec.id if source.spec is not None else type(source.unwrapped).__name__
        return _factory_like(source, name), name
    if callable(source):
        return source, getattr(source, "__name__", type(source).__name__).strip("<>")
    raise ConfigError(
        f"cannot make an env from a {type(source).__name__}: give a task name, a gymnasium.Env, "
        "or a function without arguments that returns one"
    )


def _factory_of_id(name: str) -> EnvFactory:
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        # Ours first: the registry also lists versions that no longer run.
        close = did_you_mean(name, [task.name for task in MUJOCO_TASKS])
        close = close or did_you_mean(name, gymnasium.registry)
        raise ConfigError(
            f"unknown task {name!r}{close or f': {error} `spacil tasks` lists ours.'} "
            + _with_module(name)
        ) from None
    return partial(gymnasium.make, name)


def _with_module(name: str) -> str:
    """Say how an env that Gymnasium does not know yet is named."""
    if name.endswith(".py"):
        return f"Name the env in it: {Path(name).stem}:Env-v0, the id that it registers"
    return (
        f"An env of your own, or of another package, is module:{name}: the module that registers "
        "it, such as my_env.py in this folder or gymnasium_robotics"
    )


def _own_factory(name: str) -> EnvFactory:
    """`module:Env-v0`, an id that the module registers, or `module:maker`, a class or function.

    Only what makes an env is called: a class of envs, or a function that the module itself defines.
    """
    module, wanted = import_typed(name)
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # the entry point may be in a module that is imported later
    if wanted in gymnasium.registry:
        return partial(gymnasium.make, wanted)
    maker: Any = getattr(module, wanted, None)
    home = f"{getattr(maker, '__module__', None)}."
    is_own = inspect.isfunction(maker) and home.startswith(f"{module.__name__}.")
    if not is_own and not (inspect.isclass(maker) and issubclass(maker, gymnasium.Env)):
        raise ConfigError(
            f"{name} is not an id that {module.__name__} registers, a subclass of gymnasium.Env, "
            "or a function of its own that returns an env, and is not called"
            + did_you_mean(wanted, [n for n in (*gymnasium.registry, *vars(module)) if n != wanted])
        )
    found: EnvFactory = maker
    return found


def _factory_like(env: Env, name: str) -> EnvFactory:
    """New envs from the recipe Gymnasium keeps of one, else from a copy of it as it is now."""
    if env.spec is not None:
        with contextlib.suppress(Exception):  # a wrapper may have left no recipe
            gymnasium.make(env.spec).close()
            return partial(gymnasium.make, env.spec)
    try:
        return partial(copy.deepcopy, copy.deepcopy(env))
    except Exception as error:
        raise ConfigError(
            f"{name} can be neither rebuilt nor copied ({type(error).__name__}: {error}): give a "
            "function without arguments that makes one"
        ) from error
