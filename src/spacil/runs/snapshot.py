"""A run folder on its way between machines that share no disk: the files a resume needs, as bytes.

The newest checkpoint, the best one, and the small files beside them. What is derived and large
(TensorBoard) stays where it was made. A snapshot is taken while the run goes on: the checkpoint
first and the metrics after it, so that metrics are ahead of the checkpoint and never behind, which
is what a resume cuts back.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from spacil import storage
from spacil.errors import StorageError
from spacil.runs.checkpoints.checkpoint import NUM_KEPT
from spacil.runs.checkpoints.names import (
    BEST,
    LATEST,
    best_as_of,
    iteration_of,
    latest_name,
    names_in,
)
from spacil.runs.heartbeat import HEARTBEAT
from spacil.runs.location import make_folder
from spacil.runs.ownership import LOCK, OWNER

Snapshot = Mapping[str, bytes]
"""File name below the run folder -> content"""

MAX_FILE_BYTES = 2**31

_OF_ONE_MACHINE = {LOCK, OWNER, HEARTBEAT}
_NAME = re.compile(r"(?:checkpoints/(?:best/)?(?:[A-Za-z0-9-]+/)?)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ATTEMPTS = 20


def take(run_dir: Path) -> dict[str, bytes]:
    """The files as they are now; nothing where no run has begun.

    A checkpoint may be replaced by a newer one while it is read: then that one is read.
    """
    for _ in range(_ATTEMPTS):
        try:
            return _files(run_dir) if run_dir.is_dir() else {}
        except (storage.DamagedFileError, FileNotFoundError):
            continue
    raise StorageError(f"{str(run_dir)!r} changes faster than it can be read")


def changes(before: Snapshot, now: Snapshot) -> dict[str, bytes]:
    return {name: content for name, content in now.items() if before.get(name) != content}


def put(run_dir: Path, snapshot: Snapshot) -> None:
    """Write a snapshot of the same run into its folder: checkpoints whole and in one step."""
    for name in snapshot:
        if not _NAME.fullmatch(name):
            raise StorageError(f"{name!r} is no file of a run: nothing was written")
    make_folder(run_dir)
    folders = {str(PurePosixPath(name).parent) for name in snapshot} - {"."}
    for folder in sorted(folders - {"checkpoints", f"checkpoints/{BEST}"}):
        _put_checkpoint(run_dir / folder, snapshot, folder)
    loose = [n for n in snapshot if n.endswith(f"/{LATEST}") or "/" not in n]
    for name in loose:
        (run_dir / name).parent.mkdir(parents=True, exist_ok=True)
        storage.replace_file(run_dir / name, bytes(snapshot[name]))
    _prune(run_dir / "checkpoints", NUM_KEPT)
    _prune(run_dir / "checkpoints" / BEST, 1)


def _files(run_dir: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    newest = next(iter(names_in(run_dir / "checkpoints")), None)
    best = _best(run_dir / "checkpoints" / BEST, newest)
    for folder, name in (("checkpoints", newest), (f"checkpoints/{BEST}", best)):
        if name is not None:
            for path in sorted((run_dir / folder / name).iterdir()):
                files[f"{folder}/{name}/{path.name}"] = _content(path)
            files[f"{folder}/{LATEST}"] = f"{name}\n".encode()
    for path in sorted(run_dir.iterdir()):
        if path.is_file() and _NAME.fullmatch(path.name) and path.name not in _OF_ONE_MACHINE:
            files[path.name] = _content(path)
    return files


def _best(folder: Path, newest: str | None) -> str | None:
    """The best one as of the newest checkpoint, where it is known: a later one may be lost."""
    reached = None if newest is None else best_as_of(folder, iteration_of(newest))
    return reached or next(iter(names_in(folder)), None)


def _content(path: Path) -> bytes:
    return bytes(storage.read_bytes(path, MAX_FILE_BYTES, follow_symlinks=False))


def _put_checkpoint(target: Path, snapshot: Snapshot, folder: str) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with storage.staged_folder(target.parent) as stage:
        for name, content in snapshot.items():
            if name.startswith(f"{folder}/"):
                storage.write_synced(stage / PurePosixPath(name).name, bytes(content))
        storage.publish(stage, target)


def _prune(folder: Path, keep: int) -> None:
    hint = latest_name(folder)
    others = [name for name in names_in(folder) if name != hint]
    for name in others[keep - 1 :]:
        storage.delete(storage.move_aside(folder / name))
