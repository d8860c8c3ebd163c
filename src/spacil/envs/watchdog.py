"""A limit on how long code of others may take, for when it never comes back.

No exception can be raised in a thread that hangs in a driver or a socket, so the process ends:
with a message, the stacks of all threads and the exit code that says "run me again". What the run
has saved is whole at every moment.

Time is counted in ticks of the watching thread, not read from a clock: a process that was stopped,
or a laptop that slept, has not waited.
"""

import contextlib
import faulthandler
import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Self

from spacil.errors import RetryableError
from spacil.plain_text import printable

_STANDARD_ERROR = 2


class Watchdog:
    """`with watchdog.watch(describe):` around each call, one at a time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._describe: Callable[[], str] = str
        self._call, self._is_calling = 0, False
        # Of the watching thread alone: the call it saw last, and for how long by now.
        self._seen_call, self._seconds_waited = 0, 0.0
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = 0

    def watch(self, describe: Callable[[], str]) -> Self:
        """`describe` says what is going on, should it take too long."""
        self._describe = describe
        return self

    def __enter__(self) -> None:
        self._call += 1
        self._is_calling = True
        # A forked child has no threads of its parent's.
        if self._thread is None or self._process != os.getpid():
            self._process = os.getpid()
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
        self._is_calling = False

    def close(self) -> None:
        """Stop watching; closing twice is harmless."""
        self._is_closed.set()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()
        self._thread = None

    def tick(self, seconds: float) -> None:
        """So much time has passed in this process; ends it if the call is late."""
        if not self._is_calling or self._call != self._seen_call:
            self._seen_call, self._seconds_waited = self._call, 0.0
            return
        self._seconds_waited += seconds
        if self._seconds_waited > self._seconds:
            self._end_process()

    def _end_process(self) -> None:
        message = (
            f"spacil: {self._describe()}, and has not returned for {self._seconds:g} s "
            "(--env-timeout): it hangs. The process ends here, where its threads are; what was "
            "saved is intact, and the same command with --resume goes on from it\n"
        )
        with contextlib.suppress(OSError):  # nobody reads it; the process has to end all the same
            os.write(_STANDARD_ERROR, printable(message).encode(errors="replace"))
        faulthandler.dump_traceback(_STANDARD_ERROR, all_threads=True)
        os._exit(RetryableError.exit_code)


def _watch(
    reference: weakref.ref[Watchdog], is_closed: threading.Event, seconds_between: float
) -> None:
    while not is_closed.wait(seconds_between):
        watchdog = reference()
        if watchdog is None:
            return
        watchdog.tick(seconds_between)
        del watchdog
