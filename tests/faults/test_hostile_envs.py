"""Envs that exit, hang where nobody looks, fork, move away, or return what is no number."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Spacil, Train
from kill_campaign import num_records, wait_for_records
from tiny_runs import as_flags, tiny

OddTask = Callable[[str], str]


@pytest.fixture
def start(processes: Any, odd_task: OddTask, tmp_path: Path) -> Callable[..., Any]:
    """Begin a tiny run on an odd env in a process of its own, in `run` of the temporary folder."""

    def begin(name: str, *flags: object, **changes: Any) -> Any:
        command = ["train", "trpo", "--task", odd_task(name), "--run-dir", "run", "--quiet"]
        settings = as_flags(tiny("trpo", **changes))
        return processes.start(*command, "--json", *settings, *flags, folder=tmp_path)

    return begin


def test_code_that_exits_while_it_is_imported_is_no_success(spacil: Spacil, here: Path) -> None:
    Path("leaves.py").write_text("import sys\nsys.exit(0)\n")
    ended = spacil("smoothness", "leaves:policy", "--task", "Reacher-v4")
    assert ended.code == 69
    assert "code that spacil called ended with sys.exit(0): nothing is done" in ended.err
    assert spacil("tasks", "--help").code == 0


@pytest.mark.parametrize(
    ("name", "where"),
    [("HangsInit", "is made"), ("HangsClose", "is closed"), ("Hangs", "env 0 in step, at step 15")],
)
def test_an_env_that_hangs_is_ended_with_its_place_and_the_stacks(
    start: Callable[..., Any], tmp_path: Path, name: str, where: str
) -> None:
    hung = start(name, env_timeout=2.0, steps_per_iteration=100).wait()
    assert hung.code == 75
    assert where in hung.err and "has not returned for 2 s (--env-timeout)" in hung.err
    assert 'odd_envs.py", line' in hung.err  # the stack of the thread that hangs
    assert name != "Hangs" or num_records(tmp_path / "run") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("RaisesClose", "RuntimeError: the port is gone"), ("ExitsClose", "SystemExit: 3")],
)
def test_an_env_that_cannot_be_closed_does_not_undo_a_finished_run(
    train: Train, odd_task: OddTask, tmp_path: Path, name: str, message: str
) -> None:
    trained = train("trpo", "--run-dir", tmp_path / "run", task=odd_task(name), iterations=1)
    assert trained.code == 0
    assert trained.result["last"]["iteration"] == 1
    assert "is closed: " in trained.err and message in trained.err
    assert '"finished"' in (tmp_path / "run" / "run.json").read_text()


def test_a_child_of_an_env_lets_the_folder_go(start: Callable[..., Any], tmp_path: Path) -> None:
    run = start("Forks", iterations=10_000)
    wait_for_records(tmp_path / "run", 1)
    run.send(signal.SIGKILL)
    assert run.wait().code == -signal.SIGKILL
    child = int((tmp_path / "the-child-of-an-env").read_text())
    try:
        os.kill(child, 0)  # alive
        resumed = start("Forks", "--resume", iterations=num_records(tmp_path / "run") + 1).wait()
        assert resumed.code == 0, resumed.err
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_an_env_that_moves_leaves_the_run(start: Callable[..., Any], tmp_path: Path) -> None:
    finished = start("ChangesFolder", "--json", "result.json").wait()
    assert finished.code == 0
    found = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"checkpoints", "run.json", "learning_curve.png", "metrics.jsonl"} <= found
    assert json.loads((tmp_path / "result.json").read_text())["run_dir"] == str(tmp_path / "run")
    moved = {path.name for path in (tmp_path / "elsewhere").rglob("*")}
    assert moved == {"an-env-was-made", "elsewhere"}  # what the envs themselves left there


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_run_ends_without_its_folder(processes: Any, tmp_path: Path, is_moved: bool) -> None:
    settings = as_flags(tiny("trpo", iterations=10_000))
    command = ["train", "trpo", "--task", "Reacher-v4", "--run-dir", tmp_path / "run", "--quiet"]
    run = processes.start(*command, *settings)
    wait_for_records(tmp_path / "run", 2)
    if is_moved:
        (tmp_path / "run").rename(tmp_path / "moved")
    else:
        while (tmp_path / "run").exists():
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
    ended = run.wait(20)
    assert ended.code == 74
    assert "No such file" in ended.err or "was deleted or moved" in ended.err
    if is_moved:
        assert not (tmp_path / "run" / "metrics.jsonl").exists()
        assert num_records(tmp_path / "moved") >= 2
