"""A process that was taken for dead and is not: it stops, and writes nothing more."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_runs

from spacil.errors import RunDirError
from spacil.runs.checkpoints import checkpoint
from spacil.runs.heartbeat import HEARTBEAT, Silence, beating
from spacil.runs.ownership import FolderLock, TakenOverError, owns, take_away

ITERATIONS = 60
CHECKPOINT_INTERVAL = 10


def job(run_dir: Path) -> "subprocess.Popen[bytes]":
    words = tiny_runs.train_command(
        "gail",
        run_dir,
        iterations=ITERATIONS,
        checkpoint_interval=CHECKPOINT_INTERVAL,
        evaluation_interval=ITERATIONS,
    )
    module = [sys.executable, "-m", "spacil.cli.experiments.job", "0", "1"]
    with (run_dir.parent / "log").open("ab") as log:
        return subprocess.Popen(
            [*module, *map(str, words), "--resume"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "tensorboard" not in path.relative_to(folder).parts
    }


def is_between_checkpoints(run_dir: Path) -> bool:
    """After the first one, and not about to write the next."""
    metrics = run_dir / "metrics.jsonl"
    num_done = metrics.read_bytes().count(b"\n") - 1 if metrics.exists() else 0
    return num_done > CHECKPOINT_INTERVAL and 1 <= num_done % CHECKPOINT_INTERVAL <= 5


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_a_process_that_wakes_up_after_its_run_was_taken_over_writes_nothing(
    tmp_path: Path,
) -> None:
    run_dir = tmp_path / "run"
    with job(run_dir) as sleeper:
        try:
            wait_until(lambda: is_between_checkpoints(run_dir))
            sleeper.send_signal(signal.SIGSTOP)
            with pytest.raises(RunDirError, match="is in use by process"):
                FolderLock(run_dir)
            take_away(run_dir)
            with job(run_dir) as other:
                assert other.wait(200) == 0
            before = content_of(run_dir)
            assert json.loads(before["status.json"])["status"] == "finished"
            sleeper.send_signal(signal.SIGCONT)
            assert sleeper.wait(60) == 73
        finally:
            sleeper.kill()
    assert content_of(run_dir) == before
    assert "was taken over by process" in (tmp_path / "log").read_text()
    lines = before["metrics.jsonl"].splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == list(range(ITERATIONS + 1))


def test_a_checkpoint_of_a_stale_process_never_gets_its_name(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.claim()
    checkpoints = tmp_path / "checkpoints"
    checkpoint.write(checkpoints, 1, {}, {"a": 1}, {}, confirm=lock.require_in_place)
    take_away(tmp_path)
    with pytest.raises(TakenOverError, match="taken for dead; it writes nothing more"):
        checkpoint.write(checkpoints, 2, {}, {"a": 2}, {}, confirm=lock.require_in_place)
    with pytest.raises(TakenOverError, match="was taken over by process"):
        checkpoint.write_best(checkpoints, 2, {}, {"a": 2}, {}, lock.require_in_place)
    assert [path.name for path in checkpoints.glob("iter-*")] == ["iter-000001"]
    assert list(checkpoints.glob("best/iter-*")) == []
    assert (checkpoints / "LATEST").read_text() == "iter-000001\n"
    FolderLock(tmp_path).release()  # the next one need not wait for the stale one to end
    lock.release()


def test_only_the_owner_of_a_folder_beats_and_silence_is_seen(tmp_path: Path) -> None:
    silence = Silence()
    lock = FolderLock(tmp_path)
    lock.claim()
    with beating(tmp_path, seconds=0.05):
        wait_until(lambda: silence.seconds(tmp_path) is not None)
        first = (tmp_path / HEARTBEAT).read_bytes()
        wait_until(lambda: (tmp_path / HEARTBEAT).read_bytes() != first)
        silent = silence.seconds(tmp_path)
        assert silent is not None
        assert silent < 5
        owner = json.loads((tmp_path / "owner.json").read_text())
        (tmp_path / "owner.json").write_text(json.dumps(owner | {"pid": 1, "token": "another"}))
        assert not owns(tmp_path)
        assert silence.seconds(tmp_path) is None  # these beats are not the owner's
        time.sleep(0.2)
        left = (tmp_path / HEARTBEAT).read_bytes()
        time.sleep(0.2)
        assert (tmp_path / HEARTBEAT).read_bytes() == left
    lock.release()


def test_the_clock_of_silence_runs_from_the_last_beat_that_was_seen(tmp_path: Path) -> None:
    silence = Silence()
    assert silence.seconds(tmp_path) is None
    for name in ("owner.json", HEARTBEAT):
        (tmp_path / name).write_text('{"host": "a", "pid": 5, "beat": 1}')
    assert silence.seconds(tmp_path) == 0.0
    time.sleep(0.1)
    silent = silence.seconds(tmp_path)
    assert silent is not None
    assert silent >= 0.1
    (tmp_path / HEARTBEAT).write_text('{"host": "a", "pid": 5, "beat": 2}')
    assert silence.seconds(tmp_path) == 0.0
