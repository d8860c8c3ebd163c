"""From what a user has (an id, an env, a function) to a factory of equal, independent envs.

Nothing is guessed: an env that can neither be rebuilt nor copied is refused with the remedy.
"""

import contextlib
import copy
import difflib
import hashlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from spacil.errors import ConfigError
from spacil.plain_text import shown
from spacil.user_code import import_typed

Env = gymnasium.Env[Any, Any]
EnvFactory = Callable[[], Env]
EnvSource = str | Env | EnvFactory

_logger = logging.getLogger(__name__)


def as_env_factory(source: EnvSource, other_names: Iterable[str] = ()) -> tuple[EnvFactory, str]:
    """A factory and the task's name. `other_names` join Gymnasium's ids when a typo is met."""
    if isinstance(source, str):
        if ":" in source:
            return _own_factory(source), source
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
    try:
        gymnasium.spec(env_id)
    except gymnasium.error.Error as error:
        # Ours first: the registry also lists versions that no longer run.
        close = _close_to(env_id, other_names) or _close_to(env_id, gymnasium.registry)
        hint = f"did you mean {close}?" if close else f"{error} `spacil tasks` lists ours."
        raise ConfigError(
            f"unknown task {env_id!r}: {hint} An env of your own is module:Env-v0, with module.py "
            "in this folder"
        ) from None


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
    is_class_of_envs = inspect.isclass(maker) and issubclass(maker, gymnasium.Env)
    home = getattr(maker, "__module__", None)
    if is_class_of_envs or (
        inspect.isfunction(maker) and f"{home}.".startswith(f"{module.__name__}.")
    ):
        found: EnvFactory = maker
        return found
    if maker is not None:
        raise ConfigError(
            f"{name}: is a {type(maker).__name__} of {shown(home)}, and is not called: expected a "
            f"subclass of gymnasium.Env, or a function that {module.__name__} itself defines and "
            "that returns an env"
        )
    close = _close_to(wanted, [*gymnasium.registry, *vars(module)])
    raise ConfigError(
        f"{name}: {module.__name__} registers no env {wanted!r} and has no function or class of "
        f"that name{f': did you mean {close}?' if close else ''}"
    )


def _close_to(name: str, known: Iterable[str]) -> str:
    """Names that somebody may have meant, each once."""
    return " or ".join(difflib.get_close_matches(name, dict.fromkeys(known), n=3))


def _factory_of(env: Env) -> EnvFactory:
    """New envs from the recipe Gymnasium keeps of one, else from a copy of it as it is now."""
    if env.spec is not None:
        rebuild = partial(gymnasium.make, env.spec)
        # A wrapper may have left no recipe; then a copy may still do.
        with contextlib.suppress(Exception, SystemExit):
            fresh = rebuild()
            _tell_what_was_changed(env, fresh)
            fresh.close()
            return rebuild
    try:
        return partial(copy.deepcopy, copy.deepcopy(env))
    except Exception as error:
        raise ConfigError(
            f"{_name_of(env)} can be neither rebuilt nor copied "
            f"({type(error).__name__}: {error}): give a function without arguments that makes one"
        ) from error


def _tell_what_was_changed(env: Env, fresh: Env) -> None:
    """Warn of settings that somebody changed on the env after it was made: new ones lack them.

    A setting is a plain attribute that a reset and a step leave alone, or MuJoCo's whole model.
    """
    before = _plain_attributes(fresh)
    with contextlib.suppress(Exception, SystemExit):
        fresh.reset(seed=0)
        fresh.step(fresh.action_space.sample())
    after, given = _plain_attributes(fresh), _plain_attributes(env)
    changes = [
        f"{name} {shown(value, 40)} -> {shown(given[name], 40)}"
        for name, value in before.items()
        if after.get(name) == value and given.get(name, value) != value
    ]
    if changes:
        _logger.warning(
            "%s was changed after it was made (%s), and training makes new envs of it, without "
            "the changes: give a function without arguments that makes and changes one",
            *(_name_of(env), ", ".join(changes)),
        )


def _plain_attributes(env: Env) -> dict[str, object]:
    attributes = vars(env.unwrapped)
    plain: dict[str, object] = {
        name: value
        for name, value in attributes.items()
        if isinstance(value, bool | int | float | str | tuple)
    }
    model = attributes.get("model")
    if type(model).__module__.startswith("mujoco"):
        import mujoco

        content = np.empty(mujoco.mj_sizeModel(model), np.uint8)
        mujoco.mj_saveModel(model, None, content)
        plain["model"] = hashlib.sha256(content.tobytes()).hexdigest()[:8]
    return plain


def _name_of(env: Env) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
