"""A machine that has no more to give, or stops giving: disk, memory, permission, time."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kill_campaign import num_records, wait_for_records
from tiny_runs import as_flags, tiny, train_command

from spacil.runs import checkpoint

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    path = Path(tempfile.mkdtemp(prefix="spacil-faults-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def disk(folder: Path) -> Iterator[Callable[[str], Path]]:
    """A real file system of its own, mounted with options; given again, they replace the former."""
    place = folder / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        remount = "remount," if os.path.ismount(place) else ""
        command = ["mount", "-t", "tmpfs", "-o", f"{remount}{options}", "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip("this user may not mount a file system")
        return place

    yield mount
    if os.path.ismount(place):
        subprocess.run(["umount", str(place)], check=True)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_full_disk_costs_nothing_that_was_saved_and_the_run_goes_on_with_more_room(
    processes: Any, disk: Callable[[str], Path], state_of: Callable[[Path], Any], tmp_path: Path
) -> None:
    run_dir = disk("size=224k") / "run"
    full = processes.run(*train_command("gail", run_dir), "--resume")
    assert full.code == 74
    assert "No space left on device; free some space and run the command again" in full.err
    saved = checkpoint.newest(run_dir / "checkpoints")
    assert saved is not None and 0 < saved.iteration < 8
    assert not any(name.startswith(".") for name in names_in(run_dir / "checkpoints"))
    disk("size=16m")
    assert processes.run(*train_command("gail", run_dir), "--resume").code == 0
    assert processes.run(*train_command("gail", tmp_path / "calm")).code == 0
    assert state_of(run_dir) == state_of(tmp_path / "calm")


def test_a_limit_on_the_size_of_files_ends_the_run_and_lifting_it_lets_it_go_on(
    processes: Any, state_of: Callable[[Path], Any], tmp_path: Path
) -> None:
    command = train_command("gail", tmp_path / "run")
    limited = processes.run(*command, "--resume", limits={"RLIMIT_FSIZE": 30_000})
    assert limited.code == 74
    assert "File too large; free some space" in limited.err
    assert not list((tmp_path / "run" / "checkpoints").rglob(".stage-*"))
    assert processes.run(*command, "--resume").code == 0
    assert processes.run(*train_command("gail", tmp_path / "calm")).code == 0
    assert state_of(tmp_path / "run") == state_of(tmp_path / "calm")


def test_running_out_of_memory_names_the_batch_and_is_75(processes: Any, tmp_path: Path) -> None:
    command = train_command("trpo", tmp_path / "run", steps_per_iteration=500_000_000)
    starved = processes.run(*command, limits={"RLIMIT_AS": 2**29})
    assert starved.code == 75
    assert "out of memory with batches of" in starved.err
    assert "batches of 500,000,000 steps in 10 envs on cpu" in starved.err
    status = json.loads((tmp_path / "run" / "run.json").read_text())
    assert status["status"] == "failed" and "out of memory" in status["reason"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_of_others_is_refused_soon(processes: Any, folder: Path, tmp_path: Path) -> None:
    (folder / "theirs").mkdir(mode=0o755)
    for place in ("theirs", "theirs/run", "new"):
        started = time.monotonic()
        refusal = processes.run(*train_command("trpo", folder / place), user=NOBODY)
        assert refusal.code == 73
        assert "Permission denied; check the path" in refusal.err
        assert time.monotonic() - started < 5
    assert names_in(folder) == {"theirs"} and names_in(folder / "theirs") == set()


def test_a_read_only_disk_is_refused_and_what_is_on_it_can_be_read(
    processes: Any, disk: Callable[[str], Path], finished_run: Path
) -> None:
    place = disk("size=16m")
    shutil.copytree(finished_run, place / "run")
    disk("ro")
    for where in ("run", "new"):
        refusal = processes.run(*train_command("gail", place / where), "--resume")
        assert refusal.code == 73
        assert "Read-only file system; check the path" in refusal.err
    assert processes.run("evaluate", place / "run", "--episodes", 1).code == 0


def test_an_env_that_aborts_the_process_costs_one_iteration_at_most(
    processes: Any, odd_task: Callable[[str], str], tmp_path: Path
) -> None:
    # Every start does the first half of its episodes, saves, and aborts in the second.
    settings = tiny("trpo", steps_per_iteration=100, iterations=10, evaluation_interval=100)
    command = ["train", "trpo", "--task", odd_task("Aborts"), "--run-dir", tmp_path / "run"]
    for start in (1, 2):
        aborted = processes.run(*command, "--resume", *as_flags(settings))
        assert aborted.code == -signal.SIGABRT
        saved = checkpoint.newest(tmp_path / "run" / "checkpoints")
        assert saved is not None and saved.iteration == start


def test_a_process_put_to_sleep_keeps_its_folder_and_goes_on_when_woken(
    processes: Any, state_of: Callable[[Path], Any], tmp_path: Path
) -> None:
    command = train_command("gail", tmp_path / "run")
    asleep = processes.start(*command)
    with contextlib.ExitStack() as stack:
        stack.callback(asleep.send, signal.SIGCONT)
        wait_for_records(tmp_path / "run", 2)
        asleep.send(signal.SIGSTOP)
        refusal = processes.run(*command, "--resume")
        assert refusal.code == 73
        assert f"is in use by process {asleep.number} on" in refusal.err
    assert asleep.wait().code == 0
    assert num_records(tmp_path / "run") == 8
    assert processes.run(*train_command("gail", tmp_path / "calm")).code == 0
    assert state_of(tmp_path / "run") == state_of(tmp_path / "calm")
