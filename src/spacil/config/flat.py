"""Settings by their flat names, as on the command line: `max_kl=0.02`.

`with_settings` changes any field; `with_user_settings` is the door for people, and refuses what
the algorithm does not read.
"""

import dataclasses
import difflib
import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from spacil.config.algorithms import ALGORITHMS, READ_WITH
from spacil.config.penalty_terms import words_of
from spacil.config.read_with import READERS
from spacil.config.train_config import ConfigGroups, TrainConfig
from spacil.errors import ConfigError

CHANGES_ROUNDING = frozenset({"device", "torch_threads"})
"""Settings that change the last bits of an iteration and nothing else."""

FREE_TO_CHANGE_ON_RESUME = CHANGES_ROUNDING | {
    "iterations",
    "simulation_threads",
    "checkpoint_interval",
    "env_timeout",
}
"""Settings that do not make it another run: a long one may be made in pieces on many machines."""

SHORT_FORM = "lambda_policy"
"""`lambda_policy=W` is short for `penalty=("exact=W",)`."""


FIXED_BY: Mapping[str, tuple[str, ...]] = {
    "penalty_weight": ("penalty", SHORT_FORM, "smoothness_target", "smoothest", "keep_return"),
    "cost_weight": ("lambda_cost",),
}
"""What finds a weight -> the settings that say it instead. A number that a user gives is used."""

_WISHES = ("smoothest", "keep_return", "smoothness_target", "fluctuation_target")
"""A wish of False or 0 is none, and implies nothing."""

_INSTEAD_OF: Mapping[str, str] = {
    "warm_start_epochs": "warm_start_steps",
    "warm_start_steps": "warm_start_epochs",
}
"""Two ways to say one thing: the one that a user names takes the place of the default."""


def implied_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What follows for other settings when a user gives these."""
    named = [name for name, value in settings.items() if name not in _WISHES or value]
    implied: dict[str, Any] = {
        setting: "fixed"
        for setting, by in FIXED_BY.items()
        if setting not in named and any(name in named for name in by)
    }
    asks_to_keep = "keep_return" in named and "smoothness_target" not in named
    if "smoothest" in named or asks_to_keep:
        implied["select"] = "smoothest"
    return implied | {_INSTEAD_OF[name]: 0 for name in named if name in _INSTEAD_OF}


def changed_by_giving(config: TrainConfig, name: str) -> dict[str, Any]:
    """What else changes when a user gives the setting with the very value that it has."""
    groups = group_of_setting()
    implied = implied_settings({name: getattr(getattr(config, groups[name]), name)})
    return {
        other: value
        for other, value in implied.items()
        if getattr(getattr(config, groups[other]), other) != value
    }


def with_implied(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A user's settings in their long form, and what follows from them."""
    return implied_settings(settings) | without_short_form(settings)


def with_user_settings(config: TrainConfig, settings: Mapping[str, Any]) -> TrainConfig:
    """A copy with a user's own settings; one that the algorithm does not read is refused."""
    refuse_unread(config.algorithm, settings)
    config = with_settings(config, with_implied(settings))
    require_read(config, settings)
    return config


def refuse_unread(algorithm: str, names: Iterable[str]) -> None:
    """Refuse settings of other algorithms, before anybody looks at their values."""
    read, groups = set(settings_read(algorithm)), group_of_setting()
    for name in names:
        known = _long_form(name)
        if known in groups and known not in read:
            remedy = ALGORITHMS[algorithm].instead.get(name) or f"it is for {_readers_of(known)}"
            raise ConfigError(f"{_flag(name)}: {algorithm} does not read it; {remedy}")


def require_read(config: TrainConfig, names: Iterable[str]) -> None:
    """Refuse settings that would be accepted and ignored beside the others."""
    algorithm, groups = ALGORITHMS[config.algorithm], group_of_setting()
    for name in names:
        group = groups[_long_form(name)]
        if group in READ_WITH:
            switch, value = READ_WITH[group]
            if getattr(getattr(config, groups[switch]), switch) != value:
                raise ConfigError(f"{_flag(name)} is read with {_flag(switch)} {value} only")
        reader = READERS.get(name)
        if reader is not None and not reader.is_there(config):
            raise ConfigError(f"{_flag(name)} is read with {reader.words} only")
    if config.evaluation.select == "smoothest" and not config.wish.wants_smoothest:
        raise ConfigError("--select smoothest is read with --smoothest or --keep-return only")
    if config.wish.keep_return and config.wish.penalty_weight == "auto":
        raise ConfigError(
            f"--keep-return {config.wish.keep_return} finds the weight, and so does "
            "--penalty-weight auto: give one of the two"
        )
    if algorithm.verb == "train" and config.wish.keep_return and config.wish.smoothness_target:
        raise ConfigError(
            "--keep-return is read with --smoothest, and --smoothness-target finds the weight by J "
            "alone: give one of the two"
        )
    form = config.cost_penalty.cost_penalty_form
    if algorithm.cost_penalty_forms and form not in algorithm.cost_penalty_forms:
        raise ConfigError(
            f"--cost-penalty-form {form}: {config.algorithm} takes "
            f"{' or '.join(algorithm.cost_penalty_forms)}; the other forms are spacil's"
        )


def settings_read(algorithm: str) -> list[str]:
    """The settings an algorithm reads, most used first."""
    row, groups = ALGORITHMS[algorithm], get_type_hints(ConfigGroups)
    return [
        member.name
        for group in row.reads
        for member in dataclasses.fields(groups[group])
        if member.name not in row.ignores
    ]


def with_settings(config: TrainConfig, settings: Mapping[str, Any]) -> TrainConfig:
    """A copy with some fields replaced, whoever reads them."""
    groups = group_of_setting()
    changes: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        if name not in groups:
            known = [*groups, SHORT_FORM]
            raise ConfigError(f"unknown setting {name!r}{_did_you_mean(name, known)}")
        value = words_of(value) if name == "penalty" else value
        value = tuple(value) if isinstance(value, list) else value
        _check_type(name, value)
        changes.setdefault(groups[name], {})[name] = value
    replaced = {
        group: dataclasses.replace(getattr(config, group), **values)
        for group, values in changes.items()
    }
    return dataclasses.replace(config, **replaced)


def flat_settings(config: TrainConfig) -> dict[str, Any]:
    """Every setting that the run reads by its flat name, JSON-able, most used first."""
    flat: dict[str, Any] = {"algorithm": config.algorithm, "task": config.task}
    groups = group_of_setting()
    for name in settings_read(config.algorithm):
        value = getattr(getattr(config, groups[name]), name)
        flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def from_flat_settings(flat: Mapping[str, Any]) -> TrainConfig:
    """The inverse of `flat_settings`; unknown or missing names are refused."""
    algorithm, task = flat.get("algorithm"), flat.get("task")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ConfigError(f"algorithm is {algorithm!r}, expected one of {', '.join(ALGORITHMS)}")
    if not isinstance(task, str):
        raise ConfigError(f"task is {task!r}, expected a name")
    names = {"algorithm", "task", *settings_read(algorithm)}
    if set(flat) != names:
        missing, unknown = sorted(names - set(flat)), sorted(set(flat) - names)
        raise ConfigError(f"config does not fit this version: missing {missing}, unknown {unknown}")
    defaults = TrainConfig(algorithm=algorithm, task=task)
    config = with_settings(defaults, ALGORITHMS[algorithm].defaults)
    return with_settings(config, {k: v for k, v in flat.items() if k not in ("algorithm", "task")})


@functools.cache
def group_of_setting() -> dict[str, str]:
    """Flat setting name -> name of the group that holds it. Names are unique across groups."""
    groups: dict[str, str] = {}
    for group, group_type in get_type_hints(ConfigGroups).items():
        for member in dataclasses.fields(group_type):
            assert member.name not in groups, f"two settings are named {member.name}"
            groups[member.name] = group
    return groups


@functools.cache
def _type_of(name: str) -> Any:
    return get_type_hints(get_type_hints(ConfigGroups)[group_of_setting()[name]])[name]


def _check_type(name: str, value: object) -> None:
    """Settings come from files and keywords too, where nothing has checked them yet."""
    hint = _type_of(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if choices:
        fits = value in choices
    elif get_origin(hint) is tuple:
        item = get_args(hint)[0]
        fits = isinstance(value, tuple) and all(type(part) is item for part in value)
    elif hint is float:
        fits = is_number and math.isfinite(value)  # type: ignore[arg-type]  # is_number says so
    else:
        fits = type(value) is hint
    if not fits:
        expected = f"one of {', '.join(choices)}" if choices else getattr(hint, "__name__", hint)
        if get_origin(hint) is tuple:
            expected = f"a tuple of {get_args(hint)[0].__name__}"
        raise ConfigError(f"setting {name} is {value!r}, expected {expected}")


def without_short_form(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings with `penalty` in place of `lambda_policy`."""
    named = dict(settings)
    if SHORT_FORM not in named:
        return named
    weight = named.pop(SHORT_FORM)
    if "penalty" in named:
        raise ConfigError("--lambda-policy is short for --penalty exact=W: give one of the two")
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 <= weight < math.inf:
        raise ConfigError(f"--lambda-policy is {weight}, expected a finite number of 0 or more")
    return named | {"penalty": (f"exact={float(weight)!r}",)}


def _long_form(name: str) -> str:
    return "penalty" if name == SHORT_FORM else name


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _readers_of(name: str) -> str:
    readers = [algorithm for algorithm in ALGORITHMS if name in settings_read(algorithm)]
    return ", ".join(readers) or "no algorithm"


def _did_you_mean(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    return f": did you mean {', '.join(close)}?" if close else ""
