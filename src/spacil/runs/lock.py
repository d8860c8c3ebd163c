"""Who holds a run folder: a lock in the kernel, on a file that names the process."""

import fcntl
import os
import socket
import time
import weakref
from pathlib import Path

from spacil import storage
from spacil.errors import RunDirError, StorageError
from spacil.plain_text import shown

LOCK = "run.lock"


class TakenOverError(RunDirError):
    """The folder was given to another process, because this one was taken for lost."""


class FolderLock:
    """Holds a folder until `release`; refused while another process holds it.

    A lock in the kernel, which ends with its process, on a file that names the process. `seize`
    replaces that file, and whoever held the folder by it finds that out before it writes anything.
    """

    def __init__(self, path: Path) -> None:
        self._path = path / LOCK
        with storage.os_errors_as(RunDirError, "lock", self._path):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags | os.O_NONBLOCK, 0o666)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = self.is_in_place
            except BlockingIOError:
                is_ours = False
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

    def claim(self) -> None:
        """Record which process holds the folder."""
        with storage.os_errors_as(RunDirError, "lock", self._path):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, _this_process(), 0)

    @property
    def is_held(self) -> bool:
        """Tell whether it was not released; a forked child holds nothing."""
        return self._descriptor >= 0

    @property
    def is_in_place(self) -> bool:
        """Tell whether the file by which the folder is held is still there."""
        try:
            # Opened, not asked by name: a network file system may remember an old answer.
            opened = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.fstat(opened))
        finally:
            os.close(opened)

    def require_in_place(self) -> None:
        """Raise if the folder was given to another process, deleted, moved or replaced."""
        folder = self._path.parent
        if not self.is_held:
            raise StorageError(f"{str(folder)!r} is not held by this process")
        if self.is_in_place:
            return
        if self._path.exists():
            raise TakenOverError(
                f"{str(folder)!r} was taken over by {owner_of(folder)}: this process was taken for "
                "lost; it writes nothing more"
            )
        raise StorageError(
            f"{str(self._path)!r} was deleted or moved while the run was going on: nothing more "
            "can be kept there, so the run ends here"
        )

    def release(self) -> None:
        """Let go; closing the descriptor releases the lock."""
        if self.is_held:
            os.close(self._descriptor)
            self._descriptor = -1


_held: "weakref.WeakSet[FolderLock]" = weakref.WeakSet()


def _release_in_child() -> None:
    # The kernel would keep the lock for as long as a child lives that an env forked.
    for lock in _held:
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)


def seize(path: Path) -> None:
    """Take a folder from a process that is lost: should it go on, it writes nothing more there."""
    storage.replace_file(path / LOCK, _this_process())


def _this_process() -> bytes:
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f"process {os.getpid()} on {socket.gethostname()}, started {started}\n".encode()


def owner_of(path: Path) -> str:
    """Name the process that last held the folder."""
    try:
        words = storage.read_bytes(path / LOCK, 1_000).decode().strip()
    except (StorageError, UnicodeDecodeError):
        words = ""
    return shown(words) or "another process"


def is_held(path: Path) -> bool:
    """Tell whether a process holds the folder; one that is not there is not held."""
    if not path.is_dir():
        return False
    try:
        FolderLock(path).release()
    except RunDirError:
        return True
    return False
