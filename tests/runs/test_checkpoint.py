"""A kill at any moment, a full disk and damaged files lose at most the checkpoint being written."""

import contextlib
import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from spacil import storage
from spacil.errors import StorageError
from spacil.runs import checkpoint
from spacil.runs.checkpoint import BEST, RunState, file_name
from spacil.storage import DamagedFileError

SEED = 11
LABELS = re.findall(r'failpoint\("(.+?)"\)', Path(checkpoint.__file__).read_text())


def state_at(iteration: int, **notes: Any) -> RunState:
    generator = torch.Generator().manual_seed(iteration)
    tensors = {
        "policy.weight": torch.randn(16, 8, generator=generator),
        "adam.num_steps": torch.tensor(float(iteration)),
        "stream.action": generator.get_state()[:64],
    }
    document = {"counters": {"iteration": iteration}, "config": {"seed": SEED}}
    return RunState(tensors, document, notes or {"software": {"torch": "2"}})


def write_at(folder: Path, iteration: int, *, best: bool = False) -> Path:
    return checkpoint.write(folder, iteration, state_at(iteration), is_best=best)


def expected_hash(iteration: int) -> str:
    return storage.content_hash(*state_at(iteration)[:2])


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def newest(folder: Path) -> checkpoint.Checkpoint:
    found = checkpoint.newest(folder)
    assert found.content_hash == expected_hash(found.iteration)
    return found


def best(folder: Path) -> checkpoint.Checkpoint:
    found = checkpoint.best(folder)
    assert found.content_hash == expected_hash(found.iteration)
    return found


def test_a_checkpoint_is_one_file_that_reads_back_bit_for_bit(tmp_path: Path) -> None:
    path = write_at(tmp_path, 120)
    assert names_in(tmp_path) == [path.name] == ["iter-000120.safetensors"]
    found, state = checkpoint.read(path), state_at(120)
    assert (found.iteration, found.document, found.notes) == (120, state.document, state.notes)
    for name, tensor in state.tensors.items():
        assert torch.equal(found.tensors[name], tensor)
    assert safetensors.torch.load_file(path).keys() == found.tensors.keys()


def test_equal_states_have_equal_hashes_whenever_and_wherever_written(tmp_path: Path) -> None:
    one = checkpoint.write(tmp_path / "a", 3, state_at(3, host="x"))
    write_at(tmp_path / "b", 2)
    backwards = state_at(3, host="y")._replace(tensors=dict(reversed(state_at(3).tensors.items())))
    two = checkpoint.write(tmp_path / "b", 3, backwards)
    assert checkpoint.read(one).content_hash == checkpoint.read(two).content_hash
    assert checkpoint.read(two).notes == {"host": "y"}
    again = checkpoint.write(tmp_path / "c", 3, state_at(3, host="x"))
    assert again.read_bytes() == one.read_bytes()


def test_the_newest_three_stay_ordered_as_numbers(tmp_path: Path) -> None:
    for iteration in range(999_997, 1_000_002):
        write_at(tmp_path, iteration)
    kept = (999_999, 1_000_000, 1_000_001)
    assert set(names_in(tmp_path)) == {file_name(iteration) for iteration in kept}
    assert newest(tmp_path).iteration == 1_000_001


def test_the_best_is_one_file_written_after_the_checkpoint(tmp_path: Path) -> None:
    for iteration in (10, 20):
        write_at(tmp_path, iteration, best=True)
    write_at(tmp_path, 30)
    assert (best(tmp_path).iteration, newest(tmp_path).iteration) == (20, 30)
    moments = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert moments[file_name(20)] <= moments[BEST] <= moments[file_name(30)]


WRITER = """
import json, os, signal, sys, time
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import test_checkpoint as cases
from pathlib import Path

def write_many(folder, note, iterations):
    for iteration in range(1, iterations + 1):
        cases.write_at(folder, iteration, best=iteration % 2 == 0)
        os.write(note, b"w")

for case in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ.update(case["environment"])
            folder = Path(case["folder"])
            note = os.open(cases.notes_of(folder), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            write_many(folder, note, case["iterations"])
            code = 0
        finally:
            os._exit(code)
    if case["kill_after"] is not None:
        # From when the child writes, however busy the machine; half of them past the first one.
        notes, is_late = cases.notes_of(Path(case["folder"])), case["kill_after"] > 0.05
        while not notes.exists() or (is_late and not notes.stat().st_size):
            time.sleep(0.001)
        time.sleep(case["kill_after"])
        os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def run_writers(cases: list[dict[str, Any]]) -> list[int]:
    """Each case writes in a child process of its own; torch is imported once for all of them."""
    finished = subprocess.run(
        [sys.executable, "-c", WRITER, __file__],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return [int(line) for line in finished.stdout.split()]


def notes_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.notes")


def assert_at_most_one_is_lost_and_the_run_goes_on(folder: Path) -> None:
    notes = notes_of(folder)
    num_written = len(notes.read_text()) if notes.exists() else 0
    found, found_best = checkpoint.newest(folder), checkpoint.best(folder)
    reached = found.iteration if found else 0
    assert reached in (num_written, num_written + 1)
    # The best is never ahead of the checkpoint, and at most the one of this iteration is missing.
    best_iteration = found_best.iteration if found_best else 0
    assert best_iteration in (reached // 2 * 2, (reached - 1) // 2 * 2)
    for either in (found, found_best):
        assert either is None or either.content_hash == expected_hash(either.iteration)
    write_at(folder, 98, best=True)
    assert newest(folder).iteration == best(folder).iteration == 98


@pytest.fixture(scope="module")
def killed_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder per failpoint and pass, left by a child that died there."""
    root = tmp_path_factory.mktemp("killed")
    specs = [f"{label}:{count}" for label in LABELS for count in (1, 2, 3, 6)]
    folders = {spec: root / spec.replace(":", "-") for spec in specs}
    codes = run_writers(
        [
            {
                "folder": str(folder),
                "environment": {"SPACIL_FAILPOINT": spec},
                "iterations": 12,
                "kill_after": None,
            }
            for spec, folder in folders.items()
        ]
    )
    assert codes == [-9] * len(specs)
    return folders


def test_every_stage_of_a_write_has_a_failpoint() -> None:
    assert len(LABELS) == len(set(LABELS)) == 5


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("label", LABELS)
def test_a_kill_at_each_stage_loses_at_most_the_checkpoint_being_written(
    killed_folders: dict[str, Path], label: str, count: int
) -> None:
    assert_at_most_one_is_lost_and_the_run_goes_on(killed_folders[f"{label}:{count}"])


def test_kills_at_random_times_lose_at_most_the_checkpoint_being_written(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    folders = [tmp_path / f"run{number}" for number in range(40)]
    codes = run_writers(
        [
            {
                "folder": str(folder),
                "environment": {},
                "iterations": 10_000,
                "kill_after": chance.uniform(0.001, 0.1),
            }
            for folder in folders
        ]
    )
    assert codes == [-9] * len(folders)
    assert sum(len(notes_of(folder).read_text()) for folder in folders) > 0
    for folder in folders:
        assert_at_most_one_is_lost_and_the_run_goes_on(folder)


def test_a_best_that_is_replaced_while_it_is_read_is_always_found(tmp_path: Path) -> None:
    writer = os.fork()
    if writer == 0:
        with contextlib.suppress(BaseException):
            for iteration in range(1, 100_000):
                checkpoint.write_best(tmp_path, state_at(iteration))
        os._exit(0)
    try:
        while checkpoint.best(tmp_path) is None:
            time.sleep(0.001)
        for _ in range(300):
            assert best(tmp_path).iteration > 0
    finally:
        os.kill(writer, 9)
        os.waitpid(writer, 0)


def test_any_flip_or_cut_falls_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(SEED)
    caplog.set_level(logging.CRITICAL)
    for iteration in (1, 2):
        write_at(tmp_path, iteration)
    victim = tmp_path / file_name(2)
    whole = victim.read_bytes()
    for case in range(200):
        damaged = bytearray(whole)
        if case < 40:
            del damaged[len(whole) * case // 40 :]
        else:
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        victim.write_bytes(damaged)
        assert newest(tmp_path).iteration == 1
    victim.write_bytes(whole)
    assert newest(tmp_path).iteration == 2


def test_folders_and_others_are_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_at(tmp_path, 1)
    (tmp_path / file_name(3)).mkdir()
    (tmp_path / file_name(4)).write_bytes(b"")
    shutil.copy(tmp_path / file_name(1), tmp_path / file_name(5))
    before = names_in(tmp_path)
    assert newest(tmp_path).iteration == 1
    assert sum("damaged checkpoint" in message for message in caplog.messages) == 3
    assert names_in(tmp_path) == before


def test_when_none_is_valid_the_run_never_starts_from_scratch(tmp_path: Path) -> None:
    for iteration in (1, 2):
        write_at(tmp_path, iteration).write_bytes(b"{}")
    with pytest.raises(StorageError, match="not restarted from scratch"):
        checkpoint.newest(tmp_path)


def test_none_was_written_only_where_there_is_nothing(tmp_path: Path) -> None:
    assert checkpoint.newest(tmp_path / "missing") is None
    assert checkpoint.best(tmp_path / "missing") is None
    for name in ("notes.txt", "iter-x.safetensors", ".tmp-dead"):
        (tmp_path / name).write_bytes(b"")
    assert checkpoint.newest(tmp_path) is None


def test_a_damaged_best_is_refused_and_can_be_written_again(tmp_path: Path) -> None:
    write_at(tmp_path, 10, best=True)
    (tmp_path / BEST).write_bytes(b"")
    with pytest.raises(DamagedFileError, match=BEST):
        checkpoint.best(tmp_path)
    write_at(tmp_path, 11, best=True)
    assert best(tmp_path).iteration == 11


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    tensors, document, notes = state_at(1)
    path = tmp_path / file_name(1)
    storage.save_sealed(path, tensors, document, checkpoint.FORMAT, 2, notes)
    with pytest.raises(StorageError, match="format version 2, this spacil reads 1"):
        checkpoint.read(tmp_path / file_name(1))


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="Not a directory"):
        write_at(tmp_path / "file" / "checkpoints", 1)
