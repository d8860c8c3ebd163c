"""CSV files: one row per step, as spreadsheets and data frames write them.

Columns `episode`, `obs_0`, `obs_1`, ..., `action_0`, ..., and where known `reward`, `terminated`,
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


def read_csv(path: Path) -> tuple[Arrays, dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = [row for row in csv.reader(file, strict=True) if row] or [[]]
    names = [name.strip() for name in names]
    columns = {name: place for place, name in enumerate(names)}
    runs: dict[str, list[int]] = {}
    for prefix in ("obs", "action"):
        number = sum(name.startswith(f"{prefix}_") for name in names)
        runs[prefix] = [columns.get(f"{prefix}_{index}", -1) for index in range(number)]
        if -1 in runs[prefix] or not number or "episode" not in columns:
            raise DataError(
                f"{path}: expected columns episode, obs_0, ... and action_0, ... with no gap; its "
                f"first line is {','.join(names)[:80]!r}"
            )
    if len(columns) != len(names) or not rows:
        wrong = "two columns have one name" if rows else "no episodes, its first line is its last"
        raise DataError(f"{path}: {wrong}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise DataError(f"{path}: row {number} has {len(row)} cells, expected {len(names)}")
    optional = {field: columns[name] for name, field in _OPTIONAL.items() if name in columns}
    cells = np.char.strip(np.array(rows, dtype=str))
    episodes = cells[:, columns["episode"]]
    is_first = np.append(True, episodes[1:] != episodes[:-1])
    is_step = (cells[:, [*runs["action"], *optional.values()]] != "").any(axis=1)
    if len(np.unique(episodes)) != is_first.sum():
        raise DataError(f"{path}: the rows of an episode do not stand together")
    if not (is_step | np.append(is_first[1:], True)).all():
        raise DataError(f"{path}: a row without an action before the end of its episode")
    arrays: Arrays = {
        "observations": cells[:, runs["obs"]].astype(float),
        "executed_actions": cells[is_step][:, runs["action"]].astype(float),
        "episode_lengths": np.bincount(np.cumsum(is_first)[is_step] - 1),
    }
    for field, place in optional.items():
        known = [_WORDS.get(cell.lower(), cell) for cell in cells[is_step, place].tolist()]
        arrays[field] = np.array(known).astype(float)
    used = {"episode", *_OPTIONAL, *(names[place] for run in runs.values() for place in run)}
    return arrays, {"ignored": sorted(columns.keys() - used)[:100]}


def write_csv(demos: "Demonstrations", path: Path) -> None:
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
