"""From what a user names to runs: single folders, trees of folders, sweeps."""

from collections.abc import Iterable
from pathlib import Path

from spacil.errors import SpacilError
from spacil.experiments.run_record import RunRecord, read_run
from spacil.experiments.sweeps.folder import PLAN, read_sweep
from spacil.experiments.sweeps.plan import PlannedRun
from spacil.runs.resuming import CONFIG

Found = tuple[list[RunRecord], list[str]]
"""The runs that can be compared, and what is wrong with the others"""


def find_runs(sources: Iterable[Path]) -> Found:
    """Every run under these paths, each once; what cannot be read is named, never dropped."""
    records: dict[Path, RunRecord] = {}
    problems: list[str] = []
    for source in sources:
        for path, planned in _candidates(source, problems):
            if path.resolve() in records:
                continue
            try:
                records[path.resolve()] = read_run(path, planned)
            except SpacilError as error:
                words = str(error)
                problems.append(words if str(path) in words else f"{path}: {words}")
    return list(records.values()), problems


def _candidates(source: Path, problems: list[str]) -> Iterable[tuple[Path, PlannedRun | None]]:
    if (source / PLAN).is_file():
        return _planned(source, problems)
    if (source / CONFIG).is_file():
        return [(source, None)]
    found = sorted(path.parent for path in source.rglob(CONFIG)) if source.is_dir() else []
    if not found:
        missing = "holds no run" if source.is_dir() else "there is no such folder"
        problems.append(f"{source}: {missing}")
    return [(path, None) for path in found]


def _planned(source: Path, problems: list[str]) -> list[tuple[Path, PlannedRun | None]]:
    """The runs of a sweep that are trained; the others are named with their state."""
    try:
        sweep = read_sweep(source)
        states = sweep.states(sweep.runs())
    except SpacilError as error:
        problems.append(str(error))
        return []
    ready: list[tuple[Path, PlannedRun | None]] = []
    for run, state in states.items():
        if state.state in ("finished", "trained"):
            ready.append((sweep.run_dir(run), run))
        else:
            reason = f": {state.reason}" if state.reason else ""
            problems.append(f"{sweep.run_dir(run)}: {state.state}{reason}")
    return ready
