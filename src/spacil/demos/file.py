"""Demonstration files: the native one, and the way to all others.

Native: one safetensors file with one JSON document in its header, and a content hash over the
document and all tensors, so that any changed bit is found. Nothing in a file is ever executed or
imported. Other formats are read in a child process with limits.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.episode import OPTIONAL
from spacil.demos.formats import csv_file, d4rl, imitation, lerobot, minari, npz, table
from spacil.demos.metadata import DemoMetadata
from spacil.errors import ConfigError, DataError, StorageError
from spacil.foreign import Reader, read_foreign

NATIVE_SUFFIX = ".demos.safetensors"
FORMAT, FORMAT_VERSION = "spacil-demonstrations", 1


@dataclass(frozen=True)
class Format:
    """A format of others: files known by their suffixes, else folders by a file they hold."""

    read: Reader
    """Called in the child process."""
    write: Callable[[Demonstrations, Path], None] | None
    """None: it is read alone."""
    suffixes: tuple[str, ...] = ()
    marker: str = ""
    """File that every folder of this format holds."""
    library: str = "numpy"
    """Package that it needs."""
    extra: str = ""
    """Optional part of spacil that brings the package."""
    leaves_out: tuple[str, ...] = tuple(name for name in OPTIONAL if name != "rewards")
    """Optional tensors of a record that it has no place for."""


FORMATS = {
    "npz": Format(npz.read, npz.write, (".npz",), leaves_out=()),
    "csv": Format(csv_file.read, csv_file.write, (".csv",)),
    "d4rl": Format(d4rl.read, d4rl.write, (".hdf5", ".h5"), "", "h5py", "hdf5"),
    "minari": Format(minari.read, minari.write, (), minari.MARKER, "minari", "minari"),
    "imitation": Format(
        imitation.read, imitation.write, (), "dataset_info.json", "datasets", "imitation"
    ),
    "lerobot": Format(lerobot.read, None, (), lerobot.MARKER, "pyarrow", "recordings"),
}
"""A new format is one file in `formats` and one row here."""


def load_demos(
    source: object,
    obs_keys: Sequence[str] = (),
    *,
    obs: Sequence[str] = (),
    act: Sequence[str] = (),
    episode_from: str | None = None,
) -> Demonstrations:
    """Load demonstrations: a file or folder of any format, `minari:ID`, or a task's name.

    `load_demos("Hopper-v4")` loads the bundled ones of a task. Taken directly: a dict of arrays by
    the names that an npz has, a pair of observations and actions (one array per episode each, or
    stacked), a `MinariDataset`. Of a CSV or Parquet table with other columns name them: `obs`,
    `act`, and in `episode_from` one that tells episodes apart. `obs_keys`: names of the
    observations of a LeRobot or robomimic dataset that make a state, in this order; else all.
    """
    if isinstance(source, Demonstrations):
        return source
    if isinstance(source, Mapping):
        found = {str(name): np.asarray(array) for name, array in source.items()}
        arrays = {name: array for name, array in found.items() if name in npz.NAMES}
        flat = npz.flat_arrays(arrays, found.keys() - arrays.keys(), Path("arrays"))
        return Demonstrations.from_tensors(flat, DemoMetadata(), "arrays")
    if isinstance(source, tuple) and len(source) == 2:
        return Demonstrations.from_arrays(*map(list, source))
    if not isinstance(source, str | os.PathLike):
        stored = getattr(getattr(source, "storage", None), "data_path", None)
        if stored is None:
            raise ConfigError(
                f"demonstrations cannot be loaded from a {type(source).__name__}: pass a file, a "
                "task's name, a dict of arrays, a pair of observations and actions (one array per "
                "episode each), or what spacil.Demonstrations.from_arrays makes of them"
            )
        source = Path(stored).parent  # of a MinariDataset
    if obs:
        path = Path(source)
        reader, library, extra = table.READERS.get(path.suffix.lower(), (None, "", ""))
        if reader is None or episode_from is None or not path.is_file():
            raise DataError(
                f"{path}: columns are named of a .csv or .parquet file, with one in --episode-from"
            )
        columns, _ = read_foreign(reader, path, library, extra)
        arrays = table.by_columns(columns, obs, act, episode_from, path)
        metadata = DemoMetadata().with_change("import_table", file=path.name, obs=list(obs))
        return Demonstrations.from_tensors(arrays, metadata, str(path))
    bundled = bundled_demos()
    if isinstance(source, str) and source in bundled:
        with as_file(bundled[source]) as path:
            return _load_native(path)
    path = _path_of(os.fspath(source))
    with storage.os_errors_as(DataError, "read", path):
        is_folder = path.is_dir()
        if not (is_folder or path.is_file()):
            remedy = f"bundled tasks: {', '.join(sorted(bundled)) or 'none'}"
            if str(source).startswith(minari.PREFIX):
                remedy = f"`minari download {str(source).removeprefix(minari.PREFIX)}` fetches it"
                remedy = f"it is not under {minari.dataset_folder('')}; {remedy}"
            elif minari.dataset_folder(str(source)).is_dir():
                remedy = f"a Minari dataset? write {minari.PREFIX}{source}"
            raise DataError(f"no demonstrations '{source}': no such file; {remedy}")
    if is_folder:
        markers = {name: known.marker for name, known in FORMATS.items() if known.marker}
        name = next((name for name, marker in markers.items() if (path / marker).is_file()), "")
        if not name:
            expected = " nor ".join(f"{marker} ({name})" for name, marker in markers.items())
            raise DataError(f"{path}: a folder of no demonstrations: neither {expected} is there")
    else:
        name = _SUFFIXES.get(path.suffix.lower(), "native")
    if name == "native":
        return _load_native(path)
    known = FORMATS[name]
    arrays, notes = read_foreign(known.read, path, known.library, known.extra)
    if any(name.startswith("observation: ") for name in arrays):
        arrays = lerobot.chosen(arrays, obs_keys, path)
    elif obs_keys:
        raise ConfigError(f"--obs-keys: {path} holds one table of observations, nothing to choose")
    ignored = notes.pop("ignored", [])
    change = {"file": path.name, **({"ignored": ignored} if ignored else {})}
    metadata = DemoMetadata(**notes).with_change(f"import_{name}", **change)
    return Demonstrations.from_tensors(arrays, metadata, str(path))


def save_demos(demos: Demonstrations, target: str | Path, form: str | None = None) -> None:
    """Write demonstrations atomically, in the given format or the one that the target names.

    `.safetensors` is the native format, any other ending that of its format, `minari:ID` a new
    dataset in the local Minari root. What the format has no place for is left out (`left_out`).
    """
    name, path = require_savable(target, form), _path_of(target)
    if name == "native":
        document = demos.metadata.as_document()
        storage.save_sealed(path, demos.tensors(), document, FORMAT, FORMAT_VERSION)
        return
    if not all(map(len, demos.episodes)):
        raise DataError(f"{demos.source}: an episode is empty, which {name} cannot hold: remove it")
    if not demos.num_actions and name in ("minari", "imitation"):
        raise DataError(f"{demos.source}: holds no actions, and {name} needs them: choose npz")
    write = FORMATS[name].write
    assert write is not None  # `require_savable` names those that have one
    try:
        write(demos, path)
    except ImportError as error:
        raise ConfigError(
            f"writing {name} needs {error.name}: pip install 'spacil[{FORMATS[name].extra}]'"
        ) from None


def left_out(demos: Demonstrations, form: str) -> list[str]:
    """Name the tensors of a record that a format has no place for."""
    names = () if form == "native" else FORMATS[form].leaves_out
    return [name for name in names if name in demos.tensors()]


def require_savable(target: str | Path, form: str | None = None) -> str:
    """Refuse a target that cannot be written: worth asking before hours of recording."""
    names = ["native", *(name for name, known in FORMATS.items() if known.write)]
    if form is not None and form not in names:
        raise ConfigError(f"no format '{form}'; choose {', '.join(names)}")
    path, is_id = _path_of(target), str(target).startswith(minari.PREFIX)
    name = form or ("minari" if is_id else _SUFFIXES.get(path.suffix.lower()))
    if name is None:
        raise DataError(
            f"cannot save demonstrations as '{path.name}': end the name in "
            f"{' or '.join(_SUFFIXES)}, e.g. Hopper-v4{NATIVE_SUFFIX}, or name the format: "
            f"{', '.join(names)}"
        )
    suffixes = [suffix for suffix, known in _SUFFIXES.items() if known == name]
    if suffixes and path.suffix.lower() not in suffixes:
        # Under another suffix it would be taken for another format, or for none.
        raise ConfigError(f"'{path.name}': the name of a {name} file ends in {suffixes[0]}")
    if not is_id:
        storage.require_free(path, overwrite=True)
    if os.path.lexists(path) and (path.is_dir() or not suffixes):
        raise StorageError(f"{str(path)!r} exists already and is not written over: name another")
    return name


def bundled_demos() -> dict[str, Traversable]:
    """Packaged demonstrations by task name."""
    return bundled_files(NATIVE_SUFFIX)


def bundled_files(suffix: str) -> dict[str, Traversable]:
    """Packaged files whose name is a task's and this suffix, by task name."""
    assets = (files("spacil") / "demos" / "assets").iterdir()
    found = {asset.name: asset for asset in assets if asset.name.endswith(suffix)}
    return {name.removesuffix(suffix): asset for name, asset in found.items()}


def _load_native(path: Path) -> Demonstrations:
    sealed = storage.load_sealed(path, FORMAT, FORMAT_VERSION)
    if sealed.document.keys() != DemoMetadata().as_document().keys():
        raise DataError(f"{path}: its document was changed or damaged; fetch or record it again")
    metadata = DemoMetadata(**sealed.document)
    return Demonstrations.from_tensors(sealed.tensors, metadata, str(path))


def _path_of(source: str | Path) -> Path:
    is_id = str(source).startswith(minari.PREFIX)
    return minari.dataset_folder(str(source)) if is_id else Path(source)


_SUFFIXES = {".safetensors": "native"}
_SUFFIXES |= {suffix: name for name, known in FORMATS.items() for suffix in known.suffixes}
