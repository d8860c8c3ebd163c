"""Which runs lie in a folder, or around it: for whoever names another where a run is wanted."""

import os
from pathlib import Path

from spacil.plain_text import shown
from spacil.runs.ownership import LOCK
from spacil.runs.resuming import CONFIG, STATUS

MAX_SEARCHED = 5_000
"""Folders that are looked at: somebody may name a whole disk"""
MAX_LISTED = 5


def runs_inside(folder: Path) -> list[Path]:
    """The run folders below a folder, the latest first; links are not followed."""
    found: list[tuple[int, Path]] = []
    for num_searched, (name, inner, files) in enumerate(os.walk(folder), start=1):
        if _are_of_a_run(files):
            found.append((_time_of(Path(name, CONFIG)), Path(name)))
            inner.clear()  # a run holds no other run
        if num_searched == MAX_SEARCHED:
            break
    return [path for _, path in sorted(found, reverse=True)]


def named_runs(folder: Path) -> str:
    """The runs below a folder, or the one around it, to end a message; empty without any."""
    if not folder.is_dir():
        return ""
    found = runs_inside(folder)
    if not found:
        around = [path for path in folder.absolute().parents[:2] if _is_run(path)]
        return f"; it is part of a run, name that: {shown(around[0])}" if around else ""
    num_more = len(found) - MAX_LISTED
    lines = [shown(path) for path in found[:MAX_LISTED]]
    lines += [f"and {num_more} more"] if num_more > 0 else []
    return "\n".join(["; name one of the runs in it, the latest first:", *lines])


def _is_run(folder: Path) -> bool:
    return _are_of_a_run([name for name in (CONFIG, LOCK, STATUS) if (folder / name).is_file()])


def _are_of_a_run(names: list[str]) -> bool:
    return CONFIG in names and (LOCK in names or STATUS in names)


def _time_of(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # deleted meanwhile
        return 0
