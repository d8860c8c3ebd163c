"""Killed anywhere, by anything, and started again: the run ends as if nothing had happened."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kill_campaign import is_passed, num_records, run_campaign, wait_for_records

from spacil.runs import checkpoint
from spacil.runs.facts import read_run


@pytest.fixture
def start(processes: Any, run_arguments: Callable[..., list[object]], tmp_path: Path) -> Any:
    """The command that is given again and again: with --resume, also the first time."""

    def start(algorithm: str, failpoint: str = "", **changes: Any) -> Any:
        environment = {"SPACIL_FAILPOINT": failpoint} if failpoint else {}
        arguments = run_arguments(algorithm, tmp_path / "run", **changes)
        return processes.start(*arguments, "--resume", environment=environment)

    return start


@pytest.fixture
def finish(start: Any, state_of: Callable[[Path], Any], tmp_path: Path) -> Callable[..., Any]:
    """Start once more, undisturbed, and read the state that the run ends in."""

    def finish(algorithm: str, **changes: Any) -> Any:
        finished = start(algorithm, **changes).wait()
        assert finished.code == 0, finished.err
        assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "finished"
        return state_of(tmp_path / "run")

    return finish


def kill_after(process: Any, run_dir: Path, records: int, delay: float) -> int:
    wait_for_records(run_dir, records)
    time.sleep(delay)
    process.send(signal.SIGKILL)
    return process.wait().code


def best_iteration(checkpoints: Path) -> int:
    best = checkpoint.best(checkpoints)
    assert best is not None
    return best.iteration


@pytest.mark.parametrize(
    ("algorithm", "failpoint"),
    [
        ("trpo", "checkpoint.before-publish:3"),
        ("gail", "checkpoint.after-publish:4"),
        ("spacil", "checkpoint.during-prune:2"),
    ],
)
def test_two_kills_leave_no_trace(
    start: Any, finish: Any, uninterrupted: Any, tmp_path: Path, algorithm: str, failpoint: str
) -> None:
    assert start(algorithm, failpoint).wait().code == -signal.SIGKILL
    done = num_records(tmp_path / "run")
    assert done > 0
    code = kill_after(start(algorithm), tmp_path / "run", done + 1, delay=0.02)
    assert code == -signal.SIGKILL
    assert finish(algorithm) == uninterrupted(algorithm)


@pytest.mark.slow
def test_kills_at_random_moments_leave_no_trace(tmp_path: Path) -> None:
    trials = run_campaign(60, tmp_path)
    assert len(trials) == 60 and all(map(is_passed, trials))


def test_a_run_killed_before_its_first_checkpoint_begins_again(
    start: Any, finish: Any, uninterrupted: Any, tmp_path: Path
) -> None:
    assert start("gail", "checkpoint.before-write").wait().code == -signal.SIGKILL
    assert num_records(tmp_path / "run") == 1
    assert checkpoint.newest(tmp_path / "run" / "checkpoints") is None
    assert finish("gail") == uninterrupted("gail")


def test_a_best_that_a_kill_withheld_is_written_by_the_resume(
    start: Any, finish: Any, tmp_path: Path
) -> None:
    checkpoints = tmp_path / "run" / "checkpoints"
    every = {"evaluation_interval": 1, "select": "last"}  # each one is the best so far
    killed = start("gail", "checkpoint.after-publish:2", iterations=2, **every).wait()
    assert killed.code == -signal.SIGKILL
    assert best_iteration(checkpoints) == 1
    finish("gail", iterations=2, **every)
    assert best_iteration(checkpoints) == read_run(tmp_path / "run").best["iteration"] == 2


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 75), (signal.SIGHUP, 129)],
)
def test_a_signal_saves_and_the_run_goes_on_later(
    start: Any, finish: Any, uninterrupted: Any, tmp_path: Path, number: int, code: int
) -> None:
    # One checkpoint at the end: what the signal saves is all there is.
    process = start("gail", checkpoint_interval=100)
    wait_for_records(tmp_path / "run", 1)
    process.send(number)
    stopped = process.wait()
    assert stopped.code == code
    name = signal.Signals(number).name
    assert f"{name}: saving after this iteration" in stopped.err
    status = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (status["status"], status["reason"]) == ("interrupted", name)
    saved = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert saved is not None and saved.iteration == num_records(tmp_path / "run")
    assert finish("gail") == uninterrupted("gail")


def test_a_second_signal_ends_the_process_at_once_and_nothing_saved_is_lost(
    start: Any, finish: Any, uninterrupted: Any, tmp_path: Path
) -> None:
    process = start("gail")
    wait_for_records(tmp_path / "run", 2)
    for _ in range(2):
        process.send(signal.SIGTERM)
        time.sleep(0.001)
    stopped = process.wait()
    # Between the two it may have come to the end of its iteration, and saved it.
    assert stopped.code == (75 if "is not saved" in stopped.err else 143)
    saved = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert saved is not None and saved.iteration >= 1
    assert finish("gail") == uninterrupted("gail")
