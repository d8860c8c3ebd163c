"""What a user sees of a sweep at work."""

from pathlib import Path

import pytest
from generated_runs import write_run

from spacil.cli.sweep import Overview
from spacil.sweeps.folder import open_sweep
from spacil.sweeps.plan import Grid


def test_events_are_lines_and_so_is_how_far_all_runs_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = open_sweep(tmp_path / "sweep", [Grid(("gail",), ("Hopper-v4",), (0, 1))], 150)
    first, second = sweep.runs()
    overview = Overview(sweep, [first, second])
    overview.refresh()
    write_run(sweep.run_dir(first), final_return=3210.0)
    overview.report(second, "started \x1b[31m")
    overview.refresh()  # less than a minute later
    overview._next = 0.0
    overview.refresh()
    assert capsys.readouterr().err.splitlines() == [
        "2 runs: 2 waiting",
        "gail/Hopper-v4/default/seed1: started \\x1b[31m",
        "2 runs: 1 waiting, 1 finished",
    ]
