"""Who holds a run folder: a lock in the kernel, and a note that names the process.

The lock ends with its process, so a dead owner never blocks anyone. A child that an env forks lets
go of the lock: the kernel would keep it for as long as the child lives.

A process that hangs keeps its lock. Whoever knows that it is as good as dead calls `take_away`: the
note then holds another token, and the process, should it ever go on, reads that before it publishes
anything, stops and writes nothing more.
"""

import contextlib
import os
import socket
import time
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path

from spacil import storage
from spacil.errors import RunDirError, StorageError
from spacil.plain_text import shown

LOCK, OWNER = "run.lock", "owner.json"


Confirm = Callable[[], None]
"""Raises if a folder is no longer ours, before something in it changes"""


def unchallenged() -> None:
    """For a folder that only one process knows of."""


class TakenOverError(RunDirError):
    """The folder was given to another process, because this one was taken for dead."""


class FolderLock:
    """Holds a folder until `release`; refused while another process holds it."""

    def __init__(self, path: Path) -> None:
        self._path = path / LOCK
        self._token: str | None = None
        with storage.os_errors_as(RunDirError, "lock", self._path):
            self._descriptor = storage.open_descriptor(self._path, os.O_RDWR | os.O_CREAT)
            try:
                is_ours = storage.try_lock(self._descriptor)
            except OSError:
                self.release()
                raise
        if not is_ours:
            self.release()
            raise RunDirError(
                f"{str(path)!r} is in use by {owner_of(path)}: wait for it, stop it, or choose "
                "another --run-dir"
            )
        _held.add(self)

    @property
    def is_held(self) -> bool:
        """False after `release`, and in every forked child."""
        return self._descriptor >= 0

    def claim(self) -> None:
        """Record that this process holds the folder; whoever claimed it before finds out."""
        self._token = uuid.uuid4().hex
        _write_owner(self._path.parent, self._token)

    def require_in_place(self) -> None:
        """Raise if the folder was given to another process, deleted, moved or replaced."""
        if not self.is_held:
            raise StorageError(f"{str(self._path.parent)!r} is not held by this process")
        token = _token_in(self._path.parent)
        if None not in (token, self._token) and token != self._token:
            raise TakenOverError(
                f"{str(self._path.parent)!r} was taken over by {owner_of(self._path.parent)}: this "
                "process was silent for too long and was taken for dead; it writes nothing more"
            )
        try:
            is_in_place = os.path.samestat(os.fstat(self._descriptor), os.lstat(self._path))
        except OSError:
            is_in_place = False
        if not is_in_place:
            raise StorageError(
                f"{str(self._path)!r} was deleted, moved or replaced while the run was going on: "
                "nothing more can be kept there, so the run ends here"
            )

    def release(self) -> None:
        """Let go; closing the descriptor releases the lock."""
        if self.is_held:
            os.close(self._descriptor)
            self._descriptor = -1


_held: "weakref.WeakSet[FolderLock]" = weakref.WeakSet()


def _release_in_child() -> None:
    for lock in _held:
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)


def take_away(path: Path) -> None:
    """Take a folder from a process that holds it and is as good as dead.

    The token first: from then on that process publishes nothing. Then its lock, out of the way.
    """
    _write_owner(path, uuid.uuid4().hex)
    if (path / LOCK).exists():
        storage.delete(storage.move_aside(path / LOCK))


def owns(path: Path) -> bool:
    """Whether this process is the last one that claimed the folder."""
    owner = _owner(path)
    return (owner.get("host"), owner.get("pid")) == (socket.gethostname(), os.getpid())


def _write_owner(path: Path, token: str) -> None:
    boot_id = None
    with contextlib.suppress(OSError):  # Linux only
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    owner = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "boot_id": boot_id,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "token": token,
    }
    storage.write_json(path / OWNER, owner)


def owner_of(path: Path) -> str:
    """The process that last recorded the folder as its own, in words."""
    owner = _owner(path)
    if not {"pid", "host", "started"} <= owner.keys():
        return "another process"
    number, host, started = (shown(owner[key], 64) for key in ("pid", "host", "started"))
    return f"process {number} on {host}, started {started}"


def _token_in(path: Path) -> object:
    """None where the note is missing, damaged or of an earlier version."""
    return _owner(path).get("token")


def _owner(path: Path) -> dict[str, object]:
    try:
        owner = storage.read_json(path / OWNER, follow_symlinks=False)
    except StorageError:
        return {}
    return owner if isinstance(owner, dict) else {}
