"""What several folders share: a tiny run, the command line, and processes that may be killed."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_runs
import torch
from command_processes import Finished, Processes
from run_state import RunState, state_of_run

from spacil import GAIL
from spacil.cli import main
from spacil.config.penalty_terms import POLICY_PENALTIES


@pytest.fixture(autouse=True)
def one_thread_of_matrix_products() -> None:
    """Small products gain nothing from a second thread, and lose much on a busy machine."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def penalties_as_they_were() -> Iterator[None]:
    """A test's own penalties leave with it."""
    known = dict(POLICY_PENALTIES)
    yield
    POLICY_PENALTIES.clear()
    POLICY_PENALTIES.update(known)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder that is the working one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def tiny() -> Callable[..., dict[str, Any]]:
    """The settings of a tiny run of an algorithm (gail) by keyword, with changes."""
    return tiny_runs.tiny


@pytest.fixture(scope="session")
def tiny_flags() -> Callable[..., list[str]]:
    """The same as flags of the command line."""
    return lambda *algorithm, **changes: tiny_runs.as_flags(tiny_runs.tiny(*algorithm, **changes))


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
        settings = tiny_flags(algorithm, **changes)
        return spacil("train", algorithm, "--task", task, "--quiet", "--json", *settings, *flags)

    return run


@pytest.fixture(scope="session")
def _finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("finished") / "run"
    agent = GAIL("Reacher-v4", **tiny_runs.tiny())
    agent.learn(run_dir=run_dir)
    agent.close()
    return run_dir


@pytest.fixture
def finished_run(_finished_run: Path, tmp_path: Path) -> Path:
    """The folder of a finished tiny GAIL run on Reacher-v4, to do anything with."""
    return shutil.copytree(_finished_run, tmp_path / "run")


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Processes:
    return Processes(tmp_path_factory.mktemp("processes"))


@pytest.fixture(scope="session")
def state_of() -> Callable[[Path], RunState]:
    """The last checkpoint's content, the best one's, and metrics without wall-clock time."""
    return state_of_run
