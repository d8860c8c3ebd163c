"""The best policy is never one of an iteration that was lost."""

from pathlib import Path

import pytest

from spacil.errors import RunDirError
from spacil.runs import snapshot
from spacil.runs.checkpoints import checkpoint
from spacil.runs.checkpoints.saving import repair, write_state
from spacil.runs.ownership import Confirm, unchallenged


def save(
    folder: Path, iteration: int, *, best: bool, due: bool, confirm: Confirm = unchallenged
) -> None:
    state = ({}, {"iteration": iteration}, {})
    write_state(folder, iteration, state, is_best=best, is_due=due, confirm=confirm)


def best_of(folder: Path) -> int:
    found = checkpoint.read_best(folder)
    assert found is not None
    return found.iteration


def num_bests(folder: Path) -> int:
    return len(list((folder / "best").glob("iter-*")))


@pytest.fixture
def ahead(tmp_path: Path) -> Path:
    """A best of iteration 4, where the newest checkpoint is of iteration 2."""
    save(tmp_path, 1, best=True, due=True)
    save(tmp_path, 2, best=False, due=True)
    for iteration in (3, 4):
        save(tmp_path, iteration, best=True, due=False)
    return tmp_path


def test_a_later_best_and_the_one_to_return_to_are_kept(ahead: Path) -> None:
    assert best_of(ahead) == 4
    assert num_bests(ahead) == 2


def test_a_resume_returns_to_the_best_as_of_its_checkpoint(ahead: Path) -> None:
    repair(ahead, 2)
    assert best_of(ahead) == 1
    assert num_bests(ahead) == 1


def test_when_the_checkpoint_has_come_as_far_one_best_is_left(ahead: Path) -> None:
    save(ahead, 5, best=False, due=True)
    assert best_of(ahead) == 4
    assert num_bests(ahead) == 1
    repair(ahead, 5)
    assert best_of(ahead) == 4


def test_a_best_computed_again_replaces_the_lost_one(ahead: Path) -> None:
    repair(ahead, 2)
    save(ahead, 3, best=False, due=True)
    save(ahead, 4, best=False, due=True)
    assert best_of(ahead) == 1


def test_a_folder_with_none_but_a_later_best_keeps_it(tmp_path: Path) -> None:
    """As a version that kept no other left it."""
    save(tmp_path, 1, best=False, due=True)
    save(tmp_path, 2, best=True, due=False)
    repair(tmp_path, 1)
    assert best_of(tmp_path) == 2


def test_a_damaged_hint_deletes_no_best(ahead: Path) -> None:
    (ahead / "best" / "LATEST").write_bytes(b"\xff")
    save(ahead, 5, best=False, due=True)
    assert best_of(ahead) == 4


def test_a_run_that_was_taken_over_deletes_nothing(ahead: Path) -> None:
    def refuse() -> None:
        raise RunDirError("taken over")

    with pytest.raises(RunDirError, match="taken over"):
        save(ahead, 5, best=True, due=True, confirm=refuse)
    assert num_bests(ahead) == 2


def test_a_snapshot_holds_the_best_as_of_its_checkpoint(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    save(ours / "checkpoints", 1, best=True, due=True)
    save(ours / "checkpoints", 2, best=True, due=False)
    snapshot.put(theirs, snapshot.take(ours))
    assert best_of(theirs / "checkpoints") == 1
