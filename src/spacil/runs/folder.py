"""Run folders: where a run lives, who holds it, and how far it came.

    runs/<algorithm>/<task>/seed<S>-<stamp>/
      config.json  run.lock  owner.json  status.json  metrics.jsonl  eval.json
      learning_curve.png  tensorboard/  checkpoints/

`open_run` does everything that can go wrong with a folder before any environment is made, in
well under a second: it creates or checks the folder, takes its lock, and compares settings.
Only `begin` changes what is in it, so a start that fails in between leaves everything as it was:
no folder in the way of the corrected command, and no run overwritten by mistake. This module
never appends to an existing run unless asked to resume, and deletes nothing that spacil did not
write.
"""

import contextlib
import logging
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from spacil import storage
from spacil.config.flat import flat_settings
from spacil.config.groups import TrainConfig
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.runs.location import DEFAULT_ROOT, make_folder, make_new_folder, utc
from spacil.runs.ownership import LOCK, OWNER, owner_of, take_lock, write_owner
from spacil.runs.resuming import (
    CONFIG,
    STATUS,
    Status,
    check_resumable,
    is_run_folder,
    status_of_run,
    unfinished_run,
)

_RESULTS = (
    "checkpoints",
    "metrics.jsonl",
    "tensorboard",
    "eval.json",
    "learning_curve.png",
    STATUS,
)

_logger = logging.getLogger(__name__)


class RunDir:
    """A run folder that this process holds. Leaving the `with` block gives it back.

    An exception that leaves the block after `begin` is recorded in status.json; `mark` says
    everything else.
    """

    def __init__(
        self, path: Path, lock: int, settings: dict[str, Any], *, overwrite: bool, is_new: bool
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

    def begin(self) -> None:
        """Write down what is about to run; only now is an overwritten run deleted."""
        try:
            storage.sweep_abandoned(self.path)
            if self.is_overwritten:
                _delete_results(self.path)
            storage.write_json(self.path / CONFIG, self._settings)
            self.mark("running")
        except StorageError as error:
            raise RunDirError(str(error)) from error

    def mark(self, status: Status, reason: str = "") -> None:
        """Record how far the run came, with the reason where there is one."""
        self._status = status
        document = {"status": status, "reason": reason, "updated": utc("%Y-%m-%dT%H:%M:%SZ")}
        storage.write_json(self.path / STATUS, document)

    def close(self) -> None:
        """Give the folder back; the lock goes with its descriptor."""
        if self._lock >= 0:
            if self._status is None and self._is_new:
                _take_back(self.path)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> "RunDir":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is not None and self._status == "running":
                is_fault = isinstance(error, Exception)
                self.mark(
                    "failed" if is_fault else "interrupted", f"{type(error).__name__}: {error}"
                )
        except StorageError as fault:  # the error on its way out is the one to show
            _logger.warning("the status is not recorded: %s", fault)
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
    """Create or reopen the folder of a run and hold it; what is in it stays until `begin`.

    `resume` goes on in `run_dir`, or in the newest unfinished run of these settings under `root`.
    An empty or missing `run_dir` is started even with `resume`, so that a scheduler can give the
    same command for the first start and for every later one. `overwrite` deletes the run in
    `run_dir`.
    """
    if overwrite and (resume or run_dir is None):
        raise ConfigError("--overwrite needs --run-dir, and excludes --resume")
    is_new = not resume
    if run_dir is not None:
        path = run_dir
        is_new = make_folder(path)
    elif resume:
        path = unfinished_run(root, config)
    else:
        path = make_new_folder(root, config)
    _refuse_foreign(path)
    settings = flat_settings(config)
    run = RunDir(path, take_lock(path), settings, overwrite=overwrite, is_new=is_new)
    try:
        _refuse(path, settings, resume=resume, overwrite=overwrite)
        write_owner(path)
    except StorageError as error:
        run.close()
        raise RunDirError(str(error)) from error
    except BaseException:
        run.close()
        raise
    return run


def _refuse_foreign(path: Path) -> None:
    """Before the first file is written: never put ours among somebody else's."""
    if not _is_blank(path) and not is_run_folder(path):
        raise RunDirError(
            f"{str(path)!r} is not empty and not a run folder of spacil: choose another --run-dir"
        )


def _is_blank(path: Path) -> bool:
    """Nothing in it, or only what a process killed within its first moments left."""
    with storage.os_errors_as(RunDirError, "list", path):
        names = {entry.name for entry in path.iterdir()}
    return all(name in (LOCK, OWNER) or name.startswith(storage.LEFTOVERS) for name in names)


def _refuse(path: Path, settings: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
    """With the lock held: an existing run that nobody asked for, or of other settings."""
    is_blank = _is_blank(path)
    if not is_blank and not resume and not overwrite:
        raise RunDirError(
            f"{str(path)!r} holds a run already: --resume goes on with it, --overwrite deletes "
            "it, and another --run-dir leaves it alone"
        )
    if resume and is_blank:
        _logger.warning("nothing to resume in %s: starting a new run there", path)
    elif resume:
        check_resumable(storage.read_json(path / CONFIG), settings)
        if status_of_run(path) == "running":
            _logger.warning("%s ended without a word: going on in its place", owner_of(path))


def _take_back(path: Path) -> None:
    """Remove a folder that was made for a run which never began.

    While its lock is held: whoever has opened the lock file meanwhile finds no folder to write to.
    """
    with contextlib.suppress(OSError):
        for name in (OWNER, LOCK):
            (path / name).unlink(missing_ok=True)
        path.rmdir()


def _delete_results(path: Path) -> None:
    """All but config.json, which is replaced: a kill in here leaves a recognisable run folder."""
    for name in _RESULTS:
        if os.path.lexists(path / name):
            storage.delete(storage.move_aside(path / name))
    left = sorted({entry.name for entry in path.iterdir()} - {CONFIG, LOCK, OWNER})
    if left:
        _logger.warning("left in %s, not written by spacil: %s", path, ", ".join(left))
