"""CSV files, in and out: one row per step, as spreadsheets and data frames write them.

Columns `episode`, `obs_0`, `obs_1`, ..., `action_0`, ..., and where known `reward`, `terminated`,
`truncated`; others are not read, and listed in the provenance. The actions are those that were
executed. The rows of an episode stand together; a last one with an observation and nothing else is
where the episode ended. Numbers are written with all their digits and read as float64.

Python's own reader is safe on any bytes, so a file of bounded size is read right here; formats that
need a parser in C are read in the sandbox.
"""

import csv
import io
import itertools
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.episode import Episode
from spacil.demos.metadata import DemoMetadata
from spacil.demos.schema import SUCCESSOR_FIELDS
from spacil.demos.seal import imported
from spacil.errors import DataError

LEAVES_OUT = ("actions", "initial_qpos", "initial_qvel", *SUCCESSOR_FIELDS)
MAX_BYTES = 256 * 2**20
_OPTIONAL = {"reward": "rewards", "terminated": "terminations", "truncated": "truncations"}
_FLAGS = {"0": 0.0, "false": 0.0, "0.0": 0.0, "1": 1.0, "true": 1.0, "1.0": 1.0}


def import_csv(path: Path) -> Demonstrations:
    """Demonstrations from a CSV file of anyone with these columns."""
    with storage.os_errors_as(DataError, "read", path):
        if not path.is_file():
            raise DataError(f"{path}: not a regular file")
        if (size := path.stat().st_size) > MAX_BYTES:
            raise DataError(
                f"{path}: {size / 2**20:,.0f} MiB, more than {MAX_BYTES // 2**20}: use npz instead"
            )
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                return _parsed(csv.reader(file, strict=True), path)
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{path}: not a CSV file, or damaged: {error}") from None


def export_csv(demos: Demonstrations, path: Path) -> None:
    """A CSV file that `import_csv` and any spreadsheet read."""
    columns = _numbered("obs", demos.num_states) + _numbered("action", demos.num_actions)
    columns += [name for name, tensor in _OPTIONAL.items() if getattr(demos, tensor) is not None]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["episode", *columns])
    for index in range(demos.num_episodes):
        for row in _rows(demos.episode(index)):
            writer.writerow([index, *row])
    storage.replace_file(path, text.getvalue().encode("ascii"))


def _rows(episode: Episode) -> Iterator[list[Any]]:
    """The cells after the first; flags can stand on an episode's last step only."""
    last = len(episode.executed_actions) - 1
    observations = episode.observations.tolist()
    for step, actions in enumerate(episode.executed_actions.tolist()):
        rewards = [] if episode.rewards is None else [float(episode.rewards[step])]
        ends = [int(step == last and end) for end in (episode.is_terminated, episode.is_truncated)]
        yield [*observations[step], *actions, *rewards, *ends]
    num_empty = episode.executed_actions.shape[1] + (2 if episode.rewards is None else 3)
    yield observations[-1] + [""] * num_empty


@dataclass(frozen=True)
class _Layout:
    """Which column holds what, by position."""

    episode: int
    observations: list[int]
    actions: list[int]
    optional: dict[str, int]
    num_columns: int


@dataclass
class _Steps:
    """The rows of one episode so far."""

    observations: "array[float]" = field(default_factory=lambda: array("d"))
    others: "array[float]" = field(default_factory=lambda: array("d"))
    """Actions and what is known beside them, one step after the other."""
    is_ended: bool = False


def _parsed(reader: Any, path: Path) -> Demonstrations:
    names = [name.strip() for name in next(reader, [])]
    layout = _layout(names, path)
    episodes: dict[str, _Steps] = {}
    newest = None
    for row in filter(None, reader):  # a blank line is no row
        where = f"{path}, line {reader.line_num}"
        if len(row) != layout.num_columns:
            raise DataError(f"{where}: {len(row)} cells, expected {layout.num_columns}")
        name = row[layout.episode].strip()
        if name != newest and name in episodes:
            raise DataError(f"{where}: more of episode {name!r}; keep its rows together")
        newest = name
        _add(row, episodes.setdefault(name, _Steps()), layout, where)
    change: dict[str, Any] = {"operation": "import_csv", "file": path.name}
    used = {layout.episode, *layout.observations, *layout.actions, *layout.optional.values()}
    if ignored := [name for place, name in enumerate(names) if place not in used]:
        change["ignored_columns"] = ignored[:100]
    columns = _columns(list(episodes.values()), layout)
    return imported(columns, None, DemoMetadata(), change, str(path))


def _layout(names: list[str], path: Path) -> _Layout:
    places = {name: place for place, name in enumerate(names)}
    if len(places) != len(names):
        raise DataError(f"{path}: two columns have one name")
    observations, actions = _run(places, "obs", path), _run(places, "action", path)
    if "episode" not in places or not observations or not actions:
        raise DataError(
            f"{path}: expected columns episode, obs_0, ... and action_0, ...; its first line is "
            f"{','.join(names)[:80]!r}"
        )
    optional = {name: places[name] for name in _OPTIONAL if name in places}
    return _Layout(places["episode"], observations, actions, optional, len(names))


def _run(places: dict[str, int], prefix: str, path: Path) -> list[int]:
    """The places of prefix_0, prefix_1, ...; a gap means that a column was lost."""
    run = list(itertools.takewhile(places.__contains__, _numbered(prefix, len(places))))
    if len(run) != sum(bool(re.fullmatch(rf"{prefix}_\d+", name)) for name in places):
        raise DataError(f"{path}: {prefix} columns must be {prefix}_0, {prefix}_1, ... with no gap")
    return [places[name] for name in run]


def _add(row: list[str], steps: _Steps, layout: _Layout, where: str) -> None:
    if steps.is_ended:
        raise DataError(f"{where}: a row after the one without an action, which ends an episode")
    steps.observations.extend(_number(row[place], where) for place in layout.observations)
    if not any(row[place].strip() for place in (*layout.actions, *layout.optional.values())):
        steps.is_ended = True
        return
    steps.others.extend(_number(row[place], where) for place in layout.actions)
    for name, place in layout.optional.items():
        read = _number if name == "reward" else _flag
        steps.others.append(read(row[place], where))


def _number(cell: str, where: str) -> float:
    try:
        if "_" in cell:  # Python reads 1_0 as ten
            raise ValueError
        return float(cell)
    except ValueError:
        raise DataError(f"{where}: {cell[:40]!r} where a number is expected") from None


def _flag(cell: str, where: str) -> float:
    flag = _FLAGS.get(cell.strip().lower())
    if flag is None:
        raise DataError(f"{where}: {cell[:40]!r} where 0, 1, true or false is expected")
    return flag


def _columns(episodes: list[_Steps], layout: _Layout) -> dict[str, list[NDArray[Any]]]:
    num_actions = len(layout.actions)
    states = [_table(steps.observations, len(layout.observations)) for steps in episodes]
    others = [_table(steps.others, num_actions + len(layout.optional)) for steps in episodes]
    columns = {
        "observations": states,
        "executed_actions": [table[:, :num_actions] for table in others],
    }
    for place, name in enumerate(layout.optional, start=num_actions):
        columns[_OPTIONAL[name]] = [table[:, place] for table in others]
    return columns


def _table(numbers: "array[float]", num_columns: int) -> NDArray[np.float64]:
    return np.array(numbers, dtype=np.float64).reshape(-1, num_columns)


def _numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}_{index}" for index in range(count)]
