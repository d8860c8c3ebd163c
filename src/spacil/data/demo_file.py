"""Demonstration files: the native one, and the way to all others.

Native: one safetensors file with one JSON document in its header, and a content hash over the
document and all tensors, so that any changed bit is found. A file is refused as a whole or loaded
as a whole, and nothing in it is ever executed or imported.
"""

from collections.abc import Callable
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from spacil import single_file, storage
from spacil.data.demo_metadata import DemoMetadata
from spacil.data.demo_schema import check_structure
from spacil.data.demos import Demonstrations
from spacil.data.formats.npz import export_npz, import_npz
from spacil.errors import DataError, StorageError

NATIVE_SUFFIX = ".demos.safetensors"
FORMAT = "spacil-demonstrations"
FORMAT_VERSION = 1
_DOCUMENT_KEYS = {"task", "env_fingerprint", "provenance"}


def load_demos(source: str | Path) -> Demonstrations:
    """Demonstrations from a file, or the bundled ones of a task: `load_demos("Hopper-v4")`."""
    bundled = bundled_demos()
    if isinstance(source, str) and source in bundled:
        with as_file(bundled[source]) as path:
            return _load_native(path)
    path = Path(source)
    with storage.os_errors_as(DataError, "read", path):
        is_file = path.is_file()
    if not is_file:
        names = ", ".join(sorted(bundled)) or "none"
        raise DataError(f"no demonstrations '{source}': no such file; bundled tasks: {names}")
    return _IMPORTERS.get(path.suffix.lower(), _load_native)(path)


def save_demos(demos: Demonstrations, path: str | Path) -> None:
    """Write a native file (.safetensors), or another format by the path's suffix, atomically."""
    path = Path(path)
    require_savable(path)
    _EXPORTERS[path.suffix.lower()](demos, path)


def require_savable(path: Path) -> None:
    """Refuse a path that `save_demos` could not write: worth asking before hours of recording."""
    if path.suffix.lower() not in _EXPORTERS:
        raise DataError(
            f"cannot save demonstrations as '{path.name}': end the name in "
            f"{' or '.join(_EXPORTERS)}, e.g. Hopper-v4{NATIVE_SUFFIX}"
        )
    with storage.os_errors_as(StorageError, "write", path):
        if not path.parent.is_dir():
            raise StorageError(f"cannot write {str(path)!r}: there is no folder of that name")
        if path.is_dir():
            raise StorageError(f"cannot write {str(path)!r}: it is a folder")


def bundled_demos() -> dict[str, Traversable]:
    """The packaged demonstrations by task name."""
    assets = files("spacil") / "data" / "assets"
    if not assets.is_dir():
        return {}
    return {
        asset.name.removesuffix(NATIVE_SUFFIX): asset
        for asset in assets.iterdir()
        if asset.name.endswith(NATIVE_SUFFIX)
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


# One line per format, by what a path looks like. A path that looks like none is read as native,
# whose reader tells by the first bytes what it is instead.
_IMPORTERS: dict[str, Callable[[Path], Demonstrations]] = {".npz": import_npz}
_EXPORTERS: dict[str, Callable[[Demonstrations, Path], None]] = {
    ".safetensors": _save_native,
    ".npz": export_npz,
}
