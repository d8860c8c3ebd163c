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
import re
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args

from spacil import storage
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings, from_flat_settings
from spacil.config.train_config import TrainConfig
from spacil.config.upgrade import upgraded
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.runs.ownership import LOCK, OWNER, owner_of, take_lock, write_owner

Status = Literal["running", "finished", "interrupted", "failed"]

DEFAULT_ROOT = Path("runs")

_CONFIG, _STATUS = "config.json", "status.json"
_PICTURE = "learning_curve.png"
_RESULTS = ("checkpoints", "metrics.jsonl", "tensorboard", "eval.json", _PICTURE, _STATUS)
_MAX_TASK_NAME = 100

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
        self.picture = path / _PICTURE
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
            storage.write_json(self.path / _CONFIG, self._settings)
            self.mark("running")
        except StorageError as error:
            raise RunDirError(str(error)) from error

    def mark(self, status: Status, reason: str = "") -> None:
        """Record how far the run came, with the reason where there is one."""
        self._status = status
        document = {"status": status, "reason": reason, "updated": _utc("%Y-%m-%dT%H:%M:%SZ")}
        storage.write_json(self.path / _STATUS, document)

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
        is_new = _make_folder(path)
    elif resume:
        path = _unfinished_run(root, config)
    else:
        path = _new_folder(root, config)
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


def saved_config(path: Path) -> TrainConfig:
    """The settings a run folder was last started with."""
    flat = storage.read_json(path / _CONFIG)
    try:
        return from_flat_settings(upgraded(flat))
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"{str(path / _CONFIG)!r} holds a value of a wrong type: {error}"
        ) from None


def is_run_folder(path: Path) -> bool:
    """Whether a run lives here, finished or not."""
    return _settings_of_run(path) is not None


def saved_status(path: Path) -> Status:
    """How far a run came; a killed one still says running."""
    try:
        status = storage.read_json(path / _STATUS)["status"]
    except (storage.DamagedFileError, KeyError, TypeError):
        return "running"
    return status if status in get_args(Status) else "running"


def check_resumable(saved_flat: Mapping[str, Any], new_flat: Mapping[str, Any]) -> None:
    """Refuse to go on with settings that would make it another run; the message lists them."""
    changes = _changed_settings(saved_flat, new_flat)
    if changes:
        lines = [
            f"  {name}: {saved_flat.get(name, '(none)')} -> {new_flat.get(name, '(none)')}"
            for name in changes
        ]
        raise ConfigError(
            "cannot resume with other settings (saved -> now):\n"
            + "\n".join(lines)
            + "\nresume with the saved ones, or start a new run folder"
        )


def find_unfinished_run(root: Path, config: TrainConfig) -> Path | None:
    """The newest run folder under `root` with these settings that has not finished."""
    parent = _task_folder(root, config)
    with storage.os_errors_as(RunDirError, "list", parent):
        folders = list(parent.iterdir()) if parent.is_dir() else []
    stem = f"seed{config.run.seed}-"
    candidates = [folder for folder in folders if folder.name.startswith(stem)]
    for folder in sorted(candidates, reverse=True):  # the stamp sorts by time
        saved = _settings_of_run(folder)
        is_same = saved is not None and not _changed_settings(saved, flat_settings(config))
        if is_same and saved_status(folder) != "finished":
            return folder
    return None


def safe_folder_name(task: str) -> str:
    """A task's name as one folder name; odd ones get a short hash, so that none fall together."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", task).lstrip(".-")[:_MAX_TASK_NAME]
    if plain and plain == task:
        return plain
    return f"{plain or 'task'}-{storage.document_hash(task)[:6]}"


# --- making and refusing folders --------------------------------------------------------------


def _make_folder(path: Path) -> bool:
    """Make sure that a folder is there; False if it was before."""
    try:
        os.fsencode(path)
        with storage.os_errors_as(RunDirError, "create the run folder", path):
            is_new = not path.is_dir()
            path.mkdir(parents=True, exist_ok=True)
            return is_new
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise RunDirError(f"{str(path)!r} cannot be the name of a folder: {error}") from None


def _new_folder(root: Path, config: TrainConfig) -> Path:
    parent = _task_folder(root, config)
    _make_folder(parent)
    first = f"seed{config.run.seed}-{_utc('%Y%m%d-%H%M%S')}"
    for attempt in range(1, 100):  # runs of one sweep may start within one second
        path = parent / (first if attempt == 1 else f"{first}-{attempt:02d}")
        with (
            storage.os_errors_as(RunDirError, "create the run folder", path),
            contextlib.suppress(FileExistsError),
        ):
            path.mkdir()
            return path
    raise RunDirError(f"{str(parent / first)!r} and 98 more exist already; choose a --run-dir")


def _task_folder(root: Path, config: TrainConfig) -> Path:
    return root / config.algorithm / safe_folder_name(config.task)


def _unfinished_run(root: Path, config: TrainConfig) -> Path:
    path = find_unfinished_run(root, config)
    if path is None:
        raise RunDirError(
            f"no unfinished run with these settings in {str(_task_folder(root, config))!r}: "
            "name one with --run-dir, or start one without --resume"
        )
    _logger.info("resuming %s", path)
    return path


def _refuse_foreign(path: Path) -> None:
    """Before the first file is written: never put ours among somebody else's."""
    if not _is_blank(path) and _settings_of_run(path) is None:
        raise RunDirError(
            f"{str(path)!r} is not empty and not a run folder of spacil: choose another --run-dir"
        )


def _is_blank(path: Path) -> bool:
    """Nothing in it, or only what a process killed within its first moments left."""
    with storage.os_errors_as(RunDirError, "list", path):
        names = {entry.name for entry in path.iterdir()}
    return all(name in (LOCK, OWNER) or name.startswith(storage.LEFTOVERS) for name in names)


def _settings_of_run(path: Path) -> dict[str, Any] | None:
    """The saved settings, or None if this is not recognisably a run folder."""
    try:
        match storage.read_json(path / _CONFIG):
            case {"algorithm": str(), "task": str(), "seed": int()} as flat if (
                path / LOCK
            ).is_file():
                return upgraded(flat)
    except StorageError as error:
        _logger.debug("%s is no run folder: %s", path, error)
    return None


def _changed_settings(saved: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = sorted((saved.keys() | new.keys()) - FREE_TO_CHANGE_ON_RESUME)
    missing = object()
    return [name for name in names if saved.get(name, missing) != new.get(name, missing)]


# --- holding a folder -------------------------------------------------------------------------


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
        check_resumable(upgraded(storage.read_json(path / _CONFIG)), settings)
        if saved_status(path) == "running":
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
    left = sorted({entry.name for entry in path.iterdir()} - {_CONFIG, LOCK, OWNER})
    if left:
        _logger.warning("left in %s, not written by spacil: %s", path, ", ".join(left))


def _utc(pattern: str) -> str:
    return time.strftime(pattern, time.gmtime())
