"""What a terminal, a shell or a user's fingers can do to a command."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fixture_types import Spacil, TinyFlags, Train

RUN = "from spacil.cli.main import main; main()"


def test_a_terminal_that_knows_ascii_only_gets_no_traceback(tmp_path: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    finished = subprocess.run(
        [sys.executable, "-c", RUN, "demos", "show", "Reacher-v4"],
        env=os.environ | locale,
        capture_output=True,
        timeout=120,
    )
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert b"executed action a0" in finished.stdout and b"????" in finished.stdout  # of bars


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_refused_and_auto_tells_its_own(train: Train, tmp_path: Path) -> None:
    for device in ("cuda", "cuda:1"):
        refusal = train("trpo", "--run-dir", tmp_path / "run", device=device)
        assert refusal.code == 2
        assert f"--device {device}: no such CUDA device here" in refusal.err
    for device in ("gpu", "mps", "meta"):
        refusal = train("trpo", "--run-dir", tmp_path / "run", device=device)
        assert refusal.code == 2
        assert f"--device is {device}, expected cpu, cuda, cuda:N or auto" in refusal.err
    assert not (tmp_path / "run").exists()
    trained = train("trpo", "--run-dir", tmp_path / "run", iterations=1, device="auto")
    assert trained.code == 0
    assert "no CUDA device here: --device auto is the CPU" in trained.err


@pytest.mark.parametrize(
    ("flag", "value", "expectation"),
    [
        ("--initial-log-std", "nan", "a finite number"),
        ("--max-kl", "-0.01", "above 0"),
        ("--gamma", "1.5", "in (0, 1]"),
        ("--num-envs", "0", "1 or more"),
        ("--policy-hidden", "0", "one or more positive widths"),
        ("--iterations", "0", "1 or more"),
    ],
)
def test_numbers_out_of_range_are_refused_with_the_flag_and_the_range(
    spacil: Spacil, flag: str, value: str, expectation: str
) -> None:
    refusal = spacil("train", "trpo", "--task", "Reacher-v4", flag, value)
    assert refusal.code == 2
    assert f"{flag} is " in refusal.err
    assert f"expected {expectation}" in refusal.err


def test_control_c_outside_of_training_has_no_traceback(processes: Any, finished_run: Path) -> None:
    process = processes.start("evaluate", finished_run, "--episodes", 100_000)
    time.sleep(1)
    process.send(signal.SIGINT)
    stopped = process.wait()
    assert (stopped.code, stopped.err) == (130, "spacil: interrupted\n")


def test_a_signal_within_the_last_iteration_does_not_make_a_finished_run_unfinished(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacil.learning import run

    evaluate_if_due = run.evaluate_if_due

    def evaluate_and_interrupt(learner: Any) -> Any:
        if learner.counters.iteration == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return evaluate_if_due(learner)

    monkeypatch.setattr(run, "evaluate_if_due", evaluate_and_interrupt)
    trained = train("trpo", "--run-dir", tmp_path / "run")
    assert "SIGTERM: saving after this iteration" in trained.err
    assert trained.code == 0
    assert '"finished"' in (tmp_path / "run" / "run.json").read_text()


def test_a_reader_of_the_progress_who_goes_away_does_not_end_the_run(
    processes: Any, tmp_path: Path, tiny_flags: TinyFlags
) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    command = ["train", "trpo", "--task", "Reacher-v4", "--run-dir", tmp_path / "run"]
    process = processes.start(*command, *tiny_flags("trpo", iterations=6), err=tmp_path / "pipe")
    assert select.select([reader], [], [], 60)[0]
    assert os.read(reader, 1000).startswith(b"[0/6] ")
    os.close(reader)
    assert process.wait().code == 0
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes().count(b"\n") == 7


@pytest.mark.parametrize("is_buffered", [True, False])
def test_a_reader_of_the_result_who_goes_away_is_no_error(is_buffered: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    finished = subprocess.run(
        [sys.executable, "-c", RUN, "--help"],
        env=os.environ | {"PYTHONUNBUFFERED": "" if is_buffered else "1"},
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(writing)
    assert (finished.returncode, finished.stderr) == (0, b"")


HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


@pytest.fixture
def on_a_terminal(processes: Any) -> Callable[..., tuple[int, bytes]]:
    """A command with a terminal for its output; its exit code and what the terminal got."""

    def run(*arguments: object) -> tuple[int, bytes]:
        ours, theirs = os.openpty()
        terminal = Path(os.ttyname(theirs))
        process = processes.start(*arguments, out=terminal, err=terminal)
        code = process.wait().code
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that nobody is left there
            while chunk := os.read(ours, 65536):
                shown += chunk
        os.close(ours)
        return code, shown

    return run


def test_a_terminal_shows_a_live_table_and_is_given_back_as_it_was(
    on_a_terminal: Callable[..., tuple[int, bytes]], finished_run: Path, tiny_flags: TinyFlags
) -> None:
    command = ["train", "gail", "--task", "Reacher-v4", "--run-dir", finished_run]
    code, shown = on_a_terminal(*command, *tiny_flags())
    assert code == 73
    assert b"already holds a run" in shown
    assert HIDE_CURSOR not in shown
    code, shown = on_a_terminal(*command, "--resume", *tiny_flags(iterations=4))
    assert code == 0
    assert b"[4/4]" in shown
    assert shown.count(HIDE_CURSOR) == shown.count(SHOW_CURSOR) == 1
