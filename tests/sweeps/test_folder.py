"""The states of a sweep's runs, as their folders tell them."""

import json
import os
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from fixture_types import Spacil
from generated_runs import write_run

from spacil.errors import RunDirError, StorageError
from spacil.runs.facts import read_run
from spacil.runs.facts import write_run as write_facts
from spacil.sweeps.folder import RunState, SweepFolder, open_sweep, read_sweep, sweep_with
from spacil.sweeps.plan import Grid, assignment, planned_runs

GRID = Grid(("gail",), ("Hopper-v4",), (0, 1), (assignment("iterations=20"),))
RUN = planned_runs([GRID])[0]


@pytest.fixture
def sweep(tmp_path: Path) -> SweepFolder:
    return open_sweep(tmp_path / "sweep", [GRID], 150)


def owned_by(sweep: SweepFolder, pid: int, host: str) -> RunState:
    """A run that says running, of some process."""
    run_dir = write_run(sweep.run_dir(RUN))
    write_facts(replace(read_run(run_dir), status="running"))
    (run_dir / "run.lock").write_text(f"process {pid} on {host}, started today\n")
    return sweep.state(RUN)


def test_a_run_without_a_folder_waits(sweep: SweepFolder) -> None:
    assert sweep.state(RUN) == RunState("waiting", iterations=20)


def test_a_finished_run_shows_how_far_it_came(sweep: SweepFolder) -> None:
    write_run(sweep.run_dir(RUN), final_return=3000.0)
    state = sweep.state(RUN)
    assert (state.state, state.iteration, state.iterations) == ("finished", 20, 20)
    assert state.average_return == 3000.0
    assert state.seconds_per_iteration == pytest.approx(1.0)  # 0.5, and 1 every other time


def test_a_run_without_enough_fresh_episodes_is_only_trained(sweep: SweepFolder) -> None:
    write_run(sweep.run_dir(RUN), fresh=None)
    assert sweep.state(RUN).state == "trained"
    assert SweepFolder(sweep.path, sweep.grids, 0).state(RUN).state == "finished"
    more = SweepFolder(sweep.path, sweep.grids, 151)
    write_run(more.run_dir(more.runs()[1]), seed=1)
    assert more.state(more.runs()[1]).state == "trained"


@pytest.mark.parametrize(
    ("pid", "host", "state", "told"),
    [
        (os.getpid(), socket.gethostname(), "running", f"process {os.getpid()} on "),
        (2**22 + 1, socket.gethostname(), "interrupted", ""),
        (1, "elsewhere", "running", "process 1 on elsewhere, last heard of"),
    ],
    ids=["alive", "dead", "elsewhere"],
)
def test_a_run_is_running_while_its_process_may_live(
    sweep: SweepFolder, pid: int, host: str, state: str, told: str
) -> None:
    found = owned_by(sweep, pid, host)
    assert (found.state, told in found.reason) == (state, True)


def test_a_failure_stays_listed_until_it_is_tried_again(sweep: SweepFolder) -> None:
    sweep.record_failure(RUN, 70, "diverged")
    assert sweep.state(RUN) == RunState("failed", iterations=20, reason="diverged")
    sweep.forget_failure(RUN)
    sweep.forget_failure(RUN)
    assert sweep.state(RUN).state == "waiting"


def test_a_finished_folder_outweighs_a_failure(sweep: SweepFolder) -> None:
    sweep.record_failure(RUN, 70, "diverged")
    write_run(sweep.run_dir(RUN))  # finished by hand since
    os.utime(sweep.failure(RUN), (0, 0))
    assert sweep.state(RUN).state == "finished"
    assert SweepFolder(sweep.path, sweep.grids, 151).state(RUN).state == "trained"


def test_a_failure_of_fresh_episodes_is_one_although_the_run_is_trained(sweep: SweepFolder) -> None:
    write_run(sweep.run_dir(RUN), fresh=None)
    sweep.record_failure(RUN, 65, "no such demonstrations")
    state = sweep.state(RUN)
    assert (state.state, state.reason) == ("failed", "no such demonstrations")


def test_a_failed_run_that_somebody_went_on_with_is_told_by_its_folder(sweep: SweepFolder) -> None:
    owned_by(sweep, os.getpid(), socket.gethostname())
    sweep.record_failure(RUN, -9, "killed")
    assert sweep.state(RUN).state == "failed"
    facts = read_run(sweep.run_dir(RUN))
    write_facts(replace(facts, status="interrupted", reason="SIGINT"))
    os.utime(sweep.failure(RUN), (0, 0))
    assert (sweep.state(RUN).state, sweep.state(RUN).reason) == ("interrupted", "SIGINT")


def test_a_damaged_folder_is_a_failure_with_its_name(sweep: SweepFolder) -> None:
    run_dir = write_run(sweep.run_dir(RUN))
    (run_dir / "run.json").write_text("{")
    state = sweep.state(RUN)
    assert state.state == "failed"
    assert "run.json" in state.reason


@pytest.mark.parametrize("value", ["12.5", True, [1], {"a": 1}])
@pytest.mark.parametrize("name", ["average_return", "seconds_policy"])
def test_a_damaged_value_is_named_and_the_other_runs_stand(
    sweep: SweepFolder, spacil: Spacil, name: str, value: object
) -> None:
    for run in sweep.runs():
        path = write_run(sweep.run_dir(run), seed=run.seed) / "metrics.jsonl"
    path.write_text(
        re.sub(rf'("{name}": )[-\d.e]+', rf"\g<1>{json.dumps(value)}", path.read_text())
    )
    shown = spacil("sweep", "status", sweep.path, "--json")
    assert shown.code == 3
    assert shown.result["states"] == {"finished": 1, "failed": 1}
    (failed,) = [run for run in shown.result["runs"] if run["state"] == "failed"]
    assert f"{path}: {name} is {value!r}, expected a number: damaged" in failed["reason"]


def test_an_owner_who_is_no_process_is_not_looked_for(sweep: SweepFolder) -> None:
    run_dir = write_run(sweep.run_dir(RUN))
    write_facts(replace(read_run(run_dir), status="running"))
    for number in ("../" * 1000, "1" * 6000, "self"):
        (run_dir / "run.lock").write_text(f"process {number} on {socket.gethostname()}")
        assert sweep.state(RUN).state in ("running", "interrupted")


def test_a_metrics_line_in_writing_is_left_out(sweep: SweepFolder) -> None:
    run_dir = write_run(sweep.run_dir(RUN))
    with (run_dir / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 21, "env')
    assert sweep.state(RUN).iteration == 20


def test_a_sweep_remembers_every_grid_once(tmp_path: Path) -> None:
    other = Grid(("spacil",), ("Hopper-v4",), (0,))
    for grids in ([GRID], [other], [GRID]):
        open_sweep(tmp_path / "s", grids, 7)
    found = read_sweep(tmp_path / "s")
    assert (found.grids, found.fresh_episodes) == ((GRID, other), 7)
    assert open_sweep(tmp_path / "s", [], 150).grids == (GRID, other)


def test_a_sweep_keeps_its_fresh_episodes_until_others_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "s"
    assert sweep_with(path, [GRID]).fresh_episodes == 150
    assert open_sweep(path, [GRID], 20).fresh_episodes == 20
    assert open_sweep(path, []).fresh_episodes == read_sweep(path).fresh_episodes == 20
    assert sweep_with(path, [], 7) == SweepFolder(path, (GRID,), 7)
    assert read_sweep(path).fresh_episodes == 20
    assert open_sweep(path, [], 0).fresh_episodes == read_sweep(path).fresh_episodes == 0


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="holds no sweep"):
        read_sweep(tmp_path)
    with pytest.raises(RunDirError, match="holds no sweep"):
        open_sweep(tmp_path, [], 150)


def test_a_plan_of_a_newer_version_is_refused(sweep: SweepFolder) -> None:
    document = json.loads((sweep.path / "sweep.json").read_text())
    (sweep.path / "sweep.json").write_text(json.dumps(document | {"format_version": 2}))
    with pytest.raises(StorageError, match="no plan that this version"):
        read_sweep(sweep.path)
