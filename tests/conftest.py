"""What several folders share: a tiny run, the command line, and processes that may be killed."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from spacil import GAIL
from spacil.cli import main
from spacil.training import checkpoint, metrics_log

TINY = {
    "iterations": 3,
    "num_envs": 10,
    "steps_per_iteration": 200,
    "simulation_threads": 1,
    "torch_threads": 1,
    "policy_hidden": (16, 8),
    "value_hidden": (16,),
    "discriminator_hidden": (16,),
    "evaluation_steps": 100,
    "evaluation_interval": 2,
}
"""Settings of a run that takes a second and still does everything a long one does."""


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
class RunState:
    """What two equal runs have in common, whatever happened to them on the way."""

    content_hash: str
    metrics: list[dict[str, Any]]
    best_hash: str


@pytest.fixture(autouse=True)
def one_thread_of_matrix_products() -> None:
    """Small products gain nothing from a second thread, and lose much on a busy machine."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny() -> Callable[..., dict[str, Any]]:
    """The settings of a tiny run by keyword, with changes."""
    return lambda **changes: TINY | changes


@pytest.fixture(scope="session")
def tiny_flags() -> Callable[..., list[str]]:
    """The same as flags of the command line."""

    def flags(**changes: Any) -> list[str]:
        words: list[str] = []
        for name, value in (TINY | changes).items():
            words.append(f"--{name.replace('_', '-')}")
            words += [str(item) for item in value] if isinstance(value, tuple) else [str(value)]
        return words

    return flags


@pytest.fixture
def spacil(capfd: pytest.CaptureFixture[str]) -> Callable[..., Finished]:
    """The command line in this process. An error that is not typed fails the test by itself."""

    def run(*arguments: object) -> Finished:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ending:
            main.main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "--debug" in arguments or "Traceback" not in err
        return Finished(int(ending.value.code or 0), out, err)

    return run


@pytest.fixture
def train(
    spacil: Callable[..., Finished], tiny_flags: Callable[..., list[str]]
) -> Callable[..., Finished]:
    """`spacil train ALGORITHM` of a tiny run on Reacher-v4, in this process."""

    def run(algorithm: str, *flags: object, task: str = "Reacher-v4", **changes: Any) -> Finished:
        settings = tiny_flags(**changes)
        return spacil("train", algorithm, "--task", task, "--quiet", "--json", *settings, *flags)

    return run


@pytest.fixture(scope="session")
def _finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("finished") / "run"
    agent = GAIL("Reacher-v4", **TINY)
    agent.learn(run_dir=run_dir)
    agent.close()
    return run_dir


@pytest.fixture
def finished_run(_finished_run: Path, tmp_path: Path) -> Path:
    """The folder of a finished tiny GAIL run on Reacher-v4, to do anything with."""
    return shutil.copytree(_finished_run, tmp_path / "run")


class Processes:
    """`spacil` commands in processes of their own; see process_server.py."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._server = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("process_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready\n"

    def start(
        self,
        *arguments: object,
        environment: dict[str, str] | None = None,
        folder: Path = Path(),
        out: Path | None = None,
        err: Path | None = None,
    ) -> "Process":
        """Begin a command; `out` and `err` may be anything that can be opened and written to."""
        self._count += 1
        out = out or self._folder / f"out-{self._count:04d}"
        err = err or self._folder / f"err-{self._count:04d}"
        number = self.ask(
            arguments=[str(argument) for argument in arguments],
            environment=environment or {},
            folder=str(folder.absolute()),
            out=str(out),
            err=str(err),
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
            pytest.fail(f"process {self.number} was still running after {seconds} s")
        out, err = (path.read_text() if path.is_file() else "" for path in (self.out, self.err))
        assert "Traceback" not in err, err
        return Finished(code, out, err)


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    server = Processes(tmp_path_factory.mktemp("processes"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def state_of() -> Callable[[Path], RunState]:
    """The last checkpoint's content, the best one's, and metrics without wall-clock time."""

    def read(run_dir: Path) -> RunState:
        last = checkpoint.newest_valid(run_dir / "checkpoints")
        best = checkpoint.read_best(run_dir / "checkpoints")
        assert last is not None and best is not None
        metrics = [
            {name: value for name, value in row.items() if not name.startswith("seconds")}
            for row in metrics_log.read(run_dir / "metrics.jsonl")
        ]
        return RunState(last.content_hash, metrics, best.content_hash)

    return read
