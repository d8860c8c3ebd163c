"""Whoever names a folder of runs where one is wanted is told which runs are in it."""

import os
from pathlib import Path

import pytest
from generated_runs import write_run

from spacil.errors import DataError
from spacil.policies.open import load_policy
from spacil.runs import listing
from spacil.runs.listing import named_runs, runs_inside


def aged_run(path: Path, seconds: int) -> Path:
    """A run that was started so many seconds after the epoch."""
    run = write_run(path)
    os.utime(run / "config.json", (seconds, seconds))
    return run


def test_runs_are_found_at_any_depth_with_the_latest_first(tmp_path: Path) -> None:
    old = aged_run(tmp_path / "gail" / "Hopper-v4" / "seed0", seconds=1)
    new = aged_run(tmp_path / "mine", seconds=2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")  # of another program
    assert runs_inside(tmp_path) == [new, old]


def test_links_are_not_followed(tmp_path: Path) -> None:
    aged_run(tmp_path / "elsewhere" / "run", seconds=1)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    assert not runs_inside(tmp_path / "runs")


def test_a_huge_tree_is_not_searched_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_SEARCHED", 4)
    for i in range(6):
        aged_run(tmp_path / f"{i}", seconds=i)
    assert len(runs_inside(tmp_path)) == 3  # the folder itself was looked at too


def test_long_lists_end_with_a_count(tmp_path: Path) -> None:
    for i in range(7):
        aged_run(tmp_path / f"run{i}", seconds=i)
    lines = named_runs(tmp_path).splitlines()
    assert [Path(line).name for line in lines[1:-1]] == ["run6", "run5", "run4", "run3", "run2"]
    assert lines[-1] == "and 2 more"


@pytest.mark.parametrize("part", ["checkpoints", "checkpoints/best"])
def test_a_part_of_a_run_is_refused_with_the_run(tmp_path: Path, part: str) -> None:
    run = aged_run(tmp_path / "runs" / "gail", seconds=1)
    assert named_runs(run / part) == f"; it is part of a run, name that: {run}"


def test_without_runs_nothing_is_said(tmp_path: Path) -> None:
    assert not named_runs(tmp_path)
    assert not named_runs(tmp_path / "nowhere")


def test_a_policy_of_a_folder_of_runs_is_refused_with_their_names(tmp_path: Path) -> None:
    run = aged_run(tmp_path / "runs" / "gail", seconds=1)
    with pytest.raises(DataError, match="expected a run folder") as refused:
        load_policy(tmp_path / "runs")
    assert str(refused.value).endswith(f"; name one of the runs in it, the latest first:\n{run}")
