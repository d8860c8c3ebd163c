"""Demonstrations on their way into a run: found, checked against the task, fitted to the config."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.check.check import demos_for_training
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import with_observation_noise
from spacil.demos.file import bundled_demos, load_demos
from spacil.envs.registry import TASKS, make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError, DataError

_logger = logging.getLogger(__name__)

NUM_PROBE_ENVS = 16


DemoSource = Demonstrations | str | Path
"""A record, a file or folder of any format, `minari:ID`, or a task's name."""


def demonstrations_for(
    config: TrainConfig, env_source: Any, source: DemoSource | Sequence[DemoSource] | None = None
) -> tuple[Demonstrations, TrainConfig]:
    """Demonstrations a run may learn from, and the config fitted to what they hold."""
    demos, config = found_demonstrations(config, env_source, source)
    return checked_demonstrations(demos, config, env_source), config


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
    for part in parts:
        _refuse_other_sizes(part, config.task)
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
    num_episodes: int | None = None,
    drop_nonfinite: bool = False,
    allow_env_mismatch: bool = False,
    every: int = 1,
    noise: float = 0.0,
) -> Demonstrations:
    """What to learn from, checked against a probe of the env; what is odd is told.

    Every `every`-th step is kept, and observations get Gaussian noise of `noise` of their standard
    deviations: after the check, which knows whole and undisturbed episodes.
    """
    probe = make_vector_env(
        env_source, NUM_PROBE_ENVS, ResetSeeds(config.run.seed, "probe"), num_threads=1
    )
    try:
        demos, report = demos_for_training(
            demos,
            probe.spec,
            probe.reset(),
            num_episodes=num_episodes,
            drop_nonfinite=drop_nonfinite,
            allow_env_mismatch=allow_env_mismatch,
        )
    finally:
        probe.close()
    for finding in report.findings:
        if finding.severity == "warning":
            _logger.warning("%s", finding.message)
    return with_observation_noise(demos.subsample(every), noise, config.run.seed)


def _together(parts: list[Demonstrations]) -> Demonstrations:
    """One record of several; those that do not name their env are told."""
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


def _refuse_other_sizes(demos: Demonstrations, task: str) -> None:
    """A built-in task's sizes are known before any env is made."""
    sizes = TASKS.get(task)
    if sizes is None:
        return
    for noun, ours, theirs in (
        ("state", demos.num_states, sizes.num_states),
        ("action", demos.num_actions, sizes.num_actions),
    ):
        if ours != theirs:
            raise DataError(
                f"{demos.source}: demos have {ours} {noun} dims, {task} has {theirs}: wrong --task?"
            )
