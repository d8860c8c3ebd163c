"""Run folders: creating one, holding it, refusing it, recording how far the run got.

    runs/<algorithm>/<task>/seed<S>-<stamp>/
      run.json  run.lock  run.log  metrics.jsonl  learning_curve.png  tensorboard/
      checkpoints/iter-000120.safetensors  checkpoints/best.safetensors

Everything that can go wrong with a folder goes wrong in `open_run`, well under a second after the
start and before any environment is made: it creates or checks the folder, takes its lock, and
compares settings. Only `begin` changes what is in the folder, so a start that fails in between
leaves everything as it was. This module never appends to an existing run unless asked to resume,
deletes nothing that spacil did not write, and follows no link inside a run folder. Paths are
absolute from the start: an env may change the working folder.
"""

import contextlib
import itertools
import logging
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, RunDirError, SpacilError, StorageError
from spacil.plain_text import shown
from spacil.runs import checkpoint
from spacil.runs.facts import RUN_FILE, RunFacts, RunInputs, Status, new_facts, read_run, write_run
from spacil.runs.lock import LOCK, FolderLock, owner_of
from spacil.runs.run_log import RUN_LOG

DEFAULT_ROOT = Path("runs")

_RESULTS = (
    "checkpoints",
    "metrics.jsonl",
    "tensorboard",
    "learning_curve.png",
    RUN_LOG,
    "smoothing.json",
    "policy.safetensors",
    "actions.png",
    "returns.png",
)
_MAX_TASK_NAME = 100
_MAX_LISTED = 5

_logger = logging.getLogger(__name__)


class RunDir:
    """A run folder that this process holds. Leaving the `with` block releases it.

    An exception that leaves the block after `begin` is recorded as the run's status.
    """

    def __init__(self, facts: RunFacts, lock: FolderLock, *, overwrite: bool, is_new: bool) -> None:
        self.facts, self.path = facts, facts.path
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.is_overwritten = overwrite
        """Whether `begin` deletes the run that is in the folder."""
        self._lock, self._is_new, self._has_begun = lock, is_new, False

    def begin(
        self, inputs: RunInputs | None = None, common_frame: dict[str, str] | None = None
    ) -> None:
        """Record what the run is; an overwritten one is deleted only now."""
        try:
            with storage.os_errors_as(StorageError, "clean up", self.path):
                for entry in [*self.path.iterdir(), *self.checkpoints.glob("*")]:
                    if storage.is_leftover(entry.name):
                        entry.unlink(missing_ok=True)
            if self.is_overwritten:
                _delete_results(self.path)
            self._has_begun = True
            self.record(status="running", reason="", inputs=inputs, common_frame=common_frame)
        except StorageError as error:
            raise RunDirError(str(error)) from error

    def record(self, **changes: Any) -> None:
        """Write what changed into run.json."""
        updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.facts = replace(self.facts, updated=updated, **changes)
        write_run(self.facts)

    def require_in_place(self) -> None:
        """Raise if the folder was taken over, deleted, moved or replaced since it was opened."""
        self._lock.require_in_place()

    def close(self) -> None:
        """Release the folder; in a forked child, which does not hold it, nothing happens."""
        if self._lock.is_held:
            if self._is_new and not (self.path / RUN_FILE).exists():
                # The lock goes last: whoever opened it meanwhile finds no folder to write to.
                with contextlib.suppress(OSError):
                    (self.path / LOCK).unlink(missing_ok=True)
                    self.path.rmdir()
            self._lock.release()

    def __enter__(self) -> "RunDir":
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        is_ours = self._lock.is_held and self._lock.is_in_place
        try:
            if error is not None and self._has_begun and is_ours and self.facts.status == "running":
                status: Status = "failed" if isinstance(error, Exception) else "interrupted"
                self.record(status=status, reason=f"{type(error).__name__}: {error}")
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
    if run_dir is not None:
        path = run_dir.absolute()
    elif resume:
        path = _unfinished_run(root, config).absolute()
    else:
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
        name = f"seed{config.run.seed}-{stamp}-{nanoseconds // 1000:06}"
        path = (_task_folder(root, config) / name).absolute()
    is_new = make_folder(path)
    if not _is_blank(path) and not is_run_folder(path):
        raise RunDirError(
            f"{str(path)!r} is not empty and is not a spacil run folder: choose another --run-dir"
        )
    run = RunDir(new_facts(path, config), FolderLock(path), overwrite=overwrite, is_new=is_new)
    try:
        for name in (*_RESULTS, RUN_FILE, f"checkpoints/{checkpoint.BEST}"):
            # Overwriting deletes links, never what they point to.
            if not overwrite and (path / name).is_symlink():
                raise RunDirError(
                    f"{str(path / name)!r} is a symbolic link, through which no run is read or "
                    "written: put the real file or folder in its place"
                )
        if _is_blank(path):
            if resume:
                _logger.warning("nothing to resume in %s: starting a new run there", path)
        elif resume:
            try:
                facts = read_run(path)
            except (StorageError, RunDirError) as damage:
                _logger.warning("%s; the settings are those of the newest checkpoint", damage)
            else:
                check_resumable(facts.settings, flat_settings(config))
                if facts.status == "running":
                    _logger.warning(
                        "%s exited without recording a status; resuming its run", owner_of(path)
                    )
        elif not overwrite:
            raise RunDirError(
                f"{str(path)!r} already holds a run: --resume continues it, --overwrite deletes "
                "it, another --run-dir leaves it alone"
            )
        run._lock.claim()
    except BaseException as error:
        run.close()
        if isinstance(error, StorageError):
            raise RunDirError(str(error)) from error
        raise
    return run


def _is_blank(path: Path) -> bool:
    """Tell whether a folder holds only what a process leaves that is killed after its start."""
    with storage.os_errors_as(RunDirError, "list", path):
        names = {entry.name for entry in path.iterdir()}
    return all(name == LOCK or storage.is_leftover(name) for name in names)


def _delete_results(path: Path) -> None:
    """Delete all but run.json, which is replaced, the checkpoints first."""
    with storage.os_errors_as(StorageError, "delete", path):
        for name in _RESULTS:
            if (path / name).is_dir() and not (path / name).is_symlink():
                shutil.rmtree(path / name)
            else:
                (path / name).unlink(missing_ok=True)
            checkpoint.failpoint("overwrite.between")
    left = sorted({entry.name for entry in path.iterdir()} - {RUN_FILE, LOCK})
    if left:
        _logger.warning("left in %s, not written by spacil: %s", path, ", ".join(map(shown, left)))


# --- whether given settings can resume a run


def is_run_folder(path: Path) -> bool:
    """Tell whether there is a run here, finished or not, whole or damaged."""
    has_run = (path / RUN_FILE).exists() or (path / "checkpoints").is_dir()
    if has_run and (path / LOCK).is_file():
        return True
    try:
        read_run(path)
    except SpacilError:
        return False
    return True


def check_resumable(saved: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse to resume with settings that would make it a different run; the error lists them."""
    lines = [
        f"  {shown(name)}: {shown(saved.get(name, '(none)'))} -> {shown(new.get(name, '(none)'))}"
        for name in sorted((saved.keys() | new.keys()) - FREE_TO_CHANGE_ON_RESUME)
        if name not in saved or name not in new or saved[name] != new[name]
    ]
    if lines:
        raise ConfigError(
            "\n".join(["cannot resume with different settings (saved -> now):", *lines])
            + "\nresume with the saved settings, or start a new run folder"
        )


def _unfinished_run(root: Path, config: TrainConfig) -> Path:
    """Find the newest run of these settings that has not finished; there has to be one."""
    parent = _task_folder(root, config)
    # The stamp sorts by time.
    for path in sorted(parent.glob(f"seed{config.run.seed}-*"), reverse=True):
        with contextlib.suppress(SpacilError):
            facts = read_run(path)
            check_resumable(facts.settings, flat_settings(config))
            if facts.status != "finished":
                _logger.info("resuming %s", path)
                return path
    raise RunDirError(
        f"no unfinished run with these settings in {str(parent)!r}: name one with --run-dir, or "
        "start one without --resume"
    )


# --- where run folders lie


def safe_folder_name(task: str) -> str:
    """Turn a task's name into one folder name; odd ones get a short hash against collisions."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", task).lstrip(".-")[:_MAX_TASK_NAME]
    if plain and plain == task:
        return plain
    return f"{plain or 'task'}-{storage.document_hash(task)[:6]}"


def make_folder(path: Path) -> bool:
    """Create the folder if it is missing; return whether it was."""
    try:
        is_new = not os.path.lexists(path)
        with storage.os_errors_as(RunDirError, "create the run folder", path):
            path.mkdir(parents=True, exist_ok=True)
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise RunDirError(f"{str(path)!r} cannot be the name of a folder: {error}") from None
    return is_new


def _task_folder(root: Path, config: TrainConfig) -> Path:
    return root / config.algorithm / safe_folder_name(config.task)


def named_runs(folder: Path) -> str:
    """Name runs below a folder, to end a message; empty without any."""
    depths = (folder.glob("*/" * depth + RUN_FILE) for depth in (1, 2, 3))
    found = itertools.islice(itertools.chain.from_iterable(depths), _MAX_LISTED)
    lines = [shown(path.parent) for path in found]
    return "\n".join(["; name one of the runs in it:", *lines]) if lines else ""
