"""What a sweep does with runs that an engine loses; the engine stands in for machines that fail."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from generated_runs import write_run

from spacil.errors import RunDirError
from spacil.runs.facts import read_run
from spacil.runs.facts import write_run as write_facts
from spacil.runs.lock import FolderLock
from spacil.sweeps import runner
from spacil.sweeps.engine import Ending, Engine, JobOptions
from spacil.sweeps.folder import SweepFolder, open_sweep
from spacil.sweeps.plan import Grid, PlannedRun


class OneByOne(Engine):
    """Each attempt ends at once, as `attempt` says; it may raise, or write a finished run."""

    def __init__(self, sweep: SweepFolder, attempt: Callable[[PlannedRun, int], Ending]) -> None:
        super().__init__(sweep, JobOptions(1, 1, "cpu"))
        self.attempt, self.starts = attempt, list[PlannedRun]()

    def start(self, run: PlannedRun) -> None:
        self.starts.append(run)
        self.active[run] = self.attempt(run, self.starts.count(run))

    def ended(self) -> list[tuple[PlannedRun, Ending]]:
        over = list(self.active.items())
        self.active.clear()
        return over


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SweepFolder:
    monkeypatch.setattr(runner, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(runner, "_ASK_AGAIN_SECONDS", 0.0)
    return open_sweep(tmp_path / "sweep", [Grid(("gail",), ("Hopper-v4",), (0, 1))], 0)


def swept(sweep: SweepFolder, engine: OneByOne) -> tuple[int, list[str]]:
    said: list[str] = []
    exit_code = runner.run_sweep(
        sweep, sweep.runs(), engine, lambda run, words: said.append(words), lambda: None
    )
    return exit_code, said


def test_a_run_that_is_lost_every_time_fails_and_the_others_finish(sweep: SweepFolder) -> None:
    unlucky, lucky = sweep.runs()

    def attempt(run: PlannedRun, count: int) -> Ending:
        if run == unlucky:
            return Ending(None, "its node is gone")
        write_run(sweep.run_dir(run))
        return Ending(0)

    engine = OneByOne(sweep, attempt)
    exit_code, said = swept(sweep, engine)
    assert engine.starts == [unlucky] * 3 + [lucky]  # lost ones go first, and not for ever
    assert exit_code == 3
    assert sweep.state(lucky).state == "finished"
    assert sweep.state(unlucky).reason == "its node is gone"
    assert said.count("its node is gone; trying again") == 2


def test_what_no_machine_took_was_no_attempt(
    sweep: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, _ = sweep.runs()

    def attempt(run: PlannedRun, count: int) -> Ending:
        if run == refused and count < 10:  # while the cluster still lists nodes that are gone
            return Ending(None, "no node took it", has_begun=False)
        write_run(sweep.run_dir(run))
        return Ending(0)

    assert swept(sweep, OneByOne(sweep, attempt))[0] == 0
    monkeypatch.setattr(runner, "_PATIENCE_SECONDS", 0.0)
    shutil.rmtree(sweep.run_dir(refused))
    assert swept(sweep, OneByOne(sweep, lambda run, count: attempt(run, 1)))[0] == 3
    assert sweep.state(refused).reason == "no node took it"


@pytest.mark.parametrize(("code", "num_starts"), [(65, 1), (70, 1), (75, 3), (-9, 3)])
def test_what_may_end_well_is_tried_again(sweep: SweepFolder, code: int, num_starts: int) -> None:
    engine = OneByOne(sweep, lambda run, count: Ending(code))
    swept(sweep, engine)
    assert [engine.starts.count(run) for run in sweep.runs()] == [num_starts] * 2
    assert {state.state for state in sweep.states(sweep.runs()).values()} == {"failed"}


@pytest.mark.parametrize("code", [129, 130, 143, 152])
def test_a_run_that_was_saved_and_stopped_is_interrupted(sweep: SweepFolder, code: int) -> None:
    stopped, other = sweep.runs()

    def attempt(run: PlannedRun, count: int) -> Ending:
        write_run(sweep.run_dir(run))
        if run == other:
            return Ending(0)
        facts = read_run(sweep.run_dir(run))
        write_facts(replace(facts, status="interrupted", reason="a signal"))
        return Ending(code)

    engine = OneByOne(sweep, attempt)
    exit_code, said = swept(sweep, engine)
    assert engine.starts == [stopped, other]
    assert sweep.state(stopped).state == "interrupted"
    assert not sweep.failure(stopped).exists()
    assert f"interrupted: exit code {code}; the same command goes on" in said
    assert exit_code == 3  # not all is there


def test_the_failure_of_a_run_that_is_finished_meanwhile_is_forgotten(sweep: SweepFolder) -> None:
    for run in sweep.runs():
        sweep.record_failure(run, 70, "diverged")
        write_run(sweep.run_dir(run))
    engine = OneByOne(sweep, lambda run, count: Ending(0))
    exit_code, _ = swept(sweep, engine)
    assert (engine.starts, exit_code) == ([], 0)
    assert not any(sweep.failure(run).exists() for run in sweep.runs())


def test_a_start_that_is_refused_is_an_attempt_with_its_reason(sweep: SweepFolder) -> None:
    def attempt(run: PlannedRun, count: int) -> Ending:
        raise RunDirError("the log cannot be opened")

    engine = OneByOne(sweep, attempt)
    swept(sweep, engine)
    assert len(engine.starts) == 2 * 3
    reasons = {state.reason for state in sweep.states(sweep.runs()).values()}
    assert reasons == {"the log cannot be opened"}


def test_a_lost_run_whose_process_lives_on_is_left_to_it(sweep: SweepFolder) -> None:
    orphaned, other = sweep.runs()
    sweep.run_dir(orphaned).mkdir(parents=True)
    locks: list[FolderLock] = []

    def attempt(run: PlannedRun, count: int) -> Ending:
        if run == orphaned:
            locks.append(FolderLock(sweep.run_dir(run)))  # as its process does, wherever that is
            return Ending(None, "its node is gone")
        locks.pop().release()
        shutil.rmtree(sweep.run_dir(orphaned))
        for finished in (orphaned, other):
            write_run(sweep.run_dir(finished))
        return Ending(0)

    engine = OneByOne(sweep, attempt)
    exit_code, said = swept(sweep, engine)
    assert engine.starts == [orphaned, other]
    assert exit_code == 0
    assert "its node is gone; a process still holds it, waiting" in said
