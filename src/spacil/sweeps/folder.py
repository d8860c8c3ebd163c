"""The folder of a sweep: the plan it remembers, and how far each run is, read from files alone.

    DIR/sweep.json                                  every grid that was ever asked for here
    DIR/<algorithm>/<task>/<variant>/seed<S>/       the runs, ordinary run folders
    DIR/logs/<run>.log  DIR/failures/<run>.json     what a run printed; why it failed

Run folders are the truth: no state of a run is kept anywhere else, except that a run may fail
before it has a folder. A failure is of the folder as it was then: it is the last word until
somebody goes on with the run. Nothing here takes a lock of a run or changes one, so that the state
of a sweep can be read from any machine at any time.
"""

import contextlib
import functools
import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spacil import storage
from spacil.errors import RunDirError, StorageError
from spacil.runs.facts import RUN_FILE, FreshEvaluations, RunFacts, read_run
from spacil.runs.folder import make_folder
from spacil.runs.lock import owner_of
from spacil.sweeps.plan import Grid, PlannedRun, document_of, grids_of, planned_runs
from spacil.version import __version__

PLAN, PLAN_LOCK, LOGS, FAILURES = "sweep.json", "sweep.lock", "logs", "failures"
FORMAT, FORMAT_VERSION = "spacil-sweep", 1
DEMONSTRATIONS = "demonstrations"
"""What may lie in the folder before its first run: plans name it as {sweep}/demonstrations/..."""

FRESH_EPISODES = 150
"""That end each run of a new sweep"""

State = Literal["waiting", "running", "interrupted", "failed", "trained", "finished"]
STATES: tuple[State, ...] = (
    "finished", "trained", "running", "interrupted", "waiting", "failed",
)  # fmt: skip
"""`trained`: the last iteration is done, the fresh episodes are not."""

_STATUS_THEN = "status_then"
"""In the file of a failure: what run.json said when the run failed"""
_TAIL_BYTES = 32_768
_LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class RunState:
    """How far a run is, as its folder says."""

    state: State
    iteration: int = 0
    iterations: int = 0
    """Of the whole run"""
    seconds_per_iteration: float | None = None
    average_return: float | None = None
    """The newest evaluation's"""
    reason: str = ""
    """Why it failed or was interrupted, or who runs it"""
    host: str = ""
    """The machine it runs on"""


@dataclass(frozen=True)
class SweepFolder:
    """A folder, what was asked for in it, and how many fresh episodes end a run."""

    path: Path
    grids: tuple[Grid, ...]
    fresh_episodes: int

    def runs(self) -> list[PlannedRun]:
        return planned_runs(self.grids)

    def run_dir(self, run: PlannedRun) -> Path:
        return self.path / run.name

    def log(self, run: PlannedRun) -> Path:
        return self.path / LOGS / f"{_flat(run)}.log"

    def failure(self, run: PlannedRun) -> Path:
        return self.path / FAILURES / f"{_flat(run)}.json"

    def record_failure(self, run: PlannedRun, exit_code: int, reason: str) -> None:
        make_folder(self.path / FAILURES)
        document: dict[str, Any] = {"run": run.name, "exit_code": exit_code, "reason": reason}
        with contextlib.suppress(StorageError):  # a damaged status is a failure by itself
            document[_STATUS_THEN] = _status_in(self._facts(run))
        storage.write_json(self.failure(run), document)

    def forget_failure(self, run: PlannedRun) -> None:
        with storage.os_errors_as(StorageError, "delete", self.failure(run)):
            self.failure(run).unlink(missing_ok=True)

    def state(self, run: PlannedRun) -> RunState:
        """From files alone; a damaged file is a failure with its name, never an exception."""
        try:
            return self._state(run)
        except StorageError as error:
            return RunState("failed", iterations=_iterations(run), reason=str(error))

    def states(
        self, runs: Iterable[PlannedRun], known: Mapping[PlannedRun, RunState] | None = None
    ) -> dict[PlannedRun, RunState]:
        """Of several runs; those `known` to be finished are not read again."""
        finished = {run: s for run, s in (known or {}).items() if s.state == "finished"}
        return {run: finished.get(run) or self.state(run) for run in runs}

    def _state(self, run: PlannedRun) -> RunState:
        run_dir = self.run_dir(run)
        progress = _progress(run_dir / "metrics.jsonl") | {"iterations": _iterations(run)}
        facts, failure = self._facts(run), self._failure(run)
        is_trained = facts is not None and facts.status == "finished"
        if facts is not None and is_trained and has_fresh(facts.fresh, self.fresh_episodes):
            return RunState("finished", **progress)
        # Whoever went on with the run since then has the last word.
        if failure and failure.get(_STATUS_THEN) == _status_in(facts):
            return RunState("failed", reason=str(failure.get("reason")), **progress)
        if facts is None:
            return RunState("waiting", **progress)
        if is_trained:
            return RunState("trained", **progress)
        if facts.status == "running":
            owner, host, is_alive = _owner(run_dir)
            state: State = "running" if is_alive else "interrupted"
            return RunState(state, reason=owner, host=host if is_alive else "", **progress)
        state = "failed" if facts.status == "failed" else "interrupted"
        return RunState(state, reason=facts.reason, **progress)

    def _failure(self, run: PlannedRun) -> dict[str, Any]:
        path = self.failure(run)
        document = storage.read_json(path) if path.is_file() else {}
        return document if isinstance(document, dict) else {}

    def _facts(self, run: PlannedRun) -> RunFacts | None:
        run_dir = self.run_dir(run)
        return read_run(run_dir) if (run_dir / RUN_FILE).is_file() else None


def has_fresh(fresh: FreshEvaluations | None, wanted: int) -> bool:
    """Whether a finished run has the fresh episodes that its sweep ends it with."""
    return wanted == 0 or (fresh is not None and fresh.num_episodes >= wanted)


def open_sweep(path: Path, grids: Sequence[Grid], fresh_episodes: int | None = None) -> SweepFolder:
    """The sweep in a folder with these grids added to its plan; a new one where there is none."""
    if not (path / PLAN).is_file():
        if not grids:
            raise RunDirError(f"{str(path)!r} holds no sweep ({PLAN} is missing)")
        make_folder(path)
        with storage.os_errors_as(RunDirError, "list", path):
            names = {entry.name for entry in path.iterdir()} - {PLAN_LOCK, DEMONSTRATIONS}
        if any(not storage.is_leftover(name) for name in names):
            raise RunDirError(f"{str(path)!r} is not empty and holds no sweep: choose another -o")
    with storage.os_errors_as(RunDirError, "lock", path / PLAN_LOCK):
        lock = os.open(path / PLAN_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not storage.try_lock(lock):
            if time.monotonic() > deadline:
                raise RunDirError(f"{str(path / PLAN_LOCK)!r} is held by another process")
            time.sleep(0.05)
        sweep = sweep_with(path, grids, fresh_episodes)
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "spacil_version": __version__,
            "fresh_episodes": sweep.fresh_episodes,
            **document_of(sweep.grids),
        }
        storage.write_json(path / PLAN, document)
        return sweep
    finally:
        os.close(lock)


def sweep_with(path: Path, grids: Sequence[Grid], fresh_episodes: int | None = None) -> SweepFolder:
    """The same, and nothing is written; without `fresh_episodes` it keeps the number it has."""
    known = SweepFolder(path, (), FRESH_EPISODES)
    if (path / PLAN).is_file():
        known = read_sweep(path)
    wanted = known.fresh_episodes if fresh_episodes is None else fresh_episodes
    return SweepFolder(path, tuple(dict.fromkeys([*known.grids, *grids])), wanted)


def read_sweep(path: Path) -> SweepFolder:
    """The sweep in a folder, which has to be there; nothing is written."""
    if not (path / PLAN).is_file():
        raise RunDirError(f"{str(path)!r} holds no sweep ({PLAN} is missing)")
    match storage.read_json(path / PLAN):
        case {
            "format": "spacil-sweep",
            "format_version": 1,
            "fresh_episodes": int(fresh_episodes),
            "grids": [*grids],
        }:
            found = grids_of({"grids": grids}, str(path / PLAN))
            return SweepFolder(path, tuple(found), fresh_episodes)
    raise StorageError(f"{str(path / PLAN)!r} is no plan that this version of spacil can read")


def seconds_left(states: Mapping[PlannedRun, RunState], jobs: int) -> float | None:
    """Time left when `jobs` runs share the machine; None until some run has shown its pace.

    A run that has not started is taken to be as fast as the others of its algorithm and task, or
    of its task, or as all.
    """
    paces = {r: s.seconds_per_iteration for r, s in states.items() if s.seconds_per_iteration}
    left = []
    for run, state in states.items():
        if state.state in ("finished", "failed"):
            continue
        if not paces:
            return None

        def kinship(other: PlannedRun, run: PlannedRun = run) -> tuple[bool, ...]:
            is_of_task = other.task == run.task
            return other == run, is_of_task and other.algorithm == run.algorithm, is_of_task

        nearest = max(map(kinship, paces))
        alike = [pace for other, pace in paces.items() if kinship(other) == nearest]
        left.append(sum(alike) / len(alike) * max(state.iterations - state.iteration, 0))
    return max(sum(left) / max(jobs, 1), max(left, default=0.0))


@functools.cache
def _iterations(run: PlannedRun) -> int:
    return run.config().run.iterations


def _progress(metrics: Path) -> dict[str, Any]:
    """From the last lines of metrics.jsonl only: a long run's file has megabytes."""
    try:
        with metrics.open("rb") as file:
            file.seek(max(0, metrics.stat().st_size - _TAIL_BYTES))
            text = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(f"cannot read {str(metrics)!r}: {error}") from None
    rows = []
    for line in text.split(b"\n"):
        try:
            rows.append(storage.parse_json(bytearray(line), str(metrics)))
        except StorageError:  # the first line of the tail is cut, the last may be in writing
            continue
    rows = [row for row in rows if isinstance(row, dict) and "iteration" in row]
    if not rows:
        return {}
    seconds = [sum(v for k, v in row.items() if k.startswith("seconds_")) for row in rows]
    returns = [row["average_return"] for row in rows if row.get("average_return") is not None]
    return {
        "iteration": rows[-1]["iteration"],
        "seconds_per_iteration": sum(seconds) / len(seconds),
        "average_return": returns[-1] if returns else None,
    }


def _status_in(facts: RunFacts | None) -> list[str]:
    return [] if facts is None else [facts.status, facts.reason, facts.updated]


def _owner(run_dir: Path) -> tuple[str, str, bool]:
    """Say who runs it, where, and whether it is alive as far as can be seen from here."""
    words = owner_of(run_dir).partition(",")[0]
    number, _, host = words.removeprefix("process ").partition(" on ")
    if host == socket.gethostname():
        return words, host, Path(f"/proc/{number}").exists()
    newest = max(path.stat().st_mtime for path in run_dir.iterdir())
    stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(newest))
    return f"{words}, last heard of at {stamp}", host, True


def _flat(run: PlannedRun) -> str:
    return run.name.replace("/", "--")
