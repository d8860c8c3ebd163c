"""Where run folders lie: runs/<algorithm>/<task>/seed<S>-<stamp>, one new name per run."""

import contextlib
import os
import re
import time
from pathlib import Path

from spacil import storage
from spacil.config.train_config import TrainConfig
from spacil.errors import RunDirError

DEFAULT_ROOT = Path("runs")

_MAX_TASK_NAME = 100


def task_folder(root: Path, config: TrainConfig) -> Path:
    """The folder of all runs of one algorithm on one task."""
    return root / config.algorithm / safe_folder_name(config.task)


def name_stem(config: TrainConfig) -> str:
    """How the names of a seed's run folders start; a time stamp follows, so they sort by age."""
    return f"seed{config.run.seed}-"


def safe_folder_name(task: str) -> str:
    """A task's name as one folder name; odd ones get a short hash, so that no two collide."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", task).lstrip(".-")[:_MAX_TASK_NAME]
    if plain and plain == task:
        return plain
    return f"{plain or 'task'}-{storage.document_hash(task)[:6]}"


def make_folder(path: Path) -> bool:
    """Create the folder if it is missing; whether it was.

    By the creating alone: `missing/../run` may be there although nothing is found under that name.
    """
    try:
        os.fsencode(path)
        with storage.os_errors_as(RunDirError, "create the run folder", path):
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                if not path.is_dir():
                    raise
                return False
            return True
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise RunDirError(f"{str(path)!r} cannot be the name of a folder: {error}") from None


def make_new_folder(root: Path, config: TrainConfig) -> Path:
    """Create the folder of a new run, under a name that nothing else has."""
    parent = task_folder(root, config)
    make_folder(parent)
    first = name_stem(config) + utc("%Y%m%d-%H%M%S")
    for attempt in range(1, 100):  # runs of one sweep may start within one second
        path = parent / (first if attempt == 1 else f"{first}-{attempt:02d}")
        with (
            storage.os_errors_as(RunDirError, "create the run folder", path),
            contextlib.suppress(FileExistsError),
        ):
            path.mkdir()
            return path
    raise RunDirError(f"{str(parent / first)!r} and 98 more exist already; choose a --run-dir")


def utc(pattern: str) -> str:
    return time.strftime(pattern, time.gmtime())
