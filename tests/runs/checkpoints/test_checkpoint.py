"""A kill at any moment, a full disk and damaged files lose at most the checkpoint being written."""

import contextlib
import hashlib
import json
import logging
import os
import pickle
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from spacil import storage
from spacil.errors import StorageError
from spacil.runs.checkpoints import checkpoint
from spacil.storage import DamagedFileError

SEED = 11
FILES = ("state.safetensors", "state.json", "manifest.json")
LABELS = re.findall(r'failpoint\("(.+?)"\)', Path(checkpoint.__file__).read_text())


def tensors_at(iteration: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(iteration)
    return {
        "policy.weight": torch.randn(16, 8, generator=generator),
        "adam.step": torch.tensor(float(iteration)),
        "stream.action": generator.get_state()[:64],
    }


def document_at(iteration: int) -> dict[str, Any]:
    return {"iteration": iteration, "best": {"value": 0.5, "iteration": iteration}, "seed": SEED}


def write_at(folder: Path, iteration: int, **options: Any) -> Path:
    provenance = {"config": "c" * 64, "demos": None, "software": {"torch": "2"}}
    return checkpoint.write(
        folder, iteration, tensors_at(iteration), document_at(iteration), provenance, **options
    )


def write_best_at(folder: Path, iteration: int) -> Path:
    return checkpoint.write_best(
        folder, iteration, tensors_at(iteration), document_at(iteration), {}
    )


def expected_hash(iteration: int) -> str:
    return storage.content_hash(tensors_at(iteration), document_at(iteration))


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def newest(folder: Path) -> checkpoint.Checkpoint:
    found = checkpoint.newest_valid(folder)
    assert found is not None
    assert found.content_hash == expected_hash(found.iteration)
    return found


def reseal(folder: Path, **changes: Any) -> None:
    """Forge a manifest whose own hash is right, as an attacker or another version would."""
    manifest = json.loads((folder / "manifest.json").read_text()) | changes
    manifest.pop("seal")
    manifest["seal"] = storage.document_hash(manifest)
    (folder / "manifest.json").write_bytes(storage.canonical_json(manifest))


# --- what is written


def test_a_checkpoint_reads_back_bit_for_bit(tmp_path: Path) -> None:
    path = write_at(tmp_path, 120)
    assert path == tmp_path / "iter-000120"
    assert names_in(path) == sorted(FILES)
    found = checkpoint.read(path)
    assert found.iteration == 120
    assert found.document == document_at(120)
    for name, tensor in tensors_at(120).items():
        assert torch.equal(found.tensors[name], tensor)
    assert found.manifest["provenance"]["config"] == "c" * 64


def test_equal_states_give_equal_files_whenever_and_wherever_they_are_written(
    tmp_path: Path,
) -> None:
    one = checkpoint.write(tmp_path / "a", 3, tensors_at(3), document_at(3), {"host": "x"})
    write_at(tmp_path / "b", 2)
    backwards = dict(reversed(tensors_at(3).items()))
    two = checkpoint.write(tmp_path / "b", 3, backwards, document_at(3), {"host": "y"})
    for name in ("state.safetensors", "state.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert checkpoint.read(one).content_hash == checkpoint.read(two).content_hash


def test_the_newest_three_stay_and_each_names_its_parent(tmp_path: Path) -> None:
    for iteration in range(1, 6):
        write_at(tmp_path, iteration)
    assert names_in(tmp_path) == ["LATEST", "iter-000003", "iter-000004", "iter-000005"]
    assert (tmp_path / "LATEST").read_text() == "iter-000005\n"
    assert newest(tmp_path).manifest["parent"] == expected_hash(4)


def test_iterations_are_ordered_as_numbers(tmp_path: Path) -> None:
    for iteration in (999_999, 1_000_000):
        write_at(tmp_path, iteration)
    assert newest(tmp_path).iteration == 1_000_000


def test_writing_the_same_state_again_does_nothing_and_another_is_refused(tmp_path: Path) -> None:
    path = write_at(tmp_path, 1)
    before = {name: (path / name).stat().st_ino for name in FILES}
    write_at(tmp_path, 1)
    assert {name: (path / name).stat().st_ino for name in FILES} == before
    with pytest.raises(StorageError, match="different content"):
        checkpoint.write(tmp_path, 1, tensors_at(2), document_at(1), {})
    assert newest(tmp_path).iteration == 1


def test_a_second_history_in_one_folder_is_refused(tmp_path: Path) -> None:
    write_at(tmp_path, 5)
    with pytest.raises(StorageError, match="holds iter-000005, newer"):
        write_at(tmp_path, 4)


def test_everything_is_on_the_disk_before_the_name_and_the_name_before_the_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def recording_fsync(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        events.append(f"sync {re.sub('-[0-9a-f]{32}', '', name)}")
        fsync(descriptor)

    def recording_rename(source: Any, target: Any) -> None:
        events.append(f"name {Path(target).name}")
        rename(source, target)

    def recording_replace(source: Any, target: Any) -> None:
        events.append(f"name {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", recording_fsync)
    monkeypatch.setattr(os, "rename", recording_rename)
    monkeypatch.setattr(os, "replace", recording_replace)
    write_at(tmp_path, 1)
    assert events == [
        *(f"sync {name}" for name in FILES),
        "sync .stage",
        "name iter-000001",
        f"sync {tmp_path.name}",
        "sync .tmp",
        "name LATEST",
        f"sync {tmp_path.name}",
    ]


# --- kills

WRITER = """
import json, os, signal, sys, time
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import test_checkpoint as cases
from pathlib import Path

def write_many(folder, note, iterations):
    for iteration in range(1, iterations + 1):
        cases.write_at(folder, iteration)
        os.write(note, b"w")
        if iteration % 2 == 0:
            cases.write_best_at(folder, iteration)
            os.write(note, b"b")

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


def acknowledged(folder: Path) -> tuple[int, int]:
    """How many writes, and which best, the child saw done before it died."""
    notes = notes_of(folder)
    text = notes.read_text() if notes.exists() else ""
    return text.count("w"), 2 * text.count("b")


def assert_at_most_one_is_lost_and_the_run_goes_on(folder: Path) -> None:
    num_written, best = acknowledged(folder)
    found, found_best = checkpoint.newest_valid(folder), checkpoint.read_best(folder)
    assert (found.iteration if found else 0) in (num_written, num_written + 1)
    assert (found_best.iteration if found_best else 0) in (best, best + 2)
    for either in (found, found_best):
        assert either is None or either.content_hash == expected_hash(either.iteration)
    write_at(folder, 98)
    write_best_at(folder, 98)
    assert newest(folder).iteration == 98
    leftovers = [name for name in names_in(folder) + names_in(folder / "best") if name[0] == "."]
    assert leftovers == []


@pytest.fixture(scope="module")
def killed_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One folder per failpoint and pass, left by a child that died there."""
    root = tmp_path_factory.mktemp("killed")
    # Passes of one label: write 1, write 2, best 2, write 3, write 4, best 4, ...
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
    assert len(LABELS) == len(set(LABELS)) == 8


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
    assert sum(acknowledged(folder)[0] for folder in folders) > 0
    for folder in folders:
        assert_at_most_one_is_lost_and_the_run_goes_on(folder)


# --- damage


@pytest.mark.parametrize("name", FILES)
def test_a_flip_or_a_cut_anywhere_falls_back_to_the_next_older(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(SEED)
    caplog.set_level(logging.CRITICAL)
    for iteration in (1, 2):
        write_at(tmp_path, iteration)
    victim = tmp_path / "iter-000002"
    whole = (victim / name).read_bytes()
    cuts = [len(whole) * part // 32 for part in range(32)]
    for case in range(150):
        damaged = bytearray(whole)
        if case < len(cuts):
            del damaged[cuts[case] :]
        else:
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        (victim / name).write_bytes(damaged)
        assert newest(tmp_path).iteration == 1
        (corrupt,) = tmp_path.glob(".corrupt-iter-000002-*")
        corrupt.rename(victim)
    (victim / name).write_bytes(whole)
    assert newest(tmp_path).iteration == 2


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_a_link_and_a_folder_in_its_place_are_damage(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_at(tmp_path, 1)
    for iteration in (2, 3, 4):
        path = write_at(tmp_path, iteration, keep=9)
        (path / name).rename(tmp_path / f"moved-{iteration}")
    # The right content, but outside of the folder.
    (tmp_path / "iter-000003" / name).symlink_to(tmp_path / "moved-3")
    (tmp_path / "iter-000004" / name).mkdir()
    assert newest(tmp_path).iteration == 1
    assert sum("set aside damaged" in message for message in caplog.messages) == 3


def test_a_checkpoint_that_is_a_link_a_file_or_misnamed_is_damage(tmp_path: Path) -> None:
    write_at(tmp_path, 1)
    (tmp_path / "iter-000002").symlink_to("iter-000001")
    (tmp_path / "iter-000003").write_bytes(b"")
    shutil.copytree(tmp_path / "iter-000001", tmp_path / "iter-000004")
    assert newest(tmp_path).iteration == 1
    assert len(list(tmp_path.glob(".corrupt-*"))) == 3


def test_when_none_is_valid_the_run_never_starts_from_scratch(tmp_path: Path) -> None:
    for iteration in (1, 2):
        (write_at(tmp_path, iteration) / "state.json").write_bytes(b"{}")
    for _ in range(2):  # the second time only .corrupt-* folders are left
        with pytest.raises(StorageError, match="not restarted from scratch"):
            checkpoint.newest_valid(tmp_path)


def test_none_was_written_only_where_there_is_nothing(tmp_path: Path) -> None:
    assert checkpoint.newest_valid(tmp_path / "missing") is None
    assert checkpoint.read_best(tmp_path / "missing") is None
    (tmp_path / "notes.txt").write_bytes(b"")
    (tmp_path / ".stage-dead").mkdir()
    assert checkpoint.newest_valid(tmp_path) is None


def test_the_hint_is_not_trusted_and_unknown_files_are_ignored(tmp_path: Path) -> None:
    path = write_at(tmp_path, 1)
    (tmp_path / "LATEST").write_bytes(b"\xff/../../etc/passwd")
    (tmp_path / "iter-x").mkdir()
    (path / "notes.txt").write_text("mine")
    assert newest(tmp_path).iteration == 1


# --- refusals that are not damage


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    write_at(tmp_path, 1)
    reseal(write_at(tmp_path, 2), format_version=2)
    with pytest.raises(StorageError, match="version 2, expected 'spacil-checkpoint' version 1"):
        checkpoint.newest_valid(tmp_path)
    assert names_in(tmp_path) == ["LATEST", "iter-000001", "iter-000002"]


@pytest.mark.parametrize(
    "changes",
    [
        {"surprise": 1},
        {"iteration": "1"},
        {"files": {}},
        {"files": {"../../etc/passwd": {"size": 1, "sha256": ""}}},
        {"files": {"state.safetensors": 5, "state.json": 5}},
        {"files": {name: {"size": None, "sha256": ""} for name in FILES[:2]}},
        {"files": {name: {"size": 1, "sha256": ""} for name in FILES}},
        {"parent": 3},
    ],
    ids=repr,
)
def test_a_manifest_with_other_fields_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = write_at(tmp_path, 1)
    reseal(path, **changes)
    with pytest.raises(StorageError, match="unknown to this version"):
        checkpoint.read(path)


class TouchesAFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.system, (f"touch {self.path}",))


def test_a_pickle_with_a_forged_manifest_is_refused_and_does_not_run(tmp_path: Path) -> None:
    path, trace = write_at(tmp_path / "checkpoints", 1), tmp_path / "trace"
    evil = pickle.dumps(TouchesAFile(trace))
    (path / "state.safetensors").write_bytes(evil)
    files = checkpoint.read(write_at(tmp_path / "other", 1)).manifest["files"]
    files["state.safetensors"] = {"size": len(evil), "sha256": hashlib.sha256(evil).hexdigest()}
    reseal(path, files=files)
    with pytest.raises(DamagedFileError, match="not a safetensors file"):
        checkpoint.read(path)
    assert not trace.exists()


# --- a full disk


@contextlib.contextmanager
def file_size_limit(num_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_when_the_disk_takes_no_more_the_old_checkpoint_and_best_stay(tmp_path: Path) -> None:
    write_at(tmp_path, 1)
    write_best_at(tmp_path, 1)
    before = names_in(tmp_path)
    with file_size_limit(64):
        with pytest.raises(StorageError, match=r"cannot write .*state.safetensors.*bytes"):
            write_at(tmp_path, 2)
        with pytest.raises(StorageError, match="cannot write"):
            write_best_at(tmp_path, 2)
    assert names_in(tmp_path) == before
    assert newest(tmp_path).iteration == 1
    best = checkpoint.read_best(tmp_path)
    assert best is not None and best.iteration == 1
    assert write_at(tmp_path, 2).exists()


def test_too_little_space_is_seen_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_at(tmp_path, 1)
    usage = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(StorageError, match=r"[\d,]+ bytes needed, 100 free"):
        write_at(tmp_path, 2)
    assert newest(tmp_path).iteration == 1


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="a file, not a folder"):
        write_at(tmp_path / "file" / "checkpoints", 1)


# --- the best


def test_the_best_is_one_version_that_the_hint_names(tmp_path: Path) -> None:
    for iteration in (10, 20):
        write_best_at(tmp_path, iteration)
    version = f"iter-000020-{expected_hash(20)[:8]}"
    assert names_in(tmp_path / "best") == ["LATEST", version]
    assert names_in(tmp_path / "best" / version) == sorted(FILES)
    best = checkpoint.read_best(tmp_path)
    assert best is not None and best.content_hash == expected_hash(20)
    assert checkpoint.newest_valid(tmp_path) is None


def test_a_run_resumed_from_before_its_best_replaces_it_by_its_own(tmp_path: Path) -> None:
    write_best_at(tmp_path, 20)
    other = checkpoint.write_best(tmp_path, 20, tensors_at(21), document_at(20), {})
    assert names_in(tmp_path / "best") == ["LATEST", other.name]
    earlier = write_best_at(tmp_path, 15)
    assert names_in(tmp_path / "best") == ["LATEST", earlier.name]


@pytest.mark.parametrize("hint", [b"", b"iter-000099-00000000\n", b"\xff\xff", b"x" * 300])
def test_a_best_with_a_broken_hint_is_found_all_the_same(tmp_path: Path, hint: bytes) -> None:
    write_best_at(tmp_path, 10)
    (tmp_path / "best" / "LATEST").write_bytes(hint)
    best = checkpoint.read_best(tmp_path)
    assert best is not None and best.iteration == 10


def test_a_damaged_best_is_reported_and_can_be_written_again(tmp_path: Path) -> None:
    path = write_best_at(tmp_path, 10)
    (path / "state.json").write_bytes(b"")
    write_best_at(tmp_path, 10)
    best = checkpoint.read_best(tmp_path)
    assert best is not None and best.content_hash == expected_hash(10)
    (path / "state.json").write_bytes(b"")
    with pytest.raises(StorageError, match="valid"):
        checkpoint.read_best(tmp_path)
