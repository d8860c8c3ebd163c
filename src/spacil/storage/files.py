"""Whole files: read only after their size is checked, written all or nothing."""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import uuid
from pathlib import Path

from spacil.errors import StorageError
from spacil.storage.faults import DamagedFileError, describe, os_errors_as

SCRATCH = ".tmp-"

_NUM_STANDARD_STREAMS = 3


def open_descriptor(path: Path, flags: int) -> int:
    """Open a file of ours to keep it open: never through a link, never as a standard stream.

    A process that was started with its output closed gets number 1 or 2 for the next file it opens,
    and whatever prints then writes into that file.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o666)
    if descriptor >= _NUM_STANDARD_STREAMS:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _NUM_STANDARD_STREAMS)
    finally:
        os.close(descriptor)


def refuse_link(path: Path) -> None:
    """Refuse a file or folder of ours that somebody replaced by a link."""
    if path.is_symlink():
        raise StorageError(
            f"{str(path)!r} is a symbolic link, and no part of a run folder is followed through "
            "one: put the real file or folder in its place"
        )


def read_bytes(path: Path, max_bytes: int, *, follow_symlinks: bool = True) -> bytearray:
    """The content of a regular file of at most `max_bytes`; the size is checked before reading."""
    # O_NONBLOCK: a named pipe would block the open, before its kind can be seen and refused.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if not follow_symlinks:
        flags |= os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DamagedFileError(f"{str(path)!r} is not a regular file")
            if status.st_size > max_bytes:
                raise DamagedFileError(
                    f"{str(path)!r} has {status.st_size:,} bytes, expected at most {max_bytes:,}"
                )
            content = bytearray(status.st_size)
            if file.readinto(content) != len(content):
                raise DamagedFileError(f"{str(path)!r} became shorter while it was being read")
            return content
    except OSError as error:
        # Other reasons (no permission, no descriptors left) say nothing about the file itself.
        of_the_file = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO}
        kind = DamagedFileError if error.errno in of_the_file else StorageError
        raise kind(describe(error, "read", path)) from error


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file, on disk when this returns. Only for names that nobody reads yet."""
    with os_errors_as(StorageError, "write", path, len(content)), path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that every reader, at every moment, sees either the old or the new one."""
    scratch = path.with_name(f"{SCRATCH}{uuid.uuid4().hex}")
    try:
        with os_errors_as(StorageError, "write", path, len(content)), scratch.open("xb") as file:
            mark_alive(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            scratch.replace(path)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power loss."""
    with os_errors_as(StorageError, "write", folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
                raise
        finally:
            os.close(descriptor)


def require_free_space(folder: Path, num_bytes: int) -> None:
    with os_errors_as(StorageError, "check the free space of", folder):
        free = shutil.disk_usage(folder).free
    if free < num_bytes:
        raise StorageError(
            f"not enough disk space for {str(folder)!r}: {num_bytes:,} bytes needed, {free:,} "
            "free; free some space and run the command again"
        )


def try_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed or the process dies; False if another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def mark_alive(descriptor: int) -> None:
    """Make `sweep_abandoned` spare this file or folder while it is open."""
    with contextlib.suppress(OSError):  # without locks nothing is swept, which is safe
        try_lock(descriptor)
