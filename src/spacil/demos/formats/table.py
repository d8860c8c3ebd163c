"""Tables of others, CSV or Parquet, whose columns a user names: a row per step."""

import contextlib
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacil.errors import DataError
from spacil.foreign import Arrays, Reader


def read_csv(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Every column of numbers; an empty cell is no number."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = [row for row in csv.reader(file, strict=True) if row] or [[]]
    columns: Arrays = {}
    for name, *cells in zip(names, *rows, strict=True):
        with contextlib.suppress(ValueError):  # a column of words
            columns[name.strip()] = np.array([float(cell or "nan") for cell in cells])
    return columns, {}


def read_parquet(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Every column of numbers, or of lists of them that are equally long."""
    from pyarrow import parquet

    columns: Arrays = {}
    for name, column in parquet.read_table(path).to_pydict().items():
        array = np.array(column if column and isinstance(column[0], list | float | int) else [])
        if array.size and array.dtype.kind in "biuf":
            columns[name] = array
    return columns, {}


READERS: dict[str, tuple[Reader, str, str]] = {
    ".csv": (read_csv, "numpy", ""),
    ".parquet": (read_parquet, "pyarrow", "imitation"),
}
"""Ending -> reader, the library that it needs, the optional part of spacil that brings it"""


def by_columns(
    columns: Arrays, obs: Sequence[str], act: Sequence[str], episode_from: str, path: Path
) -> Arrays:
    """Arrays of a record, from the columns that mean something."""
    if missing := [name for name in (*obs, *act, episode_from) if name not in columns]:
        held = ", ".join(columns)[:300]
        raise DataError(f"{path}: has no column of numbers {missing[0]!r}; it has {held}")
    steps = np.diff(columns[episode_from].astype(float).ravel())
    # A number of the episode stands still within one, a time runs.
    is_end = steps != 0 if (steps == 0).any() else steps < 0
    ends = np.append(np.flatnonzero(is_end) + 1, len(steps) + 1)
    arrays = {
        "observations": np.column_stack([columns[name] for name in obs]),
        "episode_lengths": np.diff(ends, prepend=0),
    }
    if act:
        arrays["executed_actions"] = np.column_stack([columns[name] for name in act])
    else:  # each state but the last of an episode is a step
        arrays["episode_lengths"] -= 1
    return arrays
