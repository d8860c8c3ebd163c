"""From what a user names to runs: single folders, trees of folders, sweeps."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from spacil.comparison.run_record import RunRecord, read_run
from spacil.errors import SpacilError
from spacil.plain_text import MAX_MESSAGE, shown
from spacil.runs.resuming import CONFIG
from spacil.sweeps.folder import PLAN, read_sweep
from spacil.sweeps.plan import PlannedRun

Found = tuple[list[RunRecord], list[str]]
"""The runs that can be compared, and what is wrong with the others"""
Candidate = tuple[Path, PlannedRun | None]
"""The folder of a run, and the run as its sweep has it, where one planned it"""


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
    # Names of folders and reasons in files may be anything; each problem stays one line.
    return list(records.values()), [shown(problem, MAX_MESSAGE) for problem in problems]


def _candidates(source: Path, problems: list[str]) -> list[Candidate]:
    """The runs of every sweep in a folder, and the other ones that lie there."""
    if not source.is_dir():
        words = "there is no such folder"
        if source.exists():
            words = "is a file, expected a run folder, a folder of runs, or a sweep"
        problems.append(f"{source}: {words}")
        return []
    if (source / CONFIG).is_file() and not (source / PLAN).is_file():
        return [(source, None)]
    found: list[Candidate] = []
    planned: dict[Path, PlannedRun] = {}
    sweeps = sorted(path.parent for path in source.rglob(PLAN))
    for sweep in sweeps:
        ready, all_of_it = _planned(sweep, problems)
        found += ready
        planned |= all_of_it
    others = sorted(path.parent for path in source.rglob(CONFIG))
    variants = {folder.parent: run for folder, run in planned.items()}
    found += [(p, _of_another_seed(p, variants)) for p in others if p.resolve() not in planned]
    if not found and not sweeps:
        problems.append(f"{source}: holds no run")
    return found


def _of_another_seed(path: Path, variants: Mapping[Path, PlannedRun]) -> PlannedRun | None:
    """The run in a folder beside those of a plan: the setting is theirs, the name has the seed."""
    sibling = variants.get(path.resolve().parent)
    seed = re.fullmatch(r"seed(\d+)", path.name)
    return None if sibling is None or seed is None else replace(sibling, seed=int(seed[1]))


def _planned(source: Path, problems: list[str]) -> tuple[list[Candidate], dict[Path, PlannedRun]]:
    """The runs of a sweep that are trained, and all by folder; the others are named, with why."""
    try:
        sweep = read_sweep(source)
        states = sweep.states(sweep.runs())
    except SpacilError as error:
        problems.append(str(error))
        return [], {}
    ready: list[Candidate] = []
    for run, state in states.items():
        if state.state in ("finished", "trained"):
            ready.append((sweep.run_dir(run), run))
        else:
            reason = f": {state.reason}" if state.reason else ""
            problems.append(f"{sweep.run_dir(run)}: {state.state}{reason}")
    return ready, {sweep.run_dir(run).resolve(): run for run in states}
