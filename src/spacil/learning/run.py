"""A training run in a folder: preflight, resume, record, interrupt, finish."""

import contextlib
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import demonstrator_row, frame_document
from spacil.engine.torch_threads import torch_threads
from spacil.learning.learner import Learner
from spacil.learning.limits import memory_named
from spacil.learning.loop import OnIteration, train
from spacil.learning.metrics import Metrics
from spacil.learning.saved_run import restore, save
from spacil.learning.search_start import refuse_own_reference
from spacil.runs import checkpoint, metrics_log
from spacil.runs.facts import RunInputs, best_and_last
from spacil.runs.folder import DEFAULT_ROOT, RunDir, open_run
from spacil.runs.interruption import Interruption
from spacil.runs.metrics_log import BEFORE_THE_START, MetricsLog
from spacil.runs.progress import Progress
from spacil.runs.run_log import RunLog
from spacil.version import __version__


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
        _prepare(learner, run.path)
    checkpoint.require_space(run.path, learner.state.tensors())
    given = None if inputs is None else completed(inputs, learner)
    run.begin(given, frame_document(learner.common_frame))
    if found is not None and learner.best is not None and learner.best.iteration == found.iteration:
        # The best is written after the checkpoint, and a kill may have come in between.
        checkpoint.write_best(run.checkpoints, found.state)
    if log is not None:
        log.begin(run.path)
        log.note(_opening(learner))
    with MetricsLog(run.metrics, run.tensorboard) as rows, Interruption() as interruption:
        # A run killed before its first checkpoint leaves lines and no checkpoint.
        rows.cut_back_to(learner.counters.iteration or BEFORE_THE_START)

        def record_start(metrics: Metrics) -> None:
            rows.append(metrics)
            progress.update(metrics)

        def record(metrics: Metrics) -> bool:
            goes_on = on_iteration is None or on_iteration(metrics) is not False
            goes_on = goes_on and interruption.requested is None
            run.require_in_place()
            rows.append(metrics)
            progress.update(metrics)
            confirm = run.require_in_place
            save(learner, run.checkpoints, metrics, is_last=not goes_on, confirm=confirm)
            return goes_on

        with memory_named(learner.config):
            train(learner, record, record_start)
        run.require_in_place()
        outcome = _outcome(run, learner.config, 0 if learner.is_done else interruption.exit_code)
        if learner.is_done:
            run.mark("finished")
        else:
            run.mark("interrupted", _stop_reason(interruption))
        if log is not None:
            log.note(_closing(learner, outcome))
    return outcome


def _prepare(learner: Learner, run_path: Path) -> None:
    """All that can refuse a new run, before an overwritten one is deleted."""
    refuse_own_reference(learner.config.wish, run_path)
    config = learner.config
    with memory_named(config), torch_threads(config.run.torch_threads):
        learner.prepare()


def completed(inputs: RunInputs, learner: Learner) -> RunInputs:
    """The inputs with what is known once they are loaded."""
    demos = learner.demonstrations
    given = inputs.demonstrations
    if demos is None or given is None:
        return inputs
    return replace(
        inputs,
        demonstrations=replace(given, content_hash=demos.content_hash),
        demonstrator=demonstrator_row(demos, learner.common_frame, learner.config.task),
    )


def _opening(learner: Learner) -> str:
    config, done = learner.config, learner.counters.iteration
    begins = f"resumed after iteration {done}" if done else "started"
    return (
        f"{begins}: {config.algorithm} on {config.task}, seed {config.run.seed}, "
        f"{config.run.iterations} iterations; spacil {__version__}"
    )


def _closing(learner: Learner, outcome: Outcome) -> str:
    ended = "finished" if learner.is_done else f"interrupted, exit code {outcome.exit_code}"
    last = outcome.last or {}
    words = [f"{ended} after iteration {learner.counters.iteration}"]
    nouns = {"return": "average_return", "J": "smoothness_j", "action change": "action_fluctuation"}
    for noun, key in nouns.items():
        if last.get(key) is not None:
            words.append(f"last {noun} {last[key]:.4g}")
    return ", ".join(words)


def _stop_reason(interruption: Interruption) -> str:
    number = interruption.requested
    return "stopped by a callback" if number is None else signal.Signals(number).name


def _outcome(run: RunDir, config: TrainConfig, exit_code: int) -> Outcome:
    """Pick the evaluations that count, and record them."""
    best, last = best_and_last(metrics_log.read(run.metrics))
    run.record(best=best, last=last)
    return Outcome(run.path, exit_code, best, last)
