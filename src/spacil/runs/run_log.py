"""run.log: the warnings and remarks of a run, beside its numbers.

Derived, like TensorBoard: a log that cannot be written never ends a run.
"""

import logging
import time
from logging.handlers import MemoryHandler
from pathlib import Path
from typing import Self

from spacil.plain_text import shown
from spacil.runs.lock import TakenOverError

RUN_LOG = "run.log"
_MAX_LINE = 8_000

_logger = logging.getLogger(__name__)


class RunLog(MemoryHandler):
    """Listens to spacil's loggers from the start of the `with` block; writes from `begin` on.

    What is said before the run folder is fit to be written to, about demonstrations and settings,
    is kept until then. A run that is refused leaves no log.
    """

    def __init__(self) -> None:
        super().__init__(capacity=1)  # a record waits only while there is no file

    def __enter__(self) -> Self:
        logging.getLogger("spacil").addHandler(self)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        logging.getLogger("spacil").removeHandler(self)
        if error is not None and not isinstance(error, TakenOverError):  # then it is not our log
            self.note(f"ended by {type(error).__name__}: {error}", "ERROR")
        file = self.target
        self.close()
        if file is not None:
            file.close()

    def begin(self, folder: Path) -> None:
        """Append to the folder's log from here on."""
        try:
            self.setTarget(_LogFile(folder / RUN_LOG, errors="backslashreplace", encoding="utf-8"))
        except OSError as error:
            _logger.warning("no %s: %s", RUN_LOG, error)
        else:
            self.flush()

    def note(self, message: str, level: str = "INFO") -> None:
        """Write a line of the run's own that is for the log alone."""
        self.handle(logging.makeLogRecord({"msg": message, "levelname": level}))


class _LogFile(logging.FileHandler):
    def format(self, record: logging.LogRecord) -> str:
        """Return one line that is harmless on a terminal: a name in a file may hold anything."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        return f"{stamp} {record.levelname:<7} {shown(record.getMessage(), _MAX_LINE)}"

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # of the base class
        """Go on without the line."""
