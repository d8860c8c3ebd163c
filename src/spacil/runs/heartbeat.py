"""heartbeat.json: a sign of life in a run folder, for whoever watches the run from elsewhere.

A watcher compares contents and measures by its own clock how long nothing changed, so clocks of
two machines are never compared. A stopped or frozen process is silent; one that computes for hours
is not. Only the process that owns the folder beats.
"""

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from spacil import storage
from spacil.errors import StorageError
from spacil.runs.ownership import OWNER, owns

HEARTBEAT = "heartbeat.json"
BEAT_SECONDS = 5.0

_FIRST_LOOK_SECONDS = 0.1


@contextlib.contextmanager
def beating(run_dir: Path, seconds: float = BEAT_SECONDS) -> Iterator[None]:
    """Beat in a thread of its own whenever this process owns the folder."""
    is_over = threading.Event()

    def beat() -> None:
        pause = 0.0
        for count in itertools.count():
            # A beat that cannot be written is a missed beat: the run itself meets the fault.
            with contextlib.suppress(StorageError):
                if owns(run_dir):
                    sign = {"host": socket.gethostname(), "pid": os.getpid(), "beat": count}
                    storage.write_json(run_dir / HEARTBEAT, sign)
                    pause = seconds
            # The first beat comes at once: a process that freezes before it is never missed.
            if is_over.wait(pause or min(seconds, _FIRST_LOOK_SECONDS)):
                return

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        if owns(run_dir):
            with contextlib.suppress(OSError):
                (run_dir / HEARTBEAT).unlink(missing_ok=True)


def forget_beats(run_dir: Path) -> None:
    """Before a new process starts in the folder: the old signs are nobody's."""
    with storage.os_errors_as(StorageError, "delete", run_dir / HEARTBEAT):
        (run_dir / HEARTBEAT).unlink(missing_ok=True)


class Silence:
    """For how long each watched run folder has shown no new sign of life."""

    def __init__(self) -> None:
        self._seen: dict[Path, tuple[object, float]] = {}

    def seconds(self, run_dir: Path) -> float | None:
        """Since the last change that was seen from here; None if nobody beats there.

        None too where the owner is another process than the one whose beats are in the folder.
        """
        beat, owner = _read(run_dir / HEARTBEAT), _read(run_dir / OWNER)
        if beat.get("pid") is None or any(beat.get(k) != owner.get(k) for k in ("host", "pid")):
            self._seen.pop(run_dir, None)
            return None
        now = time.monotonic()
        sign = (beat, owner.get("token"))
        if run_dir not in self._seen or self._seen[run_dir][0] != sign:
            self._seen[run_dir] = (sign, now)
        return now - self._seen[run_dir][1]


def _read(path: Path) -> dict[str, object]:
    try:
        found = storage.read_json(path, follow_symlinks=False)
    except StorageError:
        return {}
    return found if isinstance(found, dict) else {}
