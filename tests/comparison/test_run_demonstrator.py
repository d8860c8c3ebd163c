"""Whose episodes a run learned from, and when it came to their return."""

from pathlib import Path

import pytest
from generated_runs import write_run

from rows import numbers_of
from spacil.comparison.comparison import compare
from spacil.comparison.demonstrator import Demonstrator, demonstrator_of
from spacil.comparison.run_demonstrator import demonstrator_of_run, time_to_95
from spacil.comparison.run_record import read_run

UNKNOWN = {"steps_to_95": None, "seconds_to_95": None}


@pytest.fixture
def known() -> Demonstrator:
    found = demonstrator_of("Hopper-v4")
    assert found is not None
    return found


def test_a_run_that_had_other_episodes_has_no_known_demonstrator(
    tmp_path: Path, known: Demonstrator
) -> None:
    final = 2 * known.average_return
    own = read_run(write_run(tmp_path / "own", final_return=final))
    other = read_run(write_run(tmp_path / "other", final_return=final, frame="e" * 64))
    silent = read_run(write_run(tmp_path / "silent", final_return=final, frame=""))
    assert demonstrator_of_run(own) is known
    assert demonstrator_of_run(silent) is known
    assert demonstrator_of_run(other) is None
    assert time_to_95(silent, 0.0) == time_to_95(own, 0.0) != UNKNOWN
    assert time_to_95(other, 0.0) == UNKNOWN


def test_the_time_is_that_of_the_first_evaluation_at_95_percent_from_random_actions(
    tmp_path: Path, known: Demonstrator
) -> None:
    # A tenth of the demonstrator's return at every evaluation: 90 % at iteration 18, all at 20.
    run = read_run(write_run(tmp_path / "a", final_return=known.average_return))
    # An iteration takes half a second, every second one an evaluation of one more.
    last = {"steps_to_95": 2000.0, "seconds_to_95": 20 * 0.5 + 10 * 1.0}
    assert time_to_95(run, 0.0) == time_to_95(run, None) == last
    # Where random actions earn less than nothing, 90 % of the return is a share of above 0.95.
    assert time_to_95(run, -2 * known.average_return)["steps_to_95"] == 1800.0


def test_a_run_that_never_gets_there_has_no_time(tmp_path: Path) -> None:
    assert time_to_95(read_run(write_run(tmp_path / "a", final_return=100.0)), 0.0) == UNKNOWN


def test_comparisons_and_named_experiments_tell_the_same_time(
    tmp_path: Path, known: Demonstrator
) -> None:
    path = write_run(tmp_path / "a", final_return=2 * known.average_return)
    (row,) = compare(tmp_path).rows
    compared, numbers = row.runs[0].values, numbers_of(read_run(path), "best")
    assert compared["steps_to_95"] == numbers["steps_to_95"] == 1000.0
    assert compared["seconds_to_95"] == numbers["seconds_to_95"] == 10.0
