"""run.log: the warnings and remarks of a run, beside its numbers.

Derived, like TensorBoard: a log that cannot be written costs one warning and never a run.
"""

import logging
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from spacil.runs.lock import TakenOverError

RUN_LOG = "run.log"

_MAX_EARLY_RECORDS = 1_000

_logger = logging.getLogger(__name__)


class RunLog(logging.Handler):
    """Listens to spacil's loggers from the start of the `with` block; writes from `begin` on.

    What is said before the run folder is fit to be written to, about demonstrations and settings,
    is kept until then. A run that is refused leaves no log.
    """

    def __init__(self) -> None:
        super().__init__()
        self._early: list[str] = []
        self._descriptor = -1
        self._has_failed = False

    def __enter__(self) -> Self:
        logging.getLogger("spacil").addHandler(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        logging.getLogger("spacil").removeHandler(self)
        if error is not None and not isinstance(error, TakenOverError):  # then it is not our log
            self.note(f"ended by {type(error).__name__}: {error}", "ERROR")
        self.close()

    def begin(self, folder: Path) -> None:
        """Append to the folder's log from here on, a link being no log."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(folder / RUN_LOG, flags | os.O_NONBLOCK, 0o666)
        except OSError as error:
            self._fail(error)
            return
        early, self._early = self._early, []
        for line in early:
            self._write(line)

    def note(self, message: str, level: str = "INFO") -> None:
        """A line of the run's own that is for the log alone."""
        self._write(_line(level, message))

    def emit(self, record: logging.LogRecord) -> None:
        self._write(_line(record.levelname, record.getMessage()))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        super().close()

    def _write(self, line: str) -> None:
        if self._has_failed:
            return
        if self._descriptor < 0:
            self._early = [*self._early, line][-_MAX_EARLY_RECORDS:]
            return
        try:
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._has_failed = True
        _logger.warning("no %s: %s", RUN_LOG, error)


def _line(level: str, message: str) -> str:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return f"{stamp} {level:<7} {_printable(message)}\n"


def _printable(message: str) -> str:
    """On one line, and harmless on a terminal: a name in a file may hold anything."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in message
    )
