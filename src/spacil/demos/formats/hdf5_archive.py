"""Reading HDF5 files that may come from anyone; runs in the importer's child process.

Plain numbers only, from hard links inside the file: an HDF5 file can otherwise name other files
(external links, external storage, virtual datasets) and have them read. Every size is checked by
what the file declares and what it really stores, before memory is taken.
"""

import math
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spacil.demos.formats.d4rl_names import ALIASES
from spacil.errors import ConfigError, DataError
from spacil.sandbox.limits import check_declared_bytes

Arrays = dict[str, Any]
Notes = dict[str, Any]

MINARI_FILE = "main_data.hdf5"
MINARI_FIELDS = ("observations", "actions", "rewards", "terminations", "truncations")
MINARI_INFOS = frozenset(
    {"raw_actions", "next_observations", "next_is_terminal"}
    | {"initial_qpos", "initial_qvel", "qpos", "qvel"}
)

_NUMBERS = {"bool", "float16", "float32", "float64"} | {
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
}
_MAX_OBJECTS = 1_000_000
_MAX_DEPTH = 4
"""Groups may contain each other: without a bound the walk would not end."""


def load_library() -> Any:
    try:
        import h5py
    except ImportError:
        raise ConfigError("reading HDF5 needs h5py: pip install 'spacil[hdf5]'") from None
    return h5py


def read_d4rl(path: Path) -> tuple[Arrays, Notes]:
    """The arrays with a name that means something to us; the others are listed."""
    with _opened(path) as file:
        datasets = dict(_datasets(file, path))
        wanted = {name: dataset for name, dataset in datasets.items() if name in ALIASES}
        ignored = sorted(set(datasets) - set(wanted))[:100]
        return _read(wanted, path), {"ignored": ignored}


def read_minari(path: Path) -> tuple[Arrays, Notes]:
    """All episodes of a Minari data folder, under names such as "0/observations"."""
    path = path / MINARI_FILE
    with _opened(path) as file:
        num_episodes = len(file)
        wanted, ignored, seeds = {}, set(), []
        for index in range(num_episodes):
            group = _group(file, f"episode_{index}", path)
            seeds.append(_seed(group))
            for name in MINARI_FIELDS:
                wanted[f"{index}/{name}"] = _dataset(group, name, path)
            if "infos" in group:
                infos = _group(group, "infos", path)
                names = set(infos)
                ignored |= names - MINARI_INFOS
                for name in names & MINARI_INFOS:
                    wanted[f"{index}/infos/{name}"] = _dataset(infos, name, path)
        notes = {"num_episodes": num_episodes, "ignored": sorted(ignored)[:100], "seeds": seeds}
        return _read(wanted, path), notes


def _seed(group: Any) -> int | None:
    """What an episode's reset was seeded with, where the file says so."""
    seed = group.attrs.get("seed")
    return (
        int(seed) if getattr(seed, "dtype", None) is not None and seed.dtype.kind in "iu" else None
    )


def _opened(path: Path) -> Any:
    h5py = load_library()
    if not stat.S_ISREG(path.stat().st_mode):
        raise DataError(f"{path}: not a regular file")
    return h5py.File(path, "r")


def _datasets(
    group: Any, path: Path, prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Any]]:
    h5py = load_library()
    if depth > _MAX_DEPTH:
        raise DataError(f"{path}: groups nested deeper than {_MAX_DEPTH}; expected D4RL's layout")
    for number, name in enumerate(group):
        if number > _MAX_OBJECTS:
            raise DataError(f"{path}: more than {_MAX_OBJECTS} objects in one group")
        member = _member(group, name, path)
        if isinstance(member, h5py.Group):
            yield from _datasets(member, path, f"{prefix}{name}/", depth + 1)
        elif isinstance(member, h5py.Dataset):
            yield f"{prefix}{name}", member


def _member(group: Any, name: str, path: Path) -> Any:
    h5py = load_library()
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise DataError(f"{path}: '{name}' is a link to elsewhere, which is not followed")
    return group[name]


def _group(parent: Any, name: str, path: Path) -> Any:
    if name not in parent or not isinstance(
        group := _member(parent, name, path), load_library().Group
    ):
        raise DataError(f"{path}: has no group '{name}'; expected Minari's layout")
    return group


def _dataset(group: Any, name: str, path: Path) -> Any:
    where = f"{group.name}/{name}"
    if name not in group:
        raise DataError(f"{path}: '{where}' is missing; expected Minari's layout")
    dataset = _member(group, name, path)
    if not isinstance(dataset, load_library().Dataset):
        raise DataError(
            f"{path}: '{where}' is a group: Dict and Tuple spaces are not supported, only a Box"
        )
    return dataset


def _read(datasets: dict[str, Any], path: Path) -> Arrays:
    check_declared_bytes(sum(_checked_bytes(each, path) for each in datasets.values()), path)
    return {name: dataset[()] for name, dataset in datasets.items()}


def _checked_bytes(dataset: Any, path: Path) -> int:
    """The size of an array that is safe to read; anything else is refused."""
    h5py, kind, shape = load_library(), dataset.dtype, dataset.shape
    where = f"{path}: '{dataset.name}'"
    if kind.name not in _NUMBERS:
        raise DataError(f"{where} is of type {kind}, expected numbers or flags")
    if shape is None:
        raise DataError(f"{where} holds nothing")
    created = dataset.id.get_create_plist()
    if created.get_layout() == h5py.h5d.VIRTUAL or created.get_external_count():
        raise DataError(f"{where} takes its numbers from other files, which are not opened")
    declared = math.prod(shape) * kind.itemsize
    if declared and not _is_all_there(dataset, created, declared):
        raise DataError(f"{where} declares shape {shape} and was not written to its end")
    return int(declared)


def _is_all_there(dataset: Any, created: Any, declared: int) -> bool:
    """Whether all declared numbers are stored: missing ones would silently read as zeros."""
    if created.get_layout() != load_library().h5d.CHUNKED:
        return bool(dataset.id.get_storage_size() >= declared)
    pairs = zip(dataset.shape, created.get_chunk(), strict=True)
    return bool(
        dataset.id.get_num_chunks() == math.prod(-(-size // chunk) for size, chunk in pairs)
    )
