"""Demonstrations on their way into a run: found, checked against the task, fitted to the config."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.check import demos_for_training
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import bundled_demos, load_demos
from spacil.demos.findings import Subject, find
from spacil.envs.registry import TASKS, make_vector_env
from spacil.envs.vector_env import ResetSeeds, require_dims
from spacil.errors import ConfigError

_logger = logging.getLogger(__name__)

NUM_PROBE_ENVS = 16


DemoSource = Demonstrations | str | Path
"""A record, a file or folder of any format, `minari:ID`, or a task's name."""


@dataclass(frozen=True)
class Intake:
    """The demonstrations of a run: those it learns from, and those it was given."""

    used: Demonstrations
    given: Demonstrations
    """Every finite episode, before episodes and steps were chosen and noise was added: their
    spread is the common frame of J, which must not move with those choices."""


def demonstrations_for(
    config: TrainConfig,
    env_source: Any,
    source: DemoSource | Sequence[DemoSource] | None = None,
    *,
    allow_env_mismatch: bool = False,
) -> tuple[Intake, TrainConfig]:
    """Demonstrations a run may learn from, and the config fitted to what they hold."""
    demos, config = found_demonstrations(config, env_source, source)
    intake = checked_demonstrations(
        demos, config, env_source, allow_env_mismatch=allow_env_mismatch
    )
    return intake, config


def found_demonstrations(
    config: TrainConfig, env_source: Any, source: DemoSource | Sequence[DemoSource] | None = None
) -> tuple[Demonstrations, TrainConfig]:
    """What can be had without making an env: the demonstrations, and the config fitted to them.

    Without a source, the ones bundled with the task; several are put together. A file with
    executed actions only makes the discriminator read executed actions on both sides.
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
    if (task := TASKS.get(config.task)) is not None:  # sizes known before any env is made
        for part in parts:
            sizes = (part.num_states, part.num_actions)
            require_dims(part.source, sizes, (task.num_states, task.num_actions), task.name)
    demos = parts[0] if len(parts) == 1 else _together(parts)
    if demos.actions is None and config.discriminator.discriminator_actions == "raw":
        _logger.warning(
            "the demonstrations hold executed actions only: the discriminator reads executed "
            "actions on both sides instead of raw ones"
        )
        config = with_settings(config, {"discriminator_actions": "executed"})
    return demos, config


def checked_demonstrations(
    demos: Demonstrations,
    config: TrainConfig,
    env_source: Any,
    *,
    first_episode: int = 0,
    num_episodes: int | None = None,
    drop_nonfinite: bool = False,
    allow_env_mismatch: bool = False,
    every: int = 1,
    offset: int = 0,
    noise: float = 0.0,
) -> Intake:
    """What to learn from, checked against a probe of the env; warnings are logged.

    `num_episodes` from `first_episode` on, all that follow by default; of each, every n-th step
    from step `offset` on; observations get Gaussian noise of `noise` of their standard deviations.
    Thinning and noise come after the check, which knows whole and undisturbed episodes.
    """
    probe = make_vector_env(
        env_source, NUM_PROBE_ENVS, ResetSeeds(config.run.seed, "probe"), num_threads=1
    )
    try:
        chosen, report = demos_for_training(
            demos,
            probe.spec,
            probe.reset().cpu().numpy(),
            first_episode=first_episode,
            num_episodes=num_episodes,
            drop_nonfinite=drop_nonfinite,
            allow_env_mismatch=allow_env_mismatch,
        )
    finally:
        probe.close()
    used = chosen.subsample(every, offset).with_observation_noise(noise, config.run.seed)
    # Thinning may leave few pairs of many, so the count that matters is that of the used ones.
    findings = [finding for finding in report.findings if finding.check != "few_pairs"]
    for finding in findings + find(Subject(used), ("few_pairs",)):
        if finding.severity == "warning":
            _logger.warning("%s", finding.message)
    return Intake(used, demos.without_nonfinite_episodes())


def _together(parts: list[Demonstrations]) -> Demonstrations:
    """One record of several, with a warning for each that does not name its env."""
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
