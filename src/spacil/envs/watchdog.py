"""A limit on how long code of others may take, for when it never comes back.

No exception can be raised in a thread that hangs in a driver or a socket, so the process ends:
with a message, the stacks of all threads and the exit code that says "run me again". What the run
has saved is whole at every moment.
"""

import faulthandler
import math
import os
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Self

from spacil.errors import RetryableError

_STANDARD_ERROR = 2


class Watchdog:
    """`with watchdog.watch(describe):` around each call, one at a time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._describe: Callable[[], str] = str
        self._deadline = math.inf
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, describe: Callable[[], str]) -> Self:
        """`describe` says what is going on, should it take too long."""
        self._describe = describe
        return self

    def __enter__(self) -> None:
        self._deadline = time.monotonic() + self._seconds
        if self._thread is None:
            pause = min(1.0, self._seconds / 4)
            # A weak reference: an env that nobody closed ends its watchdog when it goes.
            watched = (weakref.ref(self), self._is_closed, pause)
            self._thread = threading.Thread(
                target=_watch, args=watched, name="watchdog", daemon=True
            )
            self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._deadline = math.inf

    def close(self) -> None:
        """Stop watching; closing twice is harmless."""
        self._is_closed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def end_process_if_late(self) -> None:
        if time.monotonic() > self._deadline:
            self._end_process()

    def _end_process(self) -> None:
        message = (
            f"spacil: {self._describe()}, and has not returned for {self._seconds:g} s "
            "(--env-timeout): it hangs. The process ends here, where its threads are; what was "
            "saved is intact, and the same command with --resume goes on from it\n"
        )
        os.write(_STANDARD_ERROR, message.encode(errors="replace"))
        faulthandler.dump_traceback(_STANDARD_ERROR, all_threads=True)
        os._exit(RetryableError.exit_code)


def _watch(
    reference: weakref.ref[Watchdog], is_closed: threading.Event, seconds_between: float
) -> None:
    while not is_closed.wait(seconds_between):
        watchdog = reference()
        if watchdog is None:
            return
        watchdog.end_process_if_late()
        del watchdog
