"""Reading trajectories of the imitation library; runs in the importer's child process.

They lie in a folder written by Hugging Face `datasets`: Arrow streams, one row per trajectory,
and `state.json` with their names. The column `infos` holds jsonpickle, which can run code: it is
never read.
"""

import io
import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np

from spacil.errors import ConfigError, DataError
from spacil.sandbox.limits import check_declared_bytes

Arrays = dict[str, Any]
Notes = dict[str, Any]

STATE_FILE = "state.json"
_FILE_NAME = re.compile(r"[\w.-]+\.arrow")
_MAX_STATE_BYTES = 2**20
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_NESTED = {"obs": 2, "acts": 2, "rews": 1, "terminal": 0}
"""Column name -> list levels within one trajectory."""


def load_library() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ConfigError(
            "reading trajectories of the imitation library needs pyarrow: "
            "pip install 'spacil[imitation]'"
        ) from None
    import pyarrow.ipc

    return pyarrow


def read_imitation(folder: Path) -> tuple[Arrays, Notes]:
    """Each column flat, with the lengths of its trajectories beside it."""
    pyarrow = load_library()
    tables = [_table(pyarrow, file) for file in _data_files(folder)]
    table = pyarrow.concat_tables(tables)
    for name in ("obs", "acts", "terminal"):
        if name not in table.column_names:
            raise DataError(
                f"{folder}: has no column '{name}', it has {table.column_names}; expected "
                "trajectories saved by the imitation library"
            )
    arrays: Arrays = {}
    for name, depth in _NESTED.items():
        if name in table.column_names:
            arrays |= _column(pyarrow, table[name], name, depth, folder)
    return arrays, {"ignored": sorted(set(table.column_names) - set(_NESTED))}


def _data_files(folder: Path) -> list[Path]:
    """The files that the folder's state names; they must lie in the folder itself."""
    state_file = folder / STATE_FILE
    _require_regular(state_file)
    text = state_file.read_bytes()
    if len(text) > _MAX_STATE_BYTES:
        raise DataError(f"{state_file}: {len(text):,} bytes, expected a short list of files")
    match json.loads(text):
        case {"_data_files": [*entries]} if entries:
            names = [entry.get("filename", "") for entry in entries if isinstance(entry, dict)]
        case _:
            raise DataError(f"{state_file}: names no data files")
    if len(names) != len(entries) or len(set(names)) != len(names):
        raise DataError(f"{state_file}: its list of files is damaged")
    for name in names:
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise DataError(f"{state_file}: names the file {name!r}, which is not in this folder")
        _require_regular(folder / name)
    return [folder / name for name in names]


def _require_regular(path: Path) -> None:
    # lstat: a link could lead out of the folder.
    if not stat.S_ISREG(path.lstat().st_mode):
        raise DataError(f"{path}: not a regular file")


def _table(pyarrow: Any, path: Path) -> Any:
    with path.open("rb") as file:
        file.seek(-len(_END_OF_STREAM), io.SEEK_END)
        # Without it the reader would take a file cut between two batches for a shorter one.
        if file.read() != _END_OF_STREAM:
            raise DataError(f"{path}: cut short, or not an Arrow stream; save it again")
    with pyarrow.OSFile(str(path)) as source, pyarrow.ipc.open_stream(source) as stream:
        fields = [field.name for field in stream.schema]
        if len(set(fields)) != len(fields):
            raise DataError(f"{path}: two columns have one name")
        table = stream.read_all()
    check_declared_bytes(table.nbytes, path)
    # Offsets in a damaged file may point anywhere.
    table.validate(full=True)
    known = [name for name in fields if name in _NESTED]
    return table.select(known)


def _column(pyarrow: Any, column: Any, name: str, depth: int, folder: Path) -> Arrays:
    where = f"{folder}: column '{name}'"
    values = column.combine_chunks()
    if isinstance(values, pyarrow.ChunkedArray):
        values = pyarrow.concat_arrays(values.chunks)
    lengths = []
    for _ in range(depth):
        if values.null_count or not _is_list(pyarrow, values.type):
            raise DataError(f"{where} is {values.type}, expected lists of numbers without gaps")
        lengths.append(values.value_lengths().to_numpy(zero_copy_only=False))
        values = values.flatten()
    is_number = pyarrow.types.is_floating(values.type) or pyarrow.types.is_integer(values.type)
    if values.null_count or not (is_number or pyarrow.types.is_boolean(values.type)):
        raise DataError(f"{where} holds {values.type}, expected numbers without gaps")
    flat = values.to_numpy(zero_copy_only=False)
    if depth == 0:
        return {name: flat}
    if depth == 2:
        widths = np.unique(lengths[1])
        if len(widths) != 1 or widths[0] == 0:
            raise DataError(
                f"{where} has rows of {widths.tolist()[:5]} numbers, expected one width"
            )
        flat = flat.reshape(-1, int(widths[0]))
    return {name: flat, f"{name}_lengths": lengths[0].astype(np.int64)}


def _is_list(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
