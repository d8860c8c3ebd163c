"""A run folder as bytes, and back: the same run goes on from it."""

from pathlib import Path

import pytest

from spacil.errors import StorageError
from spacil.runs import snapshot
from spacil.runs.checkpoints import checkpoint


def write_checkpoints(run_dir: Path, *iterations: int) -> None:
    for iteration in iterations:
        state = ({}, {"iteration": iteration}, {})
        checkpoint.write(run_dir / "checkpoints", iteration, *state)
        checkpoint.write_best(run_dir / "checkpoints", iteration, *state)


def test_a_snapshot_holds_the_newest_checkpoint_and_makes_the_same_folder(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    write_checkpoints(ours, 1, 2)
    for name in ("metrics.jsonl", "config.json", "run.lock", "owner.json", "heartbeat.json"):
        (ours / name).write_text(name)
    taken = snapshot.take(ours)
    assert {"metrics.jsonl", "config.json"} <= taken.keys()
    assert not {"run.lock", "owner.json", "heartbeat.json"} & taken.keys()
    snapshot.put(theirs, taken)
    assert snapshot.take(theirs) == taken
    for read in (checkpoint.newest_valid, checkpoint.read_best):
        found = read(theirs / "checkpoints")
        assert found is not None
        assert found.iteration == 2


def test_only_changes_travel_and_old_checkpoints_are_pruned(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    (ours / "checkpoints").mkdir(parents=True)
    (ours / "config.json").write_text("{}")
    known: dict[str, bytes] = {}
    for iteration in range(1, 7):
        write_checkpoints(ours, iteration)
        now = snapshot.take(ours)
        changed = snapshot.changes(known, now)
        assert ("config.json" in changed) == (iteration == 1)
        snapshot.put(theirs, changed)
        snapshot.put(theirs, changed)  # a message that comes twice changes nothing
        known = now
    names = sorted(path.name for path in (theirs / "checkpoints").glob("iter-*"))
    assert names == ["iter-000004", "iter-000005", "iter-000006"]
    assert len(list((theirs / "checkpoints" / "best").glob("iter-*"))) == 1


@pytest.mark.parametrize("name", ["../status.json", "/etc/x", "a/b", "checkpoints/../x", ".hidden"])
def test_a_name_that_is_none_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match="is no file of a run: nothing was written"):
        snapshot.put(tmp_path / "run", {"config.json": b"{}", name: b"x"})
    assert not (tmp_path / "run").exists()


def test_no_run_is_an_empty_snapshot(tmp_path: Path) -> None:
    assert snapshot.take(tmp_path / "nowhere") == {}
