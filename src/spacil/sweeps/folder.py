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
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spacil import storage
from spacil.errors import RunDirError, SpacilError, StorageError
from spacil.runs.facts import RUN_FILE, number_in, read_run
from spacil.runs.folder import make_folder
from spacil.runs.lock import owner_of
from spacil.sweeps.plan import Grid, PlannedRun, document_of, grids_of, planned_runs
from spacil.version import __version__

PLAN, LOGS, FAILURES = "sweep.json", "logs", "failures"
DEMONSTRATIONS = "demonstrations"
"""What may lie in the folder before its first run: plans name it as {sweep}/demonstrations/..."""

FRESH_EPISODES = 150
"""That end each run of a new sweep"""

State = Literal["finished", "trained", "running", "interrupted", "waiting", "failed"]
"""`trained`: the last iteration is done, the fresh episodes are not."""

_TAIL_BYTES = 32_768


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
        return self.path / LOGS / f"{run.name.replace('/', '--')}.log"

    def failure(self, run: PlannedRun) -> Path:
        return self.path / FAILURES / f"{run.name.replace('/', '--')}.json"

    def record_failure(self, run: PlannedRun, exit_code: int, reason: str) -> None:
        make_folder(self.path / FAILURES)
        document = {"run": run.name, "exit_code": exit_code, "reason": reason}
        storage.write_json(self.failure(run), document)

    def forget_failure(self, run: PlannedRun) -> None:
        with storage.os_errors_as(StorageError, "delete", self.failure(run)):
            self.failure(run).unlink(missing_ok=True)

    def state(self, run: PlannedRun) -> RunState:
        """From files alone; a damaged file is a failure with its name, never an exception."""
        try:
            return self._state(run)
        except (SpacilError, OSError) as error:
            return RunState("failed", iterations=_iterations(run), reason=str(error))

    def states(
        self, runs: Iterable[PlannedRun], known: Mapping[PlannedRun, RunState] | None = None
    ) -> dict[PlannedRun, RunState]:
        """Of several runs; those `known` to be finished are not read again."""
        finished = {run: s for run, s in (known or {}).items() if s.state == "finished"}
        return {run: finished.get(run) or self.state(run) for run in runs}

    def _state(self, run: PlannedRun) -> RunState:
        run_dir, failure = self.run_dir(run), self.failure(run)
        progress = _progress(run_dir / "metrics.jsonl") | {"iterations": _iterations(run)}
        facts = read_run(run_dir) if (run_dir / RUN_FILE).is_file() else None
        is_trained = facts is not None and facts.status == "finished"
        if facts is not None and is_trained:
            num_fresh = 0 if facts.fresh is None else facts.fresh.num_episodes
            if num_fresh >= self.fresh_episodes:
                return RunState("finished", **progress)
        # Whoever went on with the run since then has the last word.
        if failure.is_file() and (
            facts is None or failure.stat().st_mtime >= (run_dir / RUN_FILE).stat().st_mtime
        ):
            document = storage.read_json(failure)
            reason = str(document.get("reason")) if isinstance(document, dict) else ""
            return RunState("failed", reason=reason, **progress)
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


def open_sweep(path: Path, grids: Sequence[Grid], fresh_episodes: int | None = None) -> SweepFolder:
    """Open the sweep in a folder and add grids to its plan; begin one where there is none."""
    if not (path / PLAN).is_file():
        if not grids:
            return read_sweep(path)  # which refuses
        make_folder(path)
        with storage.os_errors_as(RunDirError, "list", path):
            names = {entry.name for entry in path.iterdir()} - {DEMONSTRATIONS}
        if any(not storage.is_leftover(name) for name in names):
            raise RunDirError(f"{str(path)!r} is not empty and holds no sweep: choose another -o")
    # Of two sweeps that add other grids at one moment the last one writes; both know their own.
    sweep = sweep_with(path, grids, fresh_episodes)
    document = {
        "format": "spacil-sweep",
        "format_version": 1,
        "spacil_version": __version__,
        "fresh_episodes": sweep.fresh_episodes,
        **document_of(sweep.grids),
    }
    storage.write_json(path / PLAN, document)
    return sweep


def sweep_with(path: Path, grids: Sequence[Grid], fresh_episodes: int | None = None) -> SweepFolder:
    """The same, and nothing is written; without `fresh_episodes` it keeps the number it has."""
    is_new = not (path / PLAN).is_file()
    known = SweepFolder(path, (), FRESH_EPISODES) if is_new else read_sweep(path)
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


@functools.cache
def _iterations(run: PlannedRun) -> int:
    return run.config().run.iterations


def _progress(metrics: Path) -> dict[str, Any]:
    """From the last lines of metrics.jsonl only: a long run's file has megabytes."""
    if not metrics.exists():
        return {}
    with storage.os_errors_as(StorageError, "read", metrics), metrics.open("rb") as file:
        file.seek(max(0, metrics.stat().st_size - _TAIL_BYTES))
        text = file.read()
    rows = []
    for line in text.split(b"\n"):
        # The first line of the tail is cut, the last may be in writing.
        with contextlib.suppress(StorageError):
            row = storage.parse_json(line, metrics)
            if isinstance(row, dict) and type(row.get("iteration")) is int:
                rows.append(row)
    if not rows:
        return {}
    seconds = [
        sum(number_in(row, name, metrics) for name in row if name.startswith("seconds_"))
        for row in rows
    ]
    returns = [
        number_in(row, "average_return", metrics)
        for row in rows
        if row.get("average_return") is not None
    ]
    return {
        "iteration": rows[-1]["iteration"],
        "seconds_per_iteration": sum(seconds) / len(seconds),
        "average_return": returns[-1] if returns else None,
    }


def _owner(run_dir: Path) -> tuple[str, str, bool]:
    """Say who runs it, where, and whether it is alive as far as can be seen from here."""
    words = owner_of(run_dir).partition(",")[0]
    number, _, host = words.removeprefix("process ").partition(" on ")
    if host == socket.gethostname():
        return words, host, number.isdecimal() and Path(f"/proc/{number}").exists()
    newest = max(path.stat().st_mtime for path in run_dir.iterdir())
    stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(newest))
    return f"{words}, last heard of at {stamp}", host, True
