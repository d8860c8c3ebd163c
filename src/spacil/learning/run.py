"""The loop, and a run of it in a folder: preflight, resume, record, interrupt, finish.

The loop iterates, evaluates, selects and reports; the paper's iteration is `OnPolicy.iterate`.

A checkpoint decides every later iteration, so nothing of another run goes on from here: settings,
demonstrations, env and counter are compared first.
"""

import contextlib
import itertools
import logging
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import (
    FRAME_KEY,
    demonstrator_row,
    frame_document,
    frame_tensors,
    read_frame,
    without_frame,
)
from spacil.engine.device import torch_threads
from spacil.errors import ConfigError, DivergedError, RetryableError, StorageError
from spacil.learning.learner import Learner, Metrics
from spacil.learning.weight_search import RANKS, select
from spacil.measuring.evaluate import Best, evaluation_of, play_mean_actions
from spacil.plain_text import shown
from spacil.runs import checkpoint, metrics_log
from spacil.runs.checkpoint import RunState, deciding_last_bits, provenance_of
from spacil.runs.facts import RunInputs, best_and_last, config_of
from spacil.runs.folder import DEFAULT_ROOT, RunDir, check_resumable, open_run
from spacil.runs.interruption import Interruption
from spacil.runs.metrics_log import BEFORE_THE_START, MetricsLog
from spacil.runs.progress import Progress
from spacil.runs.run_log import RunLog
from spacil.runs.state import first_non_finite
from spacil.version import __version__

_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def memory_named(config: TrainConfig) -> Iterator[None]:
    """Turn an allocation that failed, on the host or on a GPU, into a `RetryableError`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # torch's allocator on the host has no error class of its own.
        is_named = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_named and "can't allocate memory" not in str(error):
            raise
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        run, sampling = config.run, config.sampling
        raise RetryableError(
            f"out of memory with batches of {sampling.steps_per_iteration:,} steps in "
            f"{sampling.num_envs} envs on {run.device}. Close other programs, or choose a smaller "
            f"--steps-per-iteration; what was saved is intact ({first_line})"
        ) from error


OnIteration = Callable[[Metrics], bool | None]
"""Called after each iteration; False ends the training."""
OnStart = Callable[[Metrics], None]
"""Called with the evaluation of the untrained policy, iteration 0."""


def train(learner: Learner, on_iteration: OnIteration, on_start: OnStart | None = None) -> None:
    """Iterate until the learner is done, evaluating on the way.

    With `on_start` the untrained policy is evaluated too, which changes nothing that follows.
    """
    with torch_threads(learner.config.run.torch_threads):
        if on_start is not None and learner.counters.iteration == 0:
            with whole_iteration(learner):
                on_start(evaluate_if_due(learner))
        while not learner.is_done:
            with whole_iteration(learner):
                metrics = learner.iterate() | evaluate_if_due(learner)
            if on_iteration(metrics) is False:
                return


@contextlib.contextmanager
def whole_iteration(learner: Learner) -> Iterator[None]:
    """Add iteration and batch to an error that names a tensor or a loss.

    Whatever cuts an iteration short, Ctrl-C too, leaves a learner that cannot be saved.
    """
    where = learner.state.cut_short = f"iteration {learner.counters.iteration + 1}"
    try:
        yield
    except DivergedError as error:
        raise DivergedError(f"in {where}: {error}") from error
    learner.state.cut_short = None


def evaluate_if_due(learner: Learner) -> Metrics:
    """Evaluate every few iterations and after the last; remember the best policy.

    At iteration 0 it tells where learning starts from: that policy is never the best, and the
    learner does not hear of it.
    """
    num_done, config = learner.counters.iteration, learner.config.evaluation
    if num_done % config.evaluation_interval and not learner.is_done:
        return {}
    started = time.perf_counter()
    policy, env = learner.evaluated_policy, learner.eval_env
    episodes = play_mean_actions(policy, env, num_done, env.num_envs)
    result = evaluation_of(policy, episodes, learner.common_frame, learner.demonstrated)
    metrics: Metrics = {"iteration": 0, "env_steps": 0}
    if num_done:
        metrics = learner.after_evaluation(result, episodes)
        if "is_best" not in metrics:  # a learner that selects by itself says so
            found = Best(result.average_return, num_done, result.imitation_score)
            is_best = select(found, learner.best, RANKS[learner.config.imitation.select])
            learner.best = found if is_best else learner.best
            metrics = {**metrics, "is_best": is_best}
    return asdict(result) | metrics | {"seconds_evaluation": time.perf_counter() - started}


# --- in a folder


def saved_config(found: checkpoint.Checkpoint) -> TrainConfig:
    """Read the settings a checkpoint was written under.

    Sizes beyond what it holds are refused before any network takes memory for them.
    """
    num_held = sum(tensor.numel() for tensor in found.tensors.values())
    for name, value in found.settings.items():
        sizes = value if name.endswith("_hidden") else [value] if name == "num_envs" else []
        if not isinstance(sizes, list) or not all(type(size) is int for size in sizes):
            continue  # whoever reads the settings refuses it
        if sum(map(math.prod, itertools.pairwise([1, *sizes, 1]))) > 2 * num_held:
            raise StorageError(
                f"checkpoint {found.iteration}: {name} {shown(value)} needs more numbers than the "
                "checkpoint holds"
            )
    return config_of(found.settings, found.path)


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
    learner.common_frame = read_frame(
        found.tensors, found.document, f"checkpoint {found.iteration}"
    )
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
        "policy": {"task": learner.config.task, **learner.policy.sizes},
        "env": dict(learner.eval_env.spec.fingerprint),
        FRAME_KEY: frame_document(learner.common_frame),
        "demonstrations": None if demonstrations is None else demonstrations.content_hash,
    }


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    path: Path
    exit_code: int
    """0, or the code of the signal that interrupted it"""
    best: Metrics | None
    last: Metrics | None


def train_in_folder(
    config: TrainConfig,
    start: Callable[[], Learner],
    progress: Progress,
    *,
    root: Path = DEFAULT_ROOT,
    run_dir: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_iteration: OnIteration | None = None,
    inputs: RunInputs | None = None,
    log: RunLog | None = None,
) -> Outcome:
    """Start a run or go on with one, and keep everything it does.

    `start` makes the envs and the learner, after the folder has been found fit and before
    anything in it changes. `inputs` and `log` are those of `train_recorded`.
    """
    with (
        contextlib.closing(progress),
        open_run(config, root=root, run_dir=run_dir, resume=resume, overwrite=overwrite) as run,
        memory_named(config),
        contextlib.closing(start()) as learner,
    ):
        return train_recorded(run, learner, progress, on_iteration, inputs, log)


def train_recorded(
    run: RunDir,
    learner: Learner,
    progress: Progress,
    on_iteration: OnIteration | None = None,
    inputs: RunInputs | None = None,
    log: RunLog | None = None,
) -> Outcome:
    """Train in an opened run folder: go on from its newest checkpoint, keep every iteration.

    `inputs` are remembered in the folder, so that the run can be resumed and evaluated by its
    name alone; `log` is written there from now on.
    """
    found = None if run.is_overwritten else checkpoint.newest(run.checkpoints)
    if found is not None:
        restore(learner, found)
    else:
        # All that can refuse a new run, before an overwritten one is deleted.
        with memory_named(learner.config), torch_threads(learner.config.run.torch_threads):
            learner.prepare()
    demos, frame = learner.demonstrations, learner.common_frame
    if inputs is not None and inputs.demonstrations is not None and demos is not None:
        known = replace(inputs.demonstrations, content_hash=demos.content_hash)
        row = demonstrator_row(demos, frame, learner.config.task)
        inputs = replace(inputs, demonstrations=known, demonstrator=row)
    run.begin(inputs, frame_document(frame))
    if found is not None and learner.best is not None and learner.best.iteration == found.iteration:
        # The best is written after the checkpoint, and a kill may have come in between.
        state = RunState(found.tensors, found.document, found.notes)
        checkpoint.write_best(run.checkpoints, state)
    config, done = learner.config, learner.counters.iteration
    if log is not None:
        log.begin(run.path)
        log.note(
            f"{f'resumed after iteration {done}' if done else 'started'}: {config.algorithm} on "
            f"{config.task}, seed {config.run.seed}, {config.run.iterations} iterations; "
            f"spacil {__version__}"
        )
    # A run killed before its first checkpoint leaves lines and no checkpoint.
    start = done or BEFORE_THE_START
    with (
        MetricsLog(run.metrics, run.tensorboard, up_to=start) as rows,
        Interruption() as interruption,
    ):

        def note(metrics: Metrics) -> None:
            rows.append(metrics)
            progress.update(metrics)

        def record(metrics: Metrics) -> bool:
            goes_on = on_iteration is None or on_iteration(metrics) is not False
            goes_on = goes_on and interruption.requested is None
            run.require_in_place()
            note(metrics)
            confirm = run.require_in_place
            save(learner, run.checkpoints, metrics, is_last=not goes_on, confirm=confirm)
            return goes_on

        with memory_named(config):
            train(learner, record, note)
        run.require_in_place()
        best, last = best_and_last(metrics_log.read(run.metrics))
        run.record(best=best, last=last)
        if learner.is_done:
            exit_code, ended = 0, "finished"
            run.record(status="finished")
        else:
            exit_code, number = interruption.exit_code, interruption.requested
            ended = f"interrupted, exit code {exit_code}"
            reason = "stopped by a callback" if number is None else signal.Signals(number).name
            run.record(status="interrupted", reason=reason)
        if log is not None:
            earned = "" if last is None else f", last return {last['average_return']:.4g}"
            log.note(f"{ended} after iteration {learner.counters.iteration}{earned}")
    return Outcome(run.path, exit_code, best, last)
