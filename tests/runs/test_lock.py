"""One process holds a folder; one that was taken for lost and is not stops and writes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny_runs

from spacil.errors import RunDirError, StorageError
from spacil.runs import checkpoint
from spacil.runs.checkpoint import RunState
from spacil.runs.lock import LOCK, FolderLock, TakenOverError, is_held, owner_of, seize

ITERATIONS = 60
CHECKPOINT_INTERVAL = 10


def state_at(iteration: int) -> RunState:
    return RunState({}, {"counters": {"iteration": iteration}}, {})


def test_a_folder_is_held_once_and_names_its_holder(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "missing")
    lock = FolderLock(tmp_path)
    lock.claim()
    assert is_held(tmp_path)
    with pytest.raises(RunDirError, match=f"in use by process {os.getpid()} on .*, started 20"):
        FolderLock(tmp_path)
    lock.release()
    assert not is_held(tmp_path)
    (tmp_path / LOCK).write_bytes(b"\xff\x1b")
    assert owner_of(tmp_path) == "another process"


def test_a_checkpoint_of_a_stale_process_never_gets_its_name(tmp_path: Path) -> None:
    lock, checkpoints = FolderLock(tmp_path), tmp_path / "checkpoints"
    checkpoint.write(checkpoints, 1, state_at(1), confirm=lock.require_in_place)
    seize(tmp_path)
    with pytest.raises(TakenOverError, match=f"taken over by process {os.getpid()}"):
        lock.require_in_place()
    other = FolderLock(tmp_path)  # which need not wait for the stale one to end
    other.claim()
    for write in (
        lambda: checkpoint.write(checkpoints, 2, state_at(2), confirm=lock.require_in_place),
        lambda: checkpoint.write_best(checkpoints, state_at(2), lock.require_in_place),
    ):
        with pytest.raises(TakenOverError, match="was taken over by process"):
            write()
    assert [path.name for path in checkpoints.iterdir()] == ["iter-000001.safetensors"]
    other.require_in_place()
    (tmp_path / LOCK).unlink()
    with pytest.raises(StorageError, match="deleted or moved while the run was going on"):
        other.require_in_place()
    for either in (lock, other):
        either.release()


def job(run_dir: Path) -> "subprocess.Popen[bytes]":
    words = tiny_runs.train_command(
        "gail",
        run_dir,
        iterations=ITERATIONS,
        checkpoint_interval=CHECKPOINT_INTERVAL,
        evaluation_interval=ITERATIONS,
    )
    module = [sys.executable, "-m", "spacil.cli.job", "0", "1"]
    with (run_dir.parent / "log").open("ab") as log:
        return subprocess.Popen(
            [*module, *map(str, words), "--resume"], stdin=subprocess.PIPE, stdout=log, stderr=log
        )


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "tensorboard" not in path.relative_to(folder).parts
    }


def test_a_process_that_wakes_up_after_a_take_over_writes_nothing(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    metrics = run_dir / "metrics.jsonl"
    with job(run_dir) as sleeper:
        try:
            deadline, num_done = time.monotonic() + 120, 0
            while not (num_done > 10 and 1 <= num_done % CHECKPOINT_INTERVAL <= 5):
                assert time.monotonic() < deadline, "waited in vain"
                time.sleep(0.05)
                num_done = metrics.read_bytes().count(b"\n") - 1 if metrics.exists() else 0
            sleeper.send_signal(signal.SIGSTOP)
            with pytest.raises(RunDirError, match="is in use by process"):
                FolderLock(run_dir)
            seize(run_dir)
            with job(run_dir) as other:
                assert other.wait(200) == 0
            before = content_of(run_dir)
            assert json.loads(before["run.json"])["status"] == "finished"
            sleeper.send_signal(signal.SIGCONT)
            assert sleeper.wait(60) == 73
        finally:
            sleeper.kill()
    assert content_of(run_dir) == before
    assert "was taken over by process" in (tmp_path / "log").read_text()
    lines = before["metrics.jsonl"].splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == list(range(ITERATIONS + 1))
