"""`spacil` commands in processes of their own, to be watched, starved and killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """The JSON it printed."""
        return json.loads(self.out)


class Processes:
    """Starts commands; see process_server.py."""

    def __init__(self, folder: Path, *, draws_pictures: bool = True) -> None:
        self._folder = folder
        self._count = 0
        self._server = subprocess.Popen(
            [
                sys.executable,
                Path(__file__).with_name("process_server.py"),
                *([] if draws_pictures else ["--no-pictures"]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.number = self._server.pid
        """Of the process that all others are forked from."""
        assert self._answer() == "ready\n"

    def start(
        self,
        *arguments: object,
        environment: dict[str, str] | None = None,
        folder: Path = Path(),
        out: Path | None = None,
        err: Path | None = None,
        limits: dict[str, int] | None = None,
        user: int | None = None,
    ) -> "Process":
        """Begin a command; `out` and `err` may be anything that can be opened and written to.

        `limits` are those of `resource.setrlimit` by name, `user` whom the process belongs to.
        """
        self._count += 1
        out = out or self._folder / f"out-{self._count:04d}"
        err = err or self._folder / f"err-{self._count:04d}"
        number = self.ask(
            arguments=[str(argument) for argument in arguments],
            environment=environment or {},
            folder=str(folder.absolute()),
            out=str(out),
            err=str(err),
            limits=limits or {},
            user=user,
        )
        return Process(self, number, out, err)

    def run(self, *arguments: object, **options: Any) -> Finished:
        return self.start(*arguments, **options).wait()

    def ask(self, **request: Any) -> Any:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return json.loads(self._answer())

    def close(self) -> None:
        self._server.communicate()

    def _answer(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline()


@dataclass(frozen=True)
class Process:
    """One command on its way."""

    processes: Processes
    number: int
    out: Path
    err: Path

    def send(self, signal_number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, signal_number)

    def wait(self, seconds: float = 120) -> Finished:
        code = self.processes.ask(wait=self.number, seconds=seconds)
        if code is None:
            self.send(signal.SIGKILL)
            raise AssertionError(f"process {self.number} was still running after {seconds} s")
        out, err = (path.read_text() if path.is_file() else "" for path in (self.out, self.err))
        assert "Traceback" not in err, err
        return Finished(code, out, err)
