"""Settings by their flat names, as on the command line: `max_kl=0.02`.

`with_settings` changes any field; `with_user_settings` is the door for people: what they give
explicitly wins over what a preset says of the same thing.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

from spacil.config.algorithms import ALGORITHMS
from spacil.config.penalty_terms import words_of
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.plain_text import did_you_mean

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

_SMOOTHEST = {"penalty_weight": "fixed", "select": "smoothest"}
IMPLIED_BY: Mapping[str, Mapping[str, Any]] = {
    "penalty": {"penalty_weight": "fixed"},
    "smoothness_target": {"penalty_weight": "fixed"},
    "keep_return": _SMOOTHEST,
    "smoothest": _SMOOTHEST,
    "lambda_cost": {"cost_weight": "fixed"},
    "warm_start_epochs": {"warm_start_steps": 0},
    "warm_start_steps": {"warm_start_epochs": 0},
}
"""Setting that a user gives -> what it replaces of a preset: a number that is given is used."""

_OFF_AT_0 = ("smoothness_target", "keep_return", "smoothest")


@functools.cache
def settings_of(algorithm: str) -> Mapping[str, str]:
    """Name of each setting of an algorithm -> the group that holds it. Names are unique."""
    config = ALGORITHMS[algorithm]
    hints = get_type_hints(config)
    groups = [group.name for group in dataclasses.fields(config) if group.name != "task"]
    return {setting.name: group for group in groups for setting in dataclasses.fields(hints[group])}


@functools.cache
def all_settings() -> Mapping[str, Any]:
    """Name of each setting of any algorithm -> its type."""
    return {
        name: get_type_hints(get_type_hints(row)[group])[name]
        for algorithm, row in ALGORITHMS.items()
        for name, group in settings_of(algorithm).items()
    }


def with_user_settings(config: TrainConfig, settings: Mapping[str, Any]) -> TrainConfig:
    """A copy with a user's own settings, and what follows from them."""
    refuse_unknown(config.algorithm, settings)
    settings, known = dict(settings), settings_of(config.algorithm)
    if SHORT_FORM in settings:
        if "penalty" in settings:
            raise ConfigError("--lambda-policy is short for --penalty exact=W: give one of the two")
        settings["penalty"] = {"exact": settings.pop(SHORT_FORM)}
    implied = {k: v for k, v in implied_settings(settings).items() if k in known}
    changed = with_settings(config, implied | settings)
    of_steps = {
        "ppo" if name.startswith("ppo_") else "trpo": name
        for name in settings
        if known[name] == "policy_step" and name != "policy_step"
    }
    if of_steps and changed.policy_step.policy_step not in of_steps:
        step, name = of_steps.popitem()
        raise ConfigError(f"{_flag(name)} is read with --policy-step {step} only")
    return changed


def implied_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What follows for other settings when a user gives these."""
    implied: dict[str, Any] = {}
    for name, value in settings.items():
        if value or name not in _OFF_AT_0:
            implied |= IMPLIED_BY.get(name, {})
    return {name: value for name, value in implied.items() if name not in settings}


_ELSEWHERE = dict.fromkeys(
    ("total_timesteps", "timesteps", "total_steps"),
    "a run has --iterations of --steps-per-iteration env steps each",
) | {"env": "it is --task NAME", "env_id": "it is --task NAME"}
"""Flags of other libraries -> what they are called here"""


def refuse_unknown(algorithm: str, names: Iterable[str]) -> None:
    """Refuse names that are no settings of the algorithm, with those that are close."""
    known = {SHORT_FORM, *all_settings()}
    for name in names:
        own = "penalty" if name == SHORT_FORM else name
        if own in settings_of(algorithm):
            continue
        if readers := [other for other in ALGORITHMS if own in settings_of(other)]:
            who = ", ".join(readers)
            raise ConfigError(f"{_flag(name)}: {algorithm} has no such setting; it is for {who}")
        if name in _ELSEWHERE:
            raise ConfigError(f"unknown setting {_flag(name)}: {_ELSEWHERE[name]}")
        hint = did_you_mean(_flag(name), map(_flag, known))
        raise ConfigError(f"unknown setting {_flag(name)}{hint}")


def with_settings(config: TrainConfig, settings: Mapping[str, Any]) -> TrainConfig:
    """A copy with some settings replaced."""
    refuse_unknown(config.algorithm, settings)
    groups = settings_of(config.algorithm)
    changes: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        value = words_of(value) if name == "penalty" else value
        value = tuple(value) if isinstance(value, list) else value
        changes.setdefault(groups[name], {})[name] = value
    replaced: dict[str, Any] = {
        group: dataclasses.replace(getattr(config, group), **values)
        for group, values in changes.items()
    }
    return dataclasses.replace(config, **replaced)


def flat_settings(config: TrainConfig) -> dict[str, Any]:
    """Every setting of the run by its flat name, JSON-able."""
    flat: dict[str, Any] = {"algorithm": config.algorithm, "task": config.task}
    for name, group in settings_of(config.algorithm).items():
        value = getattr(getattr(config, group), name)
        flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def from_flat_settings(flat: Mapping[str, Any]) -> TrainConfig:
    """The inverse of `flat_settings`; unknown or missing names are refused."""
    algorithm, task = flat.get("algorithm"), flat.get("task")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ConfigError(f"algorithm is {algorithm!r}, expected one of {', '.join(ALGORITHMS)}")
    if not isinstance(task, str):
        raise ConfigError(f"task is {task!r}, expected a name")
    names = {"algorithm", "task", *settings_of(algorithm)}
    if set(flat) != names:
        missing, unknown = sorted(names - set(flat)), sorted(set(flat) - names)
        raise ConfigError(f"config does not fit this version: missing {missing}, unknown {unknown}")
    settings = {name: flat[name] for name in settings_of(algorithm)}
    return with_settings(ALGORITHMS[algorithm](task=task), settings)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
