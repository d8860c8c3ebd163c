"""Folders that appear and disappear in one step, and the leftovers of killed processes."""

import contextlib
import logging
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from spacil.errors import StorageError
from spacil.storage.faults import os_errors_as
from spacil.storage.files import SCRATCH, mark_alive, sync_folder, try_lock

_STAGE, _TRASH = ".stage-", ".trash-"
_LEFTOVER = re.compile(
    rf"(?:{re.escape(_STAGE)}|{re.escape(SCRATCH)}|{re.escape(_TRASH)}.+-)[0-9a-f]{{32}}", re.DOTALL
)

_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def staged_folder(parent: Path) -> Iterator[Path]:
    """A hidden folder to fill and then `publish`; deleted at the end if it was not published."""
    stage = parent / f"{_STAGE}{uuid.uuid4().hex}"
    with os_errors_as(StorageError, "create a folder in", parent):
        stage.mkdir()
        descriptor = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mark_alive(descriptor)
        yield stage
    finally:
        os.close(descriptor)
        shutil.rmtree(stage, ignore_errors=True)


def publish(stage: Path, target: Path) -> None:
    """Give a staged folder, filled by `write_synced`, its final name."""
    # rename would silently replace an empty folder
    if os.path.lexists(target):
        raise StorageError(f"{str(target)!r} already exists and is never overwritten")
    sync_folder(stage)
    with os_errors_as(StorageError, "publish", target):
        stage.rename(target)
    sync_folder(target.parent)


def move_aside(path: Path, prefix: str = _TRASH) -> Path:
    """Rename to a hidden name in the same folder: readers lose sight of it in one step."""
    hidden = path.with_name(f"{prefix}{path.name}-{uuid.uuid4().hex}")
    with os_errors_as(StorageError, "rename", path):
        path.rename(hidden)
    sync_folder(path.parent)
    return hidden


def delete(path: Path) -> None:
    """Delete a file, a link (never what it points to) or a folder."""
    with os_errors_as(StorageError, "delete", path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def is_leftover(name: str) -> bool:
    """Whether a name is one that spacil made up, which means nothing once its process is gone.

    The whole of it: somebody may keep a `.tmp-thesis` of their own.
    """
    return _LEFTOVER.fullmatch(name) is not None


def sweep_abandoned(folder: Path) -> None:
    """Delete what killed processes left half written or half deleted; live ones hold a lock."""
    with os_errors_as(StorageError, "list", folder):
        leftovers = [p for p in folder.iterdir() if is_leftover(p.name)]
    for leftover in leftovers:
        try:
            if _is_abandoned(leftover):
                delete(leftover)
        except StorageError as error:
            _logger.warning("could not clean up: %s", error)


def _is_abandoned(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return try_lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
