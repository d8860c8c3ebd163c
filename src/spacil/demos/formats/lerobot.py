"""LeRobot datasets, v2.1 and v3: a folder of Parquet files with `meta/info.json`.

Low-dimensional features alone are read: `action`, those that begin with `observation.`, and the
columns that say which row is which. Images and videos are left out by the dtype of their feature.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.errors import DataError
from spacil.foreign import Arrays

MARKER = "meta/info.json"
_ROWS = ("timestamp", "episode_index", "frame_index", "next.done", "next.reward")


def read(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """Observations stay apart under their own names, `observation: NAME`, for a user to choose."""
    arrays, notes = read_columns(folder)
    columns = {name: arrays[str(k)] for k, name in enumerate(notes["columns"])}
    if "action" not in columns or "episode_index" not in columns:
        raise DataError(f"{folder}: has {', '.join(columns)}; expected action and episode_index")
    ends = np.append(np.flatnonzero(np.diff(columns["episode_index"].ravel())) + 1, notes["rows"])
    found: Arrays = {
        f"observation: {name}": x.reshape(len(x), -1)
        for name, x in columns.items()
        if name.startswith("observation.")
    }
    found["executed_actions"] = columns["action"].reshape(notes["rows"], -1)
    found["episode_lengths"] = np.diff(ends, prepend=0)
    if "next.reward" in columns:
        found["rewards"] = columns["next.reward"].ravel()
    about = {"fps": notes["fps"], "robot": notes["robot"], "names": notes["names"]}
    return found, {"ignored": notes["ignored"], "provenance": {"lerobot": about}}


def read_columns(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """Every low-dimensional column, numbered as in the notes' `columns`, rows in their order."""
    import pyarrow as pa
    from pyarrow import parquet

    info = json.loads((folder / MARKER).read_text())
    version = str(info.get("codebase_version"))
    if not version.startswith(("v2", "v3")):
        raise DataError(f"{folder}: LeRobot {version}, expected v2.0, v2.1 or v3.0; convert it")
    features: dict[str, Any] = info["features"]
    is_read = {
        name: name in _ROWS or name == "action" or name.startswith("observation.")
        for name, one in features.items()
        if one["dtype"].startswith(("float", "int", "bool"))
    }
    names = [name for name, wanted in is_read.items() if wanted]
    files = sorted((folder / "data").glob("*/*.parquet"))
    if not files:
        raise DataError(f"{folder}: no file data/*/*.parquet: were only its videos fetched?")
    table = pa.concat_tables([parquet.read_table(file, columns=names) for file in files])
    if table.num_rows != info["total_frames"]:
        raise DataError(
            f"{folder}: {table.num_rows} rows, its info.json says {info['total_frames']}: fetch it "
            "again, all of it"
        )
    columns = columns_of(table)
    order = np.lexsort((columns["frame_index"].ravel(), columns["episode_index"].ravel()))
    vectors = {name: features[name].get("names") for name in names}
    notes = {
        "columns": names,
        "rows": table.num_rows,
        "fps": info["fps"],
        "robot": info.get("robot_type"),
        "names": {name: given for name, given in vectors.items() if isinstance(given, list)},
        "ignored": sorted(set(features) - set(names)),
    }
    return {str(k): columns[name][order] for k, name in enumerate(names)}, notes


def columns_of(table: Any) -> dict[str, NDArray[Any]]:
    """The numbers of an Arrow table by column, [T] or [T, K]; what is no number is left out."""
    import pyarrow as pa

    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, values = column.type, column.combine_chunks()
        if (
            pa.types.is_list(kind)
            or pa.types.is_fixed_size_list(kind)
            or pa.types.is_large_list(kind)
        ):
            if pa.types.is_primitive(kind.value_type) and len(values):
                flat = values.flatten().to_numpy(zero_copy_only=False)
                if len(flat) % len(values) == 0:
                    found[name] = flat.reshape(len(values), -1)
        elif pa.types.is_timestamp(kind):
            found[name] = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
        elif pa.types.is_primitive(kind):
            found[name] = values.to_numpy(zero_copy_only=False)
    return found


def chosen(arrays: Arrays, keys: Sequence[str], source: object) -> Arrays:
    """Put the observations that `keys` names, or all of them, side by side as `observations`."""
    there = {
        name.removeprefix("observation: "): name
        for name in arrays
        if name.startswith("observation: ")
    }
    if unknown := sorted(set(keys) - set(there)):
        raise DataError(
            f"{source}: has no observation {', '.join(unknown)}; choose --obs-keys among "
            f"{', '.join(there)}"
        )
    if not there:
        raise DataError(f"{source}: holds no low-dimensional observations")
    names = [there[key] for key in keys or there]
    rest = {name: x for name, x in arrays.items() if name not in there.values()}
    return {**rest, "observations": np.concatenate([arrays[name] for name in names], axis=1)}
