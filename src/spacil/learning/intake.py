"""The demonstrations of a run: found, checked against the task, fitted to the config."""

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil.config.flat import with_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.demos.check import demos_for_training
from spacil.demos.conditions import under_conditions
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.demos.findings import Subject, few_pairs, find
from spacil.envs.registry import TASKS, make_vector_env
from spacil.envs.vector_env import EnvSpec, FloatArray, ResetSeeds, require_dims
from spacil.errors import ConfigError, DataError

_logger = logging.getLogger(__name__)

NUM_PROBE_ENVS = 16


DemoSource = Demonstrations | str | Path
"""A record, a file or folder of any format, `minari:ID`, or a task's name."""


@dataclass(frozen=True)
class Intake:
    """The demonstrations of a run: those it learns from, and those it was given."""

    used: Demonstrations
    given: Demonstrations
    """Every finite episode, before episodes and steps were chosen and anything was disturbed: their
    spread is the common frame of J, which must not move with those choices."""


def demonstrations_for(
    config: TrainConfig,
    env_source: Any,
    source: DemoSource | Sequence[DemoSource] | None = None,
    choice: DemoChoice = DemoChoice(),
) -> tuple[Intake, TrainConfig]:
    """Find and check the demonstrations of a run, and fit the config to what they hold."""
    demos, config = found_demonstrations(config, env_source, source, choice)
    return checked_demonstrations(demos, config, env_source, choice), config


def found_demonstrations(
    config: TrainConfig,
    env_source: Any,
    source: DemoSource | Sequence[DemoSource] | None = None,
    choice: DemoChoice = DemoChoice(),
) -> tuple[Demonstrations, TrainConfig]:
    """Find them without making an env, and fit the config to what they hold.

    Without a source, the ones bundled with the task; several are put together. A file with
    executed actions only makes the discriminator read executed actions on both sides, one without
    actions the change of state in their place.
    """
    sources = [source] if isinstance(source, DemoSource) else list(source or ())
    if not sources:
        if config.task not in bundled_demos():
            # A misspelt or unsupported task is the user's first problem.
            make_vector_env(env_source, 1, ResetSeeds(config.run.seed, "probe")).close()
            raise ConfigError(
                f"no demonstrations are bundled for {config.task}: pass --demos FILE "
                f"(bundled: {', '.join(sorted(bundled_demos())) or 'none'})"
            )
        sources = [config.task]
    parts = [part if isinstance(part, Demonstrations) else load_demos(part) for part in sources]
    task = TASKS.get(config.task)
    if choice.demo_columns:
        num_states = (task or probe(env_source, config.run.seed)[0]).num_states
        parts = [part.in_columns(choice.demo_columns, num_states) for part in parts]
    if task is not None:  # sizes known before any env is made
        for part in parts:
            if not part.num_actions and part.num_states < task.num_states:
                raise DataError(
                    f"{part.source}: {part.num_states} state dims, {task.name} has "
                    f"{task.num_states}: if it holds some columns only, name them, as "
                    "--demo-columns 0-7"
                )
            require_dims(part.source, part.dims, (task.num_states, task.num_actions), task.name)
    demos = parts[0] if len(parts) == 1 else _together(parts)
    if choice.single_states:
        demos = demos.as_single_states()
    elif choice.ignore_actions:
        demos = demos.without_actions()
    if not demos.num_actions:
        return demos, _without_actions(demos, config)
    if demos.actions is None and config.discriminator.discriminator_actions == "raw":
        _logger.warning(
            "the demonstrations hold executed actions only: the discriminator reads executed "
            "actions on both sides instead of raw ones"
        )
        config = with_settings(config, {"discriminator_actions": "executed"})
    return demos, config


def _without_actions(demos: Demonstrations, config: TrainConfig) -> TrainConfig:
    """The config as states alone can fill it."""
    is_single = not demos.has_successors
    refusals = {
        "single states in some columns only tell neither speeds nor actions: record pairs": (
            is_single and bool(demos.columns)
        ),
        "one state alone leads nowhere: record two or more": is_single and demos.num_steps < 2,
        "airl compares the policy's likelihood of actions: train spacil or gail instead": (
            config.algorithm == "airl"
        ),
        "under a delay, the actions that are on their way are part of the state: record them": (
            config.conditions.is_on
        ),
    }
    for words, is_refused in refusals.items():
        if is_refused:
            raise DataError(f"{demos.source}, read without actions: {words}")
    if config.algorithm == "bc":
        return config
    inputs: tuple[str, ...] = config.discriminator.discriminator_inputs
    inputs = tuple("changes" if name == "actions" else name for name in inputs)
    read: dict[str, Any] = {"discriminator_inputs": inputs}
    read["discriminator_columns"] = demos.columns
    if is_single:
        read = {"discriminator_inputs": ("states",), "anchor_weight": 0.0}
    return with_settings(config, read)


def checked_demonstrations(
    demos: Demonstrations, config: TrainConfig, env_source: Any, choice: DemoChoice = DemoChoice()
) -> Intake:
    """The chosen part, checked against a probe of the env; warnings are logged.

    Thinning and noise come after the check, which knows whole and undisturbed episodes.
    """
    spec, reset_states = probe(env_source, config.run.seed)
    chosen, report = demos_for_training(demos, spec, reset_states, choice)
    used = under_conditions(chosen, config.conditions, config.run.seed, choice.demos_delay)
    used = used.subsample(choice.demo_every, choice.demo_offset)
    used = used.with_observation_noise(choice.demo_noise, config.run.seed)
    # Thinning may leave few pairs of many, so the count that matters is that of the used ones.
    findings = [finding for finding in report.findings if finding.check != "few_pairs"]
    for finding in [*findings, *find(Subject(used), [few_pairs])]:
        if finding.severity == "warning":
            _logger.warning("%s", finding.message)
    return Intake(used, demos.without_nonfinite_episodes())


def probe(env_source: Any, seed: int) -> tuple[EnvSpec, FloatArray]:
    """Sizes of an env, and some of its start states [N, S]."""
    seeds = ResetSeeds(seed, "probe")
    with contextlib.closing(make_vector_env(env_source, NUM_PROBE_ENVS, seeds, 1)) as env:
        return env.spec, env.reset().cpu().numpy()


def _together(parts: list[Demonstrations]) -> Demonstrations:
    """Make one record of several, with a warning for each that does not name its env."""
    known = [part for part in parts if part.metadata.task is not None]
    for part in parts:
        if known and part.metadata.task is None:
            _logger.warning(
                "%s: does not say which env it is from; taken to be from %s like %s",
                part.source,
                known[0].metadata.task,
                known[0].source,
            )
    return Demonstrations.concatenate(parts)
