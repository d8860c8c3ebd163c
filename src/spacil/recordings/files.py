"""Recordings in files: Parquet, CSV, npz, HDF5, LeRobot folders, Minari datasets.

Columns are found by the names that people give them, or by those that a user names. The readers run
in a child with limits (`spacil.foreign`) and import no torch.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.demos.formats import lerobot, minari, robomimic
from spacil.errors import ConfigError, DataError
from spacil.foreign import Arrays, Reader, read_foreign

Columns = dict[str, NDArray[Any]]
"""[T, K] by name; K is 1 for a plain column"""

COMMANDS: tuple[str, ...] = (
    *("command", "commands", "commanded", "cmd", "action", "actions", "ctrl", "control"),
    *("setpoint", "desired", "des", "target", "targets", "goal"),
)
MEASURED: tuple[str, ...] = (
    *("measured", "measurement", "qpos", "q", "actual", "present", "encoder", "position"),
    *("positions", "pos", "joint", "joints", "state", "states", "observation", "observations"),
    "obs",
)
TIME = ("timestamp", "timestamps", "time", "stamp", "t", "secs", "seconds")
EPISODE = ("episode", "episodes")
_OTHER = {
    *("qvel", "vel", "velocity", "velocities", "speed", "effort", "torque", "current", "next"),
    *("image", "images", "reward", "rewards", "done", "index", "id", "terminals", "timeouts"),
}
SUFFIXES = (".parquet", ".csv", ".npz", ".hdf5", ".h5")


def is_recording(source: str) -> bool:
    """Whether a source is a recording and no policy."""
    path = Path(source)
    return (
        path.suffix.lower() in SUFFIXES
        or source.startswith(minari.PREFIX)
        or (path / lerobot.MARKER).is_file()
        or (path / minari.MARKER).is_file()
        or (not path.exists() and minari.dataset_folder(source).is_dir())
    )


def load_recording(
    source: str,
    commands: Sequence[str] = (),
    measured: Sequence[str] = (),
    time: str | None = None,
) -> tuple[Arrays, list[str], float | None]:
    """Arrays for `diagnose_recording`, the joints' names, and the rate if the file tells it."""
    path = Path(source)
    if not path.exists():
        path = minari.dataset_folder(source)
    if not path.exists():
        raise DataError(f"no recording '{source}': no such file, folder or Minari dataset")
    suffix = path.suffix.lower()
    table: dict[str, tuple[Reader, str]] = {
        ".npz": (read_npz, "numpy"),
        ".csv": (read_csv, "pyarrow"),
        ".parquet": (read_parquet, "pyarrow"),
        **dict.fromkeys((".hdf5", ".h5"), (read_hdf5, "h5py")),
    }
    reader: tuple[Reader, str]
    if path.is_dir():
        is_lerobot = (path / lerobot.MARKER).is_file()
        reader = (lerobot.read_columns, "pyarrow") if is_lerobot else (read_minari, "minari")
    elif suffix in table:
        reader = table[suffix]
    else:
        raise DataError(
            f"{path}: expected a file that ends in {', '.join(SUFFIXES)}, or a folder of LeRobot "
            "or Minari"
        )
    arrays, notes = read_foreign(reader[0], path, reader[1], "recordings")
    columns = {name: arrays[str(k)] for k, name in enumerate(notes["columns"])}
    columns = {name: x[:, None] if x.ndim == 1 else x for name, x in columns.items()}
    found, names = arrays_of(columns, str(path), commands, measured, time)
    for place, name in enumerate(names):  # LeRobot names the joints of a vector
        of_vector = notes.get("names", {}).get(name.rpartition("[")[0])
        names[place] = of_vector[int(name.rpartition("[")[2][:-1])] if of_vector else name
    return found, names, notes.get("fps")


def arrays_of(
    columns: Mapping[str, NDArray[Any]],
    source: str,
    commands: Sequence[str] = (),
    measured: Sequence[str] = (),
    time: str | None = None,
) -> tuple[Arrays, list[str]]:
    """Which columns are commands, measurements, time and episodes; and the joints' names."""
    there = ", ".join(
        f"{name} ({x.shape[1]})" if x.shape[1] > 1 else name for name, x in columns.items()
    )

    def named(asked: Sequence[str], flag: str) -> list[str]:
        found = []
        for pattern in asked:
            hits = [n for n in columns if n == pattern] or [
                n for n in columns if pattern.endswith("*") and n.startswith(pattern[:-1])
            ]
            if not hits:
                raise ConfigError(f"{flag} {pattern}: {source} has no such column; it has {there}")
            found += hits
        return found

    groups = {
        flag: named(asked, flag)
        for flag, asked in (("--commands", commands), ("--measured", measured))
    }
    if not groups["--commands"]:
        candidates = _groups(columns, COMMANDS, ())
        if not candidates:
            raise ConfigError(
                f"{source}: no column is called action, command or like that; choose with "
                f"--commands among {there}"
            )
        groups["--commands"] = candidates[0]
    arrays: Arrays = {"commands": _table(columns, groups["--commands"])}
    num_joints = arrays["commands"].shape[1]
    names = [
        name if columns[name].shape[1] == 1 else f"{name}[{k}]"
        for name in groups["--commands"]
        for k in range(columns[name].shape[1])
    ]
    seen = [groups["--measured"]] if measured else _groups(columns, MEASURED, groups["--commands"])
    fitting = [group for group in seen if _table(columns, group).shape[1] == num_joints]
    if measured and not fitting:
        raise ConfigError(
            f"--measured {' '.join(measured)}: {_table(columns, seen[0]).shape[1]} columns, "
            f"expected one per command, {num_joints}"
        )
    if fitting:
        order = _same_order(groups["--commands"], fitting[0])
        arrays["measured"] = _table(columns, order)
    wide = [group for group in seen if group not in fitting]
    if wide:
        arrays["observations"] = _table(columns, wide[0])
    clocks = named([time], "--time") if time else [n for g in _groups(columns, TIME, ()) for n in g]
    if clocks:
        arrays["time"] = columns[clocks[0]][:, 0]
    for group in _groups(columns, EPISODE, (), may_be_other=True)[:1]:
        arrays["episode"] = columns[group[0]][:, 0]
    return arrays, names


def _words(name: str) -> list[str]:
    return re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def _groups(
    columns: Mapping[str, NDArray[Any]],
    words: Sequence[str],
    taken: Sequence[str],
    *,
    may_be_other: bool = False,
) -> list[list[str]]:
    """Columns that a word names, the best word first: vectors alone, plain columns together."""
    found: list[list[str]] = []
    for word in words:
        hits = [
            n
            for n in columns
            if word in _words(n)
            and n not in taken
            and (may_be_other or not _OTHER & set(_words(n)))
        ]
        hits = [n for n in hits if not any(n in group for group in found)]
        if words is MEASURED:
            hits = [n for n in hits if not set(COMMANDS) & set(_words(n))]
        found += [[n] for n in hits if columns[n].shape[1] > 1]
        if plain := [n for n in hits if columns[n].shape[1] == 1]:
            found.append(plain)
    return found


def _same_order(commands: list[str], measured: list[str]) -> list[str]:
    """The measurements in the order of the commands, where the rest of their names says it."""

    def rest(name: str) -> str:
        return " ".join(
            re.findall(
                "[a-z]+|[0-9]+",
                " ".join(
                    w
                    for w in re.findall("[a-z]+|[0-9]+", name.lower())
                    if w not in (*COMMANDS, *MEASURED)
                ),
            )
        )

    by_rest = {rest(name): name for name in measured}
    keys = [rest(name) for name in commands]
    return [by_rest[key] for key in keys] if sorted(keys) == sorted(by_rest) else measured


def _table(columns: Mapping[str, NDArray[Any]], names: Sequence[str]) -> NDArray[Any]:
    return columns[names[0]] if len(names) == 1 else np.concatenate([columns[n] for n in names], 1)


# --- readers, for the child


def _answer(columns: Mapping[str, NDArray[Any]], **notes: Any) -> tuple[Arrays, dict[str, Any]]:
    kept = {n: x for n, x in columns.items() if x.dtype.kind in "biuf" and x.ndim in (1, 2)}
    longest = max((len(x) for x in kept.values()), default=0)
    kept = {n: x for n, x in kept.items() if len(x) == longest}
    arrays = {str(k): x for k, x in enumerate(kept.values())}
    return arrays, {
        "columns": list(kept),
        "ignored": sorted(set(columns) - set(kept))[:100],
        **notes,
    }


def read_npz(path: Path) -> tuple[Arrays, dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        return _answer({name: file[name] for name in file.files})


def read_csv(path: Path) -> tuple[Arrays, dict[str, Any]]:
    from pyarrow import csv

    return _answer(lerobot.columns_of(csv.read_csv(path)))


def read_parquet(path: Path) -> tuple[Arrays, dict[str, Any]]:
    from pyarrow import parquet

    return _answer(lerobot.columns_of(parquet.read_table(path)))


def read_hdf5(path: Path) -> tuple[Arrays, dict[str, Any]]:
    import h5py

    with h5py.File(path, "r") as file:
        if robomimic.is_there(file):
            columns, fps = robomimic.columns_of(file, path)
            return _answer(columns, fps=fps)
        return _answer(robomimic.datasets_of(file, path))


def read_minari(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    arrays, _ = minari.read(folder)
    lengths = arrays["episode_lengths"]
    last = np.cumsum(lengths + 1) - 1
    columns = {
        "observation": np.delete(arrays["observations"], last, axis=0),
        "action": arrays["executed_actions"],
    }
    return _answer({**columns, "episode": np.repeat(np.arange(len(lengths)), lengths)})
