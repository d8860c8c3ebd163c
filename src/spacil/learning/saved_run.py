"""A run as its checkpoints keep it: what is saved of a learner, and what may be put back into one.

A checkpoint decides every later iteration, so nothing of another run goes on from here: settings,
demonstrations, env and counter are compared first.
"""

import itertools
import logging
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import (
    FRAME_KEY,
    frame_document,
    frame_tensors,
    read_frame,
    without_frame,
)
from spacil.errors import ConfigError, DivergedError, StorageError
from spacil.learning.learner import Learner
from spacil.learning.metrics import Metrics
from spacil.plain_text import shown
from spacil.policies.file import policy_document
from spacil.runs import checkpoint
from spacil.runs.checkpoint import RunState
from spacil.runs.facts import config_of
from spacil.runs.folder import check_resumable
from spacil.runs.provenance import deciding_last_bits, provenance_of
from spacil.runs.state import first_non_finite

_logger = logging.getLogger(__name__)


def restore(learner: Learner, found: checkpoint.Checkpoint) -> None:
    """Put a checkpoint into a learner of the same settings, demonstrations and env."""
    check_resumable(found.settings, flat_settings(learner.config))
    now = run_document(learner)
    for name in ("demonstrations", "env"):
        saved = found.document.get(name)
        if saved != now[name]:
            raise ConfigError(
                f"cannot resume with other {name}: the checkpoint was made with "
                f"{shown(saved)}, now {shown(now[name])}; give the same ones, or start a new run"
            )
    written = deciding_last_bits(found.notes)
    current = deciding_last_bits(provenance_of(flat_settings(learner.config)))
    changes = [
        f"{name} {shown(value, 64)} -> {current[name]}"
        for name, value in written.items()
        if value != current[name]
    ]
    if changes:
        _logger.warning("the run goes on, but not bit for bit: %s", ", ".join(changes))
    kept = read_frame(found.tensors, found.document, f"checkpoint {found.iteration}")
    if kept is not None:
        learner.common_frame = kept
    elif learner.common_frame is not None:
        source = learner.common_frame.source
        _logger.warning("the checkpoint keeps no common frame: J is now in that of %s", source)
    learner.state.restore(without_frame(found.tensors), found.document)


def save(
    learner: Learner,
    checkpoints: Path,
    metrics: Metrics,
    *,
    is_last: bool,
    confirm: Callable[[], object],
) -> None:
    """Write a checkpoint where one is due after an iteration, and with every new best."""
    iteration, interval = learner.counters.iteration, learner.config.run.checkpoint_interval
    is_best = bool(metrics.get("is_best"))
    if is_best or is_last or learner.is_done or iteration % interval == 0:
        state = state_to_save(learner)
        checkpoint.write(checkpoints, iteration, state, is_best=is_best, confirm=confirm)


def state_to_save(learner: Learner) -> RunState:
    """Return what a checkpoint is made of; a state that cannot go on is refused."""
    if learner.state.cut_short is not None:
        raise StorageError(
            f"{learner.state.cut_short} was cut short, and half an iteration cannot be saved: load "
            "the last saved state, or learn in a run folder, which keeps every iteration"
        )
    tensors = learner.state.tensors() | frame_tensors(learner.common_frame)
    name = first_non_finite(tensors)
    if name is not None:
        raise DivergedError(
            f"after iteration {learner.counters.iteration} {name} holds NaN or infinity: it is "
            "not saved, and the last checkpoint is intact"
        )
    return RunState(tensors, run_document(learner), provenance_of(flat_settings(learner.config)))


def run_document(learner: Learner) -> dict[str, Any]:
    """The JSON half of a checkpoint: what decides every later iteration, and nothing else."""
    demonstrations = learner.demonstrations
    settings = flat_settings(learner.config)
    return {
        **learner.state.document(),
        "config": {k: v for k, v in settings.items() if k not in FREE_TO_CHANGE_ON_RESUME},
        "policy": policy_document(learner.policy, learner.config.task),
        "env": dict(learner.eval_env.spec.fingerprint),
        FRAME_KEY: frame_document(learner.common_frame),
        "demonstrations": None if demonstrations is None else demonstrations.content_hash,
    }


def saved_config(found: checkpoint.Checkpoint) -> TrainConfig:
    """The settings a checkpoint was written under."""
    _require_held_sizes(found.settings, found)
    return config_of(found.settings, found.path)


def _require_held_sizes(settings: Mapping[str, Any], found: checkpoint.Checkpoint) -> None:
    """Refuse sizes beyond what the checkpoint holds: so far they are only numbers in a file."""
    num_held = sum(tensor.numel() for tensor in found.tensors.values())
    for name, value in settings.items():
        sizes = value if name.endswith("_hidden") else [value] if name == "num_envs" else []
        if not isinstance(sizes, list) or not all(type(size) is int for size in sizes):
            continue  # whoever reads the settings refuses it in their words
        if sum(map(math.prod, itertools.pairwise([1, *sizes, 1]))) > 2 * num_held:
            raise StorageError(
                f"checkpoint {found.iteration}: {name} {shown(value)} needs more numbers than the "
                "checkpoint holds"
            )
