"""What a user sees of a sweep at work, on a terminal and without one."""

from pathlib import Path

import pytest
from generated_runs import write_run

from spacil.cli.overview import Overview, summary_line
from spacil.sweeps.folder import RunState, SweepFolder, open_sweep
from spacil.sweeps.plan import Grid, PlannedRun


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    """One finished run, one that waits."""
    found = open_sweep(tmp_path / "sweep", [Grid(("gail",), ("Hopper-v4",), (0, 1))], 150)
    write_run(found.run_dir(found.runs()[0]), final_return=3210.0)
    return found


def test_the_summary_counts_states_on_each_machine_and_tells_the_time_left() -> None:
    runs = [PlannedRun("gail", "Hopper-v4", seed) for seed in range(3)]
    states = {
        runs[0]: RunState("finished", 100, 100, 36.0),
        runs[1]: RunState("running", 0, 100, 36.0),
        runs[2]: RunState("failed", 0, 100),
    }
    line = "3 runs: 1 finished, 1 running, 1 failed"
    assert summary_line(states, 1) == f"{line}; about 1:00:00 left"
    assert summary_line(states, 0) == line
    states = {r: RunState("running", host=host) for r, host in zip(runs, "bab", strict=True)}
    assert summary_line(states, 0) == "3 runs: 3 running (a 1, b 2)"
    del states[runs[1]]
    assert summary_line(states, 0) == "2 runs: 2 running"


def test_without_a_terminal_events_are_lines(
    sweep: SweepFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    with Overview(sweep, sweep.runs(), jobs=1, is_live=False) as overview:
        overview.report(sweep.runs()[1], "started")
        overview.refresh(sweep.runs()[1:])
    assert capsys.readouterr().err.splitlines() == [
        "2 runs: 1 finished, 1 waiting",
        "gail/Hopper-v4/default/seed1: started",
    ]


def test_on_a_terminal_every_active_run_has_a_row(
    sweep: SweepFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    first, second = sweep.runs()
    with Overview(sweep, [first, second], jobs=1, is_live=True) as overview:
        overview.report(second, "started [bold]")
        overview.refresh([first])
    shown = capsys.readouterr().err
    assert "gail/Hopper-v4/default/seed1: started [bold]" in shown  # text, not markup
    assert "gail/Hopper-v4/default/seed0" in shown
    assert "G 3210.0" in shown
    assert "2 runs: 1 finished, 1 waiting; about" in shown
