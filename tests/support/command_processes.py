"""`spacil` commands in processes of their own, to be watched, starved and killed.

Each is forked from a server that has imported everything: starting Python and importing torch takes
seconds, forking milliseconds. What is forked is a process like any other.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    [
        "spacil.cli.train",
        "spacil.envs.gymnasium_env",
        "spacil.envs.threaded_mujoco",
        "spacil.comparison.pictures",
        "spacil.learning.intake",
        "spacil.learning.run",
        "torch._dynamo",  # by the first optimiser
        "torch.utils.tensorboard",
    ]
)


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


@dataclass(frozen=True)
class Process:
    """One command on its way."""

    process: Any
    out: Path
    err: Path

    @property
    def number(self) -> int:
        return int(self.process.pid)

    def send(self, signal_number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, signal_number)

    def wait(self, seconds: float = 120) -> Finished:
        self.process.join(seconds)
        code = self.process.exitcode
        if code is None:
            self.send(signal.SIGKILL)
            raise AssertionError(f"process {self.number} was still running after {seconds} s")
        out, err = (path.read_text() if path.is_file() else "" for path in (self.out, self.err))
        assert "Traceback" not in err, err
        return Finished(code, out, err)


class Processes:
    """Starts commands; without pictures, which take longer than a tiny run itself, if asked so."""

    def __init__(self, folder: Path, *, draws_pictures: bool = True) -> None:
        self._folder, self._draws_pictures = folder, draws_pictures
        self._count = 0

    def start(
        self,
        *arguments: object,
        environment: dict[str, str] | None = None,
        folder: Path = Path(),
        out: Path | None = None,
        err: Path | None = None,
        limits: dict[str, int] | None = None,
        user: int | None = None,
    ) -> Process:
        """Begin a command; `out` and `err` may be anything that can be opened and written to.

        `limits` are those of `resource.setrlimit` by name, that of RLIMIT_AS on top of what is
        loaded; `user` is whom the process belongs to.
        """
        self._count += 1
        out = out or self._folder / f"out-{self._count:04d}"
        err = err or self._folder / f"err-{self._count:04d}"
        request = {
            "arguments": [str(argument) for argument in arguments],
            "environment": environment or {},
            "folder": folder.absolute(),
            "streams": (Path(os.devnull), out, err),
            "limits": limits or {},
            "user": user,
            "draws_pictures": self._draws_pictures,
        }
        process = _forks.Process(target=_become_command, args=(request,))
        process.start()
        return Process(process, out, err)

    def run(self, *arguments: object, **options: Any) -> Finished:
        return self.start(*arguments, **options).wait()


def _become_command(request: dict[str, Any]) -> None:
    """In the forked process: its own streams, folder, environment and limits; then the command."""
    from spacil.cli.main import main

    for number, path in enumerate(request["streams"]):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        os.dup2(os.open(path, flags), number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    # A shell that started us in the background had it ignored, and so would every command have it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # likewise, by nohup
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    if not request["draws_pictures"]:
        pictures: Any = importlib.import_module("spacil.comparison.pictures")
        pictures.draw_learning_curve = lambda *_: None
    if request["user"] is not None:
        os.setuid(request["user"])
    for name, value in request["limits"].items():
        if name == "RLIMIT_AS":
            num_pages = int(Path("/proc/self/statm").read_text().split()[0])
            value += num_pages * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(getattr(resource, name), (value, value))
    code: Any = 1
    try:
        main(request["arguments"])
    except SystemExit as ending:
        code = ending.code
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(OSError):  # a reader may be gone
        sys.stdout.flush()
        sys.stderr.flush()
    # Not the interpreter's own end, which frees one by one what the fork has only borrowed.
    os._exit(code or 0)
