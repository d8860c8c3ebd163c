"""robomimic HDF5 files: a group `data` with one group per demonstration, `demo_0`, `demo_1`, ...

Each holds `actions` [T, A], and observations in `obs/NAME` [T, K]; images have more axes, and are
left out. `env_args` of `data` is JSON about the env, which names its control rate.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import DataError
from spacil.foreign import Arrays


def is_there(file: Any) -> bool:
    """Whether an open HDF5 file has robomimic's layout."""
    return "data" in file and any(name.startswith("demo_") for name in file["data"])


def read(file: Any, path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Observations stay apart under their own names, `observation: NAME`, for a user to choose."""
    columns, fps = columns_of(file, path)
    demos = columns.pop("episode")
    found = {
        f"observation: {n.removeprefix('obs/')}": x
        for n, x in columns.items()
        if n.startswith("obs/")
    }
    found["executed_actions"] = columns["actions"]
    found["episode_lengths"] = np.unique(demos, return_counts=True)[1]
    if "rewards" in columns:
        found["rewards"] = columns["rewards"]
    ends = np.cumsum(found["episode_lengths"]) - 1
    if "dones" in columns:
        found["terminations"] = np.zeros(len(demos), bool)
        found["terminations"][ends] = columns["dones"][ends] > 0
        found["truncations"] = np.zeros(len(demos), bool)
        found["truncations"][ends] = ~found["terminations"][ends]
    about = {} if fps is None else {"fps": fps}
    return found, {"ignored": [], "provenance": {"robomimic": about}}


def columns_of(file: Any, path: Path) -> tuple[dict[str, NDArray[Any]], float | None]:
    """What every demonstration has, rows of all in the order of their numbers; and the rate."""
    demos = sorted(
        (name for name in file["data"] if re.fullmatch(r"demo_\d+", name)),
        key=lambda name: int(name.removeprefix("demo_")),
    )
    parts = [datasets_of(file["data"][name], path, "actions") for name in demos]
    names = [name for name in parts[0] if all(name in part for part in parts)]
    if "actions" not in names:
        raise DataError(f"{path}: a demonstration of data has no actions")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
    columns["episode"] = np.repeat(np.arange(len(parts)), [len(part["actions"]) for part in parts])
    try:
        rate = json.loads(file["data"].attrs["env_args"])["env_kwargs"]["control_freq"]
    except (KeyError, TypeError, ValueError):
        rate = None
    return columns, None if rate is None else float(rate)


def datasets_of(group: Any, path: Path, counted: str = "") -> dict[str, NDArray[Any]]:
    """Tables of numbers in a group, by their paths; with as many rows as `counted`, if named."""
    import h5py

    found: dict[str, NDArray[Any]] = {}

    def visit(name: str, item: Any) -> None:  # hard links alone are visited
        is_table = (
            isinstance(item, h5py.Dataset) and item.ndim in (1, 2) and item.dtype.kind in "biuf"
        )
        if not is_table or name.startswith("next_obs/"):
            return
        if item.is_virtual or item.external:
            raise DataError(f"{path}: '{name}' takes its numbers from other files: not opened")
        if not counted or len(item) == len(group[counted]):
            found[name] = item[()]

    group.visititems(visit)
    return found
