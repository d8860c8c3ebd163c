"""A config from a task, a preset and a user's own settings; and to and from flat names.

`default_config` knows the task; a preset changes that default; a flag or keyword wins over both.
"""

import dataclasses
import difflib
import functools
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from spacil import paper
from spacil.config.groups import Algorithm, Preset, Settings, TrainConfig
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


FAST_MAX_KL = 0.03
"""Trust region of `--preset fast`, three times the paper's: docs/results/fast.md"""

_FAST_IMITATION = {
    "warm_start_epochs": 40,
    "initial_log_std": -1.5,
    "fisher_state_fraction": 0.2,
}
"""What the preset adds where there is a demonstrator to start from."""

_BC_SETTINGS = {
    "iterations": 100,
    "checkpoint_interval": 10,  # an epoch takes less time than its checkpoint is worth
}


def default_config(algorithm: Algorithm, task: str, preset: Preset = "none") -> TrainConfig:
    """The settings of an algorithm on a task, before a user's own."""
    config = TrainConfig(algorithm=algorithm, task=task)
    column = paper.settings_for(task)
    if column is not None:
        expert = algorithm == "trpo"
        config = with_settings(
            config,
            {
                "gamma": column.gamma,
                "gae_lambda": column.gae_lambda,
                "steps_per_iteration": column.expert_steps_per_iteration
                if expert
                else column.imitation_steps_per_iteration,
                "iterations": column.expert_iterations,
            },
        )
    if algorithm != "spacil":
        config = with_settings(config, {"lambda_policy": 0.0, "lambda_cost": 0.0})
    if algorithm == "bc":
        config = with_settings(config, _BC_SETTINGS)
    if preset != "none":
        config = with_settings(config, _preset_settings(algorithm, task, preset))
    return config


def _preset_settings(algorithm: Algorithm, task: str, preset: Preset) -> dict[str, Any]:
    if preset == "fast":
        if algorithm == "bc":
            raise ConfigError("--preset fast sets the trust region, and bc has none")
        return {"max_kl": FAST_MAX_KL, **({} if algorithm == "trpo" else _FAST_IMITATION)}
    if algorithm in ("trpo", "bc"):
        raise ConfigError(f"--preset {preset} is for gail and spacil, not for {algorithm}")
    return _paper_settings(algorithm, task, preset)


def _paper_settings(algorithm: Algorithm, task: str, preset: Preset) -> dict[str, Any]:
    """The paper's printed scaling and discriminator, and nothing else."""
    settings: dict[str, Any] = {
        "discriminator_activation": "tanh",
        "discriminator_learning_rate": paper.DISCRIMINATOR_LEARNING_RATE,
        "discriminator_actions": "raw",
        "standardize_actions": False,
    }
    if algorithm == "gail":
        return settings
    column = paper.settings_for(task)
    if column is None:
        raise ConfigError(
            f"--preset {preset}: the paper prints no weights for {task}; it has "
            + ", ".join(paper.TASKS)
        )
    return settings | {
        "lambda_policy": column.lambda_policy,
        "lambda_cost": column.lambda_cost,
        "policy_penalty_scale": preset,
        "cost_penalty_scale": preset,
        "policy_penalty_estimator": "pgd",
        "cost_penalty_estimator": "pgd",
        "penalty_ramp_iterations": 0,
        "ball_step_rule": "raw",
    }


def with_settings(config: TrainConfig, settings: Mapping[str, Any]) -> TrainConfig:
    """A copy with some fields replaced, named flat as on the command line: `max_kl=0.02`."""
    groups = _group_of_field()
    changes: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        if name not in groups:
            raise ConfigError(f"unknown setting {name!r}{_did_you_mean(name, groups)}")
        value = tuple(value) if isinstance(value, list) else value
        _check_type(name, value, getattr(getattr(config, groups[name]), name))
        changes.setdefault(groups[name], {})[name] = value
    replaced = {
        group: dataclasses.replace(getattr(config, group), **values)
        for group, values in changes.items()
    }
    return dataclasses.replace(config, **replaced)


def flat_settings(config: TrainConfig) -> dict[str, Any]:
    """Every setting by its flat name, JSON-able, in declaration order."""
    flat: dict[str, Any] = {"algorithm": config.algorithm, "task": config.task}
    for name, group in _group_of_field().items():
        value = getattr(getattr(config, group), name)
        flat[name] = list(value) if isinstance(value, tuple) else value
    return flat


def from_flat_settings(flat: Mapping[str, Any]) -> TrainConfig:
    """The inverse of `flat_settings`; unknown or missing names are refused."""
    groups = _group_of_field()
    names = {"algorithm", "task", *groups}
    if set(flat) != names:
        missing, unknown = sorted(names - set(flat)), sorted(set(flat) - names)
        raise ConfigError(f"config does not fit this version: missing {missing}, unknown {unknown}")
    if flat["algorithm"] not in get_args(Algorithm):
        raise ConfigError(f"algorithm is {flat['algorithm']!r}, expected {get_args(Algorithm)}")
    if not isinstance(flat["task"], str):
        raise ConfigError(f"task is {flat['task']!r}, expected a name")
    config = TrainConfig(algorithm=flat["algorithm"], task=flat["task"])
    return with_settings(config, {name: flat[name] for name in groups})


@functools.cache
def _group_of_field() -> dict[str, str]:
    """Flat field name -> name of the group that holds it. Names are unique across groups."""
    groups: dict[str, str] = {}
    for group, group_type in get_type_hints(Settings).items():
        for member in dataclasses.fields(group_type):
            assert member.name not in groups, f"two settings are named {member.name}"
            groups[member.name] = group
    return groups


@functools.cache
def _choices(name: str) -> tuple[str, ...]:
    """The words a Literal setting accepts; empty for other settings."""
    group_type = get_type_hints(Settings)[_group_of_field()[name]]
    hint = get_type_hints(group_type)[name]
    return get_args(hint) if get_origin(hint) is Literal else ()


def _check_type(name: str, value: object, default: object) -> None:
    """Settings come from files and keywords too, where nothing has checked them yet."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, float):
        fits = is_number and math.isfinite(value)  # type: ignore[arg-type]  # is_number says so
    elif isinstance(default, tuple):
        fits = isinstance(value, tuple) and all(type(item) is int for item in value)
    else:
        fits = type(value) is type(default)
    if choices := _choices(name):
        fits = value in choices
    if not fits:
        expectation = f"one of {', '.join(choices)}" if choices else f"like {default!r}"
        raise ConfigError(f"setting {name} is {value!r}, expected {expectation}")


def _did_you_mean(name: str, known: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    return f": did you mean {', '.join(close)}?" if close else ""
