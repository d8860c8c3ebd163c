"""What a user sees of a sweep at work, on a terminal and without one."""

from pathlib import Path

import pytest
from generated_runs import write_run

from spacil.cli.overview import Overview, summary_line
from spacil.sweeps.folder import RunState, open_sweep
from spacil.sweeps.plan import Grid, PlannedRun


def test_the_summary_counts_states_and_tells_the_time_left() -> None:
    runs = [PlannedRun("gail", "Hopper-v4", seed) for seed in range(3)]
    states = {
        runs[0]: RunState("finished", 100, 100, 36.0),
        runs[1]: RunState("running", 0, 100, 36.0),
        runs[2]: RunState("failed", 0, 100),
    }
    line = "3 runs: 1 finished, 1 running, 1 failed"
    assert summary_line(states, 1) == f"{line}; about 1:00:00 left"
    assert summary_line(states, 0) == line


@pytest.mark.parametrize("is_terminal", [False, True])
def test_events_are_lines_and_a_terminal_shows_the_newest_summary(
    is_terminal: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", str(int(is_terminal)))
    sweep = open_sweep(tmp_path / "sweep", [Grid(("gail",), ("Hopper-v4",), (0, 1))], 150)
    first, second = sweep.runs()
    with Overview(sweep, [first, second], jobs=1) as overview:
        write_run(sweep.run_dir(first), final_return=3210.0)
        overview.report(second, "started [bold]")
        overview._next = 0.0
        overview.refresh([second])
    shown = capsys.readouterr().err
    assert "2 runs: 2 waiting\n" in shown
    assert "gail/Hopper-v4/default/seed1: started [bold]\n" in shown  # text, not markup
    assert "2 runs: 1 finished, 1 waiting; about" in shown
    assert ("\x1b" in shown) == is_terminal
