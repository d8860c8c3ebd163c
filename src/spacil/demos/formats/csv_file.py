"""CSV files: one row per step, as spreadsheets and data frames write them.

Columns `episode`, `obs_0`, `obs_1`, ..., and where known `action_0`, ..., `reward`, `terminated`,
`truncated`. The actions are those that were executed. The rows of an episode stand together; a last
one with an observation and nothing else is where the episode ended. Numbers are written with all
their digits and read as float64.
"""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spacil.errors import DataError
from spacil.foreign import Arrays

if TYPE_CHECKING:
    from spacil.demos.demonstrations import Demonstrations

_OPTIONAL = {"reward": "rewards", "terminated": "terminations", "truncated": "truncations"}
_WORDS = {"false": "0", "true": "1"}


def read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = [row for row in csv.reader(file, strict=True) if row] or [[]]
    names = [name.strip() for name in names]
    runs = [
        [f"{prefix}{index}" for index in range(sum(name.startswith(prefix) for name in names))]
        for prefix in ("obs_", "action_")
    ]
    used = {"episode", *runs[0], *runs[1]}
    if not (rows and runs[0] and used <= set(names)) or len(set(names)) < len(names):
        raise DataError(
            f"{path}: expected columns episode, obs_0, ..., and where known action_0, ..., with no "
            f"gap, no name twice, and rows below; its first line is {','.join(names)[:80]!r}"
        )
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise DataError(f"{path}: row {number} has {len(row)} cells, expected {len(names)}")
    cells = dict(zip(names, np.char.strip(np.array(rows, dtype=str)).T, strict=True))
    optional = {name: field for name, field in _OPTIONAL.items() if name in cells}
    episodes = cells["episode"]
    is_first = np.append(True, episodes[1:] != episodes[:-1])
    is_last, told = np.append(is_first[1:], True), (*runs[1], *optional)
    is_step = np.any([cells[name] != "" for name in told], axis=0) if told else ~is_last
    if len(np.unique(episodes)) != is_first.sum():
        raise DataError(f"{path}: the rows of an episode do not stand together")
    if not (is_step | is_last).all():
        raise DataError(f"{path}: a row without an action before the end of its episode")
    arrays: Arrays = {
        "observations": np.stack([cells[name] for name in runs[0]], axis=1).astype(float),
        "episode_lengths": np.bincount(np.cumsum(is_first)[is_step] - 1),
    }
    if runs[1]:
        actions = [cells[name][is_step] for name in runs[1]]
        arrays["executed_actions"] = np.stack(actions, axis=1).astype(float)
    for name, field in optional.items():
        known = [_WORDS.get(cell.lower(), cell) for cell in cells[name][is_step].tolist()]
        arrays[field] = np.array(known).astype(float)
    return arrays, {"ignored": sorted(cells.keys() - used - _OPTIONAL.keys())[:100]}


def write(demos: "Demonstrations", path: Path) -> None:
    from spacil import storage

    columns = [f"obs_{index}" for index in range(demos.num_states)]
    columns += [f"action_{index}" for index in range(demos.num_actions)]
    columns += ["reward"] * (demos.rewards is not None) + ["terminated", "truncated"]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["episode", *columns])
    for index, episode in enumerate(demos.episodes):
        flags = [flag.int() for flag in episode.step_flags.values()]
        known = [x for x in (episode.rewards, *flags) if x is not None]
        steps = zip(episode.executed_actions.tolist(), *(x.tolist() for x in known), strict=True)
        observations = episode.observations.tolist()
        for observation, (actions, *others) in zip(observations, steps, strict=False):
            writer.writerow([index, *observation, *actions, *others])
        num_empty = len(columns) - demos.num_states
        writer.writerow([index, *observations[-1], *[""] * num_empty])
    storage.replace_file(path, text.getvalue().encode("ascii"))
