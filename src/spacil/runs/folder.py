"""Run folders: creating one, holding it, refusing it, recording how far the run got.

    runs/<algorithm>/<task>/seed<S>-<stamp>/
      config.json  run.lock  owner.json  status.json  metrics.jsonl  eval.json
      learning_curve.png  tensorboard/  checkpoints/

Everything that can go wrong with a folder goes wrong in `open_run`, well under a second after the
start and before any environment is made: it creates or checks the folder, takes its lock, and
compares settings. Only `begin` changes what is in the folder, so a start that fails in between
leaves everything as it was: no folder in the way of the corrected command, and no run overwritten
by mistake. This module never appends to an existing run unless asked to resume, deletes nothing
that spacil did not write, and follows no link inside a run folder. Paths are absolute from the
start: an env may change the working folder.
"""

import contextlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from spacil import storage
from spacil.config.flat import flat_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.plain_text import shown
from spacil.runs.checkpoints import checkpoint
from spacil.runs.evaluations import Evaluations, FreshEvaluations, Row, read_evaluations
from spacil.runs.heartbeat import HEARTBEAT
from spacil.runs.inputs import RunInputs, read_inputs
from spacil.runs.location import DEFAULT_ROOT, make_folder, make_new_folder, utc
from spacil.runs.ownership import LOCK, OWNER, FolderLock, TakenOverError, owner_of
from spacil.runs.resuming import (
    CONFIG,
    STATUS,
    Status,
    check_resumable,
    config_of_run,
    is_run_folder,
    saved_settings,
    status_of_run,
    unfinished_run,
)

RUN_FILE = CONFIG
"""File by which a folder is known as that of a run."""

_RESULTS = (
    "checkpoints",
    "metrics.jsonl",
    "tensorboard",
    "eval.json",
    "inputs.json",
    "learning_curve.png",
    "run.log",
    "smoothing.json",
    "policy.safetensors",
    "actions.png",
    "returns.png",
    STATUS,
)

_logger = logging.getLogger(__name__)


class RunDir:
    """A run folder that this process holds. Leaving the `with` block releases it.

    An exception that leaves the block after `begin` is recorded in status.json; everything else
    is recorded by `mark`.
    """

    def __init__(
        self,
        path: Path,
        lock: FolderLock,
        settings: dict[str, Any],
        *,
        overwrite: bool,
        is_new: bool,
    ) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.metrics = path / "metrics.jsonl"
        self.tensorboard = path / "tensorboard"
        self.evaluation = path / "eval.json"
        self._lock = lock
        self.is_overwritten = overwrite
        """Whether `begin` deletes the run that is in the folder."""
        self._settings, self._is_new = settings, is_new
        self._status: Status | None = None
        self._has_begun = False

    def begin(self) -> None:
        """Record the settings; an overwritten run is deleted only now."""
        self._has_begun = True
        try:
            storage.sweep_abandoned(self.path)
            if self.is_overwritten:
                _delete_results(self.path)
            storage.write_json(self.path / CONFIG, self._settings)
            self.mark("running")
        except StorageError as error:
            raise RunDirError(str(error)) from error

    def mark(self, status: Status, reason: str = "") -> None:
        """Record how far the run got, with the reason if there is one."""
        self._status = status
        document = {"status": status, "reason": reason, "updated": utc("%Y-%m-%dT%H:%M:%SZ")}
        storage.write_json(self.path / STATUS, document)

    def require_in_place(self) -> None:
        """Raise if the folder was taken over, deleted, moved or replaced since it was opened."""
        self._lock.require_in_place()

    def close(self) -> None:
        """Release the folder; in a forked child, which does not hold it, nothing happens."""
        if self._lock.is_held:
            if self._status is None and self._is_new:
                _take_back(self.path, has_begun=self._has_begun)
            self._lock.release()

    def __enter__(self) -> "RunDir":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            is_ours = self._lock.is_held and not isinstance(error, TakenOverError)
            if error is not None and self._status == "running" and is_ours:
                is_fault = isinstance(error, Exception)
                self.mark(
                    "failed" if is_fault else "interrupted", f"{type(error).__name__}: {error}"
                )
        except StorageError as fault:  # the error on its way out is the one to show
            _logger.warning("could not record the status: %s", fault)
        finally:
            self.close()


def open_run(
    config: TrainConfig,
    *,
    root: Path = DEFAULT_ROOT,
    run_dir: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> RunDir:
    """Create or reopen the folder of a run and hold it; its content stays until `begin`.

    `resume` continues the run in `run_dir`, or the newest unfinished run of these settings under
    `root`. With an empty or missing `run_dir` it starts a new run there, so that a scheduler can
    use the same command for the first start and for every restart. `overwrite` deletes the run
    in `run_dir`.
    """
    if overwrite and (resume or run_dir is None):
        raise ConfigError("--overwrite needs --run-dir and cannot be combined with --resume")
    is_new = not resume
    if run_dir is not None:
        path = run_dir
        is_new = make_folder(path)
    elif resume:
        path = unfinished_run(root, config)
    else:
        path = make_new_folder(root, config)
    path = path.absolute()
    _refuse_other_folder(path)
    settings = flat_settings(config)
    lock = FolderLock(path)
    run = RunDir(path, lock, settings, overwrite=overwrite, is_new=is_new)
    try:
        if not overwrite:  # which deletes links, never what they point to
            _refuse_links(path)
        _refuse(path, settings, resume=resume, overwrite=overwrite)
        lock.claim()
    except StorageError as error:
        run.close()
        raise RunDirError(str(error)) from error
    except BaseException:
        run.close()
        raise
    return run


def _refuse_other_folder(path: Path) -> None:
    """Before the first file is written: never write into a folder that is not a run's."""
    if not _is_blank(path) and not is_run_folder(path):
        raise RunDirError(
            f"{str(path)!r} is not empty and is not a spacil run folder: choose another --run-dir"
        )


def _is_blank(path: Path) -> bool:
    """Empty, or holding only what a process leaves that is killed right after its start."""
    with storage.os_errors_as(RunDirError, "list", path):
        names = {entry.name for entry in path.iterdir()}
    return all(name in (LOCK, OWNER, HEARTBEAT) or storage.is_leftover(name) for name in names)


def _refuse_links(path: Path) -> None:
    """Nobody may have the run write, or be read, elsewhere than in its folder."""
    for name in (*_RESULTS, CONFIG, OWNER, HEARTBEAT, "checkpoints/best", "checkpoints/LATEST"):
        storage.refuse_link(path / name)


def _refuse(path: Path, settings: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
    """With the lock held: a run that nobody asked to resume, or one of different settings."""
    is_blank = _is_blank(path)
    if not is_blank and not resume and not overwrite:
        raise RunDirError(
            f"{str(path)!r} already holds a run: --resume continues it, --overwrite deletes it, "
            "another --run-dir leaves it alone"
        )
    if resume and is_blank:
        _logger.warning("nothing to resume in %s: starting a new run there", path)
    elif resume:
        check_resumable(saved_settings(path), settings)
        if status_of_run(path) == "running":
            _logger.warning(
                "%s exited without recording a status; resuming its run", owner_of(path)
            )


def _take_back(path: Path, *, has_begun: bool) -> None:
    """Remove a folder that was created for a run that never came to its first status.

    A signal may come between the first two files of `begin`, the settings and the status. The lock
    goes last and is still held: whoever opened it meanwhile finds no folder to write to.
    """
    settings = [CONFIG] if has_begun else []
    with contextlib.suppress(OSError):
        for name in (OWNER, HEARTBEAT, *settings, LOCK):
            (path / name).unlink(missing_ok=True)
        path.rmdir()


def _delete_results(path: Path) -> None:
    """All but config.json, which is replaced: a kill in here still leaves a recognisable run."""
    for name in _RESULTS:
        if os.path.lexists(path / name):
            storage.delete(storage.move_aside(path / name))
    left = sorted({entry.name for entry in path.iterdir()} - {CONFIG, LOCK, OWNER, HEARTBEAT})
    if left:
        _logger.warning("left in %s, not written by spacil: %s", path, ", ".join(map(shown, left)))


@dataclass(frozen=True)
class RunFacts:
    """What a run folder says about its run, without its tensors."""

    path: Path
    config: TrainConfig
    status: Status
    inputs: RunInputs | None
    """What the run was given besides its settings; None where nothing was recorded"""
    best: Row | None
    """Evaluation of the policy that `select` keeps; None before the first one"""
    last: Row | None
    fresh: FreshEvaluations | None
    commit: str | None
    """Commit of the code that ran; None for an installed package"""
    demonstrations_hash: str | None
    """Content hash of the demonstrations it learned from"""
    frame_hash: str | None
    """Content hash of the common frame of its J"""
    frame_source: str | None


def read_run(path: Path) -> RunFacts:
    """Read the facts of a run; a folder without a run is a RunDirError."""
    evaluations = Evaluations(None, None, None)
    if (path / "eval.json").is_file():
        evaluations = read_evaluations(path / "eval.json")
    identity = evaluations.identity
    found = checkpoint.read_best(path / "checkpoints")
    document = {} if found is None else found.document
    frame = document.get("common_frame") or {}
    return RunFacts(
        path=path,
        config=config_of_run(path),
        status=status_of_run(path),
        inputs=read_inputs(path),
        best=evaluations.best,
        last=evaluations.last,
        fresh=evaluations.fresh,
        commit=None if identity is None else identity.commit,
        demonstrations_hash=document.get("demonstrations"),
        frame_hash=frame.get("hash"),
        frame_source=frame.get("source"),
    )
