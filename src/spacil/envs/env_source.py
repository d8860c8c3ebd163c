"""From what a user has (an id, an env, a function) to a factory of equal, independent envs.

Nothing is guessed: an env that can neither be rebuilt nor copied is refused with the remedy.
"""

import contextlib
import copy
import difflib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from spacil.errors import ConfigError

Env = gymnasium.Env[Any, Any]
EnvFactory = Callable[[], Env]
EnvSource = str | Env | EnvFactory


def as_env_factory(source: EnvSource, other_names: Iterable[str] = ()) -> tuple[EnvFactory, str]:
    """A factory and the task's name. `other_names` join Gymnasium's ids when a typo is met."""
    if isinstance(source, str):
        _check_id(source, other_names)
        return partial(gymnasium.make, source), source
    if isinstance(source, gymnasium.Env):
        return _factory_of(source), _name_of(source)
    if callable(source):
        return source, getattr(source, "__name__", type(source).__name__).strip("<>")
    raise ConfigError(
        f"cannot make an env from a {type(source).__name__}: give a task name, a gymnasium.Env, "
        "or a function without arguments that returns one"
    )


def _check_id(env_id: str, other_names: Iterable[str]) -> None:
    # "package:Name-v0" names a module that registers the env; only making it can tell.
    if ":" in env_id:
        return
    try:
        gymnasium.spec(env_id)
    except gymnasium.error.Error as error:
        known = [*other_names, *gymnasium.registry]
        close = difflib.get_close_matches(env_id, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`spacil tasks` lists ours"
        raise ConfigError(f"unknown task {env_id!r}: {hint} ({error})") from None


def _factory_of(env: Env) -> EnvFactory:
    """New envs from the recipe Gymnasium keeps of one, else from a copy of it as it is now."""
    if env.spec is not None:
        rebuild = partial(gymnasium.make, env.spec)
        # A wrapper may have left no recipe; then a copy may still do.
        with contextlib.suppress(Exception):
            rebuild().close()
            return rebuild
    try:
        return partial(copy.deepcopy, copy.deepcopy(env))
    except Exception as error:
        raise ConfigError(
            f"{_name_of(env)} can be neither rebuilt nor copied "
            f"({type(error).__name__}: {error}): give a function without arguments that makes one"
        ) from error


def _name_of(env: Env) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def is_deterministic(make_env: EnvFactory, seed: int = 0, num_steps: int = 8) -> bool:
    """Whether one seed and the same actions give the same bits, in one env and in a new one.

    Where they do not, no run on this env can be repeated, whatever else is done right.
    """
    first, second = make_env(), make_env()
    try:
        space = first.action_space
        space.seed(seed)
        actions = [space.sample() for _ in range(num_steps)]
        trace = _trace(first, seed, actions)
        again, elsewhere = _trace(first, seed, actions), _trace(second, seed, actions)
        return trace == again == elsewhere
    finally:
        first.close()
        second.close()


def _trace(env: Env, seed: int, actions: Iterable[NDArray[Any]]) -> list[bytes]:
    """Everything an episode shows, up to its end."""
    state, _ = env.reset(seed=seed)
    trace = [np.asarray(state).tobytes()]
    for action in actions:
        state, reward, terminated, truncated, _ = env.step(action)
        outcome = np.asarray([reward, terminated, truncated], dtype=np.float64)
        trace += [np.asarray(state).tobytes(), outcome.tobytes()]
        if terminated or truncated:
            break
    return trace
