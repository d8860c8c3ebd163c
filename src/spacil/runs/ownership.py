"""Who holds a run folder: a lock in the kernel, and a note that names the process.

The lock ends with its process, so a dead owner never blocks anyone; the note is for people.
"""

import contextlib
import os
import socket
import time
from pathlib import Path

from spacil import storage
from spacil.errors import RunDirError, StorageError

LOCK, OWNER = "run.lock", "owner.json"


def take_lock(path: Path) -> int:
    """A descriptor that holds the folder until it is closed; refused while another process does."""
    lock_path = path / LOCK
    with storage.os_errors_as(RunDirError, "lock", lock_path):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(lock_path, flags, 0o666)
        try:
            is_ours = storage.try_lock(lock)
        except OSError:
            os.close(lock)
            raise
    if not is_ours:
        os.close(lock)
        raise RunDirError(
            f"{str(path)!r} is in use by {owner_of(path)}: wait for it, stop it, or choose "
            "another --run-dir"
        )
    return lock


def write_owner(path: Path) -> None:
    """Record that this process holds the folder."""
    boot_id = None
    with contextlib.suppress(OSError):  # Linux only
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    owner = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "boot_id": boot_id,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    storage.write_json(path / OWNER, owner)


def owner_of(path: Path) -> str:
    """The process that last recorded the folder as its own, in words."""
    try:
        owner = storage.read_json(path / OWNER)
        return f"process {owner['pid']} on {owner['host']}, started {owner['started']}"
    except (StorageError, KeyError, TypeError):
        return "another process"
