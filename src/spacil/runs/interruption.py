"""Signals set a flag that the training loop checks after each iteration.

On SIGINT (Ctrl-C), SIGTERM (a scheduler's stop), SIGUSR1 (a preemption notice), SIGHUP (the
terminal is gone) and SIGXCPU (the processor time is used up) the loop saves a checkpoint and ends
with `exit_code`. A second signal ends the process immediately, which is safe: the files on disk are
complete at every moment. Its code says that the iteration under way was not saved.

No handler of a run raises an exception: it could surface at any line, even in the middle of an
update. A signal that was ignored before (as under nohup) stays ignored. Processes that an env forks
are not ours: there a signal does what it does by default, as it does outside of the loop.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

EXIT_CODES = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGUSR1: 75,
    signal.SIGHUP: 129,
    signal.SIGXCPU: 152,
}
"""Exit code after a saved interruption; 75 tells a scheduler to run the command again."""

NOT_SAVED = 75
"""Exit code after a second signal."""


class Interruption:
    """`with Interruption() as interruption:` around the loop; no effect outside the main thread."""

    def __init__(self) -> None:
        self.requested: int | None = None
        """The number of the first signal that came, or None."""
        self._previous: dict[int, Callable[..., Any] | int] = {}
        self._process = os.getpid()

    @property
    def exit_code(self) -> int:
        """The code to end with after saving; 0 when no signal came."""
        return 0 if self.requested is None else EXIT_CODES[signal.Signals(self.requested)]

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in EXIT_CODES:
                previous = signal.getsignal(number)
                # None: a handler that was not set from Python and could not be restored.
                if previous is not None and previous is not signal.SIG_IGN:
                    self._previous[number] = previous
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # a forked child: what happens where nobody handles it
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        name = signal.Signals(number).name
        if self.requested is not None:
            if number == signal.SIGXCPU:  # the kernel repeats it every second
                return
            _say(f"{name} again: stopping immediately; the iteration under way is not saved")
            os._exit(NOT_SAVED)
        self.requested = number
        _say(f"{name}: saving after this iteration; send it again to stop immediately")
        previous = self._previous.get(number)
        # Python's own SIGINT handler raises an exception, which the flag replaces.
        if callable(previous) and previous is not signal.default_int_handler:
            previous(number, frame)


def _say(message: str) -> None:
    # Not print: the handler may run inside a buffered write, which is not reentrant.
    with contextlib.suppress(OSError):
        os.write(2, f"{message}\n".encode())
