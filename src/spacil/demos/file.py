"""Demonstration files: the native one, and the way to all others.

Native: one safetensors file with one JSON document in its header, and a content hash over the
document and all tensors, so that any changed bit is found. A file is refused as a whole or loaded
as a whole, and nothing in it is ever executed or imported. Other formats are parsed in the
importer's child process.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from spacil import storage
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.edits import without_tensors
from spacil.demos.formats import csv_file, imitation, minari
from spacil.demos.formats.d4rl import export_d4rl, import_d4rl
from spacil.demos.formats.npz import export_npz, import_npz
from spacil.demos.metadata import DemoMetadata
from spacil.demos.schema import check_structure
from spacil.demos.seal import FORMAT
from spacil.errors import ConfigError, DataError, StorageError
from spacil.storage import sealed_file as single_file

NATIVE_SUFFIX = ".demos.safetensors"
FORMAT_VERSION = 1
_DOCUMENT_KEYS = {"task", "env_fingerprint", "provenance"}


def load_demos(source: str | Path) -> Demonstrations:
    """Demonstrations from anywhere: a file or folder of any format, `minari:ID`, or a task's name.

    `load_demos("Hopper-v4")` loads the bundled ones of a task.
    """
    require_name(source)
    bundled = bundled_demos()
    if isinstance(source, str) and source in bundled:
        with as_file(bundled[source]) as path:
            return _load_native(path)
    path = _path_of(source)
    with storage.os_errors_as(DataError, "read", path):
        is_file, is_folder = path.is_file(), path.is_dir()
    if not (is_file or is_folder):
        names = ", ".join(sorted(bundled)) or "none"
        raise DataError(f"no demonstrations '{source}': no such file; bundled tasks: {names}")
    name = _format_of_folder(path) if is_folder else _format_of_file(path)
    return _FORMATS[name].load(path)


def require_name(source: object) -> None:
    """Refuse what names no file, folder or task; arrays in its place are a frequent slip."""
    if not isinstance(source, str | os.PathLike):
        raise ConfigError(
            f"demonstrations cannot be loaded from a {type(source).__name__}: pass a file, a "
            "task's name, or for arrays the record that spacil.Demonstrations.from_arrays("
            "observations, executed_actions) makes of one array per episode each"
        )


def save_demos(demos: Demonstrations, target: str | Path, form: str | None = None) -> None:
    """Write demonstrations atomically, in the given format or the one that the target names.

    `.safetensors` is the native format, any other ending that of its format, `minari:ID` a new
    dataset in the local Minari root. What the format has no place for is left out (`left_out`).
    """
    known = _FORMATS[require_savable(target, form)]
    known.save(without_tensors(demos, known.leaves_out), _path_of(target))


def left_out(demos: Demonstrations, form: str) -> list[str]:
    """The tensors of a record that a format has no place for."""
    return [name for name in _FORMATS[form].leaves_out if getattr(demos, name) is not None]


def require_savable(target: str | Path, form: str | None = None) -> str:
    """Refuse a target that cannot be written: worth asking before hours of recording."""
    if form is not None and form not in _FORMATS:
        raise ConfigError(f"no format '{form}'; choose {', '.join(_FORMATS)}")
    path = _path_of(target)
    name = form or _format_of_target(target)
    if name is None:
        endings = [ending for known in _FORMATS.values() for ending in known.suffixes]
        raise DataError(
            f"cannot save demonstrations as '{path.name}': end the name in "
            f"{' or '.join(endings)}, e.g. Hopper-v4{NATIVE_SUFFIX}, or name the format: "
            f"{', '.join(_FORMATS)}"
        )
    known = _FORMATS[name]
    if known.suffixes and path.suffix.lower() not in known.suffixes:
        # Under another suffix it would be taken for another format, or for none.
        raise ConfigError(f"'{path.name}': the name of a {name} file ends in {known.suffixes[0]}")
    with storage.os_errors_as(StorageError, "write", path):
        if not (path.parent.is_dir() or _is_minari_id(target)):
            raise StorageError(f"cannot write {str(path)!r}: there is no folder of that name")
        if known.suffixes and path.is_dir():
            raise StorageError(f"cannot write {str(path)!r}: it is a folder")
        if not known.suffixes and os.path.lexists(path):
            raise StorageError(f"{str(path)!r} exists already and is not written over")
    return name


def bundled_demos() -> dict[str, Traversable]:
    """The packaged demonstrations by task name."""
    return bundled_files(NATIVE_SUFFIX)


def bundled_files(suffix: str) -> dict[str, Traversable]:
    """The packaged files whose name is a task's and this suffix, by task name."""
    assets = files("spacil") / "demos" / "assets"
    if not assets.is_dir():
        return {}
    return {
        asset.name.removesuffix(suffix): asset
        for asset in assets.iterdir()
        if asset.name.endswith(suffix)
    }


def _save_native(demos: Demonstrations, path: Path) -> None:
    document = demos.metadata.as_document()
    single_file.save(path, demos.tensors(), document, FORMAT, FORMAT_VERSION)


def _load_native(path: Path) -> Demonstrations:
    tensors, document = single_file.load(path, FORMAT, FORMAT_VERSION)
    if set(document) != _DOCUMENT_KEYS:
        raise DataError(f"{path}: its document was changed or damaged; fetch or record it again")
    check_structure(tensors, str(path))
    return Demonstrations(**tensors, metadata=DemoMetadata(**document), source=str(path))


def _path_of(source: str | Path) -> Path:
    return minari.dataset_folder(str(source)) if _is_minari_id(source) else Path(source)


def _is_minari_id(source: str | Path) -> bool:
    return isinstance(source, str) and source.startswith(minari.PREFIX)


def _format_of_file(path: Path) -> str:
    """By its ending; any other is read as native, whose reader says what it is."""
    return _SUFFIXES.get(path.suffix.lower(), "native")


def _format_of_target(target: str | Path) -> str | None:
    return "minari" if _is_minari_id(target) else _SUFFIXES.get(Path(target).suffix.lower())


def _format_of_folder(path: Path) -> str:
    markers = {name: known.marker for name, known in _FORMATS.items() if known.marker}
    for name, marker in markers.items():
        if (path / marker).is_file():
            return name
    expected = " nor ".join(f"{marker} ({name})" for name, marker in markers.items())
    raise DataError(f"{path}: a folder that holds no demonstrations: neither {expected} is there")


@dataclass(frozen=True)
class _Format:
    """How one format is read and written: a file by its suffixes, else a folder by its marker."""

    load: Callable[[Path], Demonstrations]
    save: Callable[[Demonstrations, Path], None]
    suffixes: tuple[str, ...] = ()
    marker: str = ""
    """A file that every folder of this format holds."""
    leaves_out: tuple[str, ...] = ()
    """Optional tensors of a record that it has no place for."""


# A new format is one file in `formats` and one line here.
_FORMATS = {
    "native": _Format(_load_native, _save_native, (".safetensors",)),
    "npz": _Format(import_npz, export_npz, (".npz",)),
    "csv": _Format(
        csv_file.import_csv, csv_file.export_csv, (".csv",), leaves_out=csv_file.LEAVES_OUT
    ),
    "d4rl": _Format(import_d4rl, export_d4rl, (".hdf5", ".h5")),
    "minari": _Format(
        minari.import_minari, minari.export_minari, marker=f"data/{minari.METADATA_FILE}"
    ),
    "imitation": _Format(
        imitation.import_imitation,
        imitation.export_imitation,
        marker=imitation.INFO_FILE,
        leaves_out=imitation.LEAVES_OUT,
    ),
}
_SUFFIXES = {suffix: name for name, known in _FORMATS.items() for suffix in known.suffixes}
