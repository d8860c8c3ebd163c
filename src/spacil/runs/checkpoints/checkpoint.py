"""Checkpoints: the whole state of a run, written so that a kill at any moment loses none.

    checkpoints/iter-000120/{state.safetensors, state.json, manifest.json}
    checkpoints/LATEST                  the name of the newest, a hint for people and scripts
    checkpoints/best/iter-000090-1f2e3d4c/{the same three files}
    checkpoints/best/LATEST             the name of the best

A checkpoint is written into a hidden stage folder, manifest last, and gets its name in one rename
once all of it is on disk; older ones are pruned after that. `best/` holds versions for the same
reason: the new best is complete and named by LATEST before the old one is deleted, so a reader
always finds a valid one. Version names carry their content hash, because a run that was resumed
inexactly may find a different best at the same iteration.

The two state files depend on the state alone, so equal runs have equal content hashes; whatever
differs between hosts and days goes into the manifest. Reading checks every byte against the
manifest. This module never overwrites a checkpoint, never takes a file name from a manifest,
and never falls back to starting from scratch while there is something that it could not read.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from spacil import storage
from spacil.errors import StorageError
from spacil.runs.checkpoints.manifest import MANIFEST, read_manifest, read_part, sealed_manifest
from spacil.runs.checkpoints.names import (
    BEST,
    CORRUPT,
    folder_name,
    has_corrupt,
    iteration_of,
    latest_name,
    names_in,
    point_latest_at,
)
from spacil.runs.failpoints import failpoint
from spacil.runs.ownership import Confirm, unchallenged
from spacil.storage import DamagedFileError

NUM_KEPT = 3
"""Checkpoints that stay, besides the best."""

_MAX_LISTINGS = 100
"""How often a reader starts again because a run replaced what it was about to read."""

_TENSORS, _DOCUMENT = "state.safetensors", "state.json"
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint as read: every byte has been checked."""

    iteration: int
    tensors: dict[str, Tensor]
    document: dict[str, Any]
    manifest: dict[str, Any]

    @property
    def content_hash(self) -> str:
        """Hash of tensors and document: equal for equal states, wherever they were written."""
        return str(self.manifest["content_hash"])


def write(
    checkpoints_dir: Path,
    iteration: int,
    tensors: Mapping[str, Tensor],
    document: Mapping[str, Any],
    manifest_extra: Mapping[str, Any],
    keep: int = NUM_KEPT,
    confirm: Confirm = unchallenged,
) -> Path:
    """Write `iter-<iteration>`, point LATEST at it, prune to the newest `keep`.

    `manifest_extra` (hashes of settings, demonstrations, software) is kept as
    `manifest["provenance"]`. Writing the same state twice is allowed and does nothing. `confirm`
    is called right before anything gets or loses its name.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}, expected 1 or more")
    name = folder_name(iteration)
    newer = [other for other in names_in(checkpoints_dir) if iteration_of(other) > iteration]
    if newer:
        raise StorageError(
            f"{str(checkpoints_dir)!r} holds {newer[0]}, newer than {name}: is another process "
            "writing here? Resume from the newest checkpoint or use another run folder"
        )
    state = _State(iteration, tensors, document, manifest_extra)
    return _write(checkpoints_dir, name, state, keep, confirm)


def write_best(
    checkpoints_dir: Path,
    iteration: int,
    tensors: Mapping[str, Tensor],
    document: Mapping[str, Any],
    manifest_extra: Mapping[str, Any],
    confirm: Confirm = unchallenged,
    keep: int = 1,
) -> Path:
    """Make this state the best one; once it is safe, former ones are deleted down to `keep`."""
    state = _State(iteration, tensors, document, manifest_extra)
    name = f"{folder_name(iteration)}-{state.content_hash[:8]}"
    return _write(checkpoints_dir / BEST, name, state, keep, confirm)


def require_space(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Refuse to start a run that the disk cannot hold: it needs three checkpoints of this state."""
    num_bytes = sum(tensor.nbytes for tensor in tensors.values())
    storage.require_free_space(folder, NUM_KEPT * num_bytes)


def read(path: Path) -> Checkpoint:
    """Read one checkpoint folder; anything not exactly as written is a `DamagedFileError`."""
    manifest = read_manifest(path)
    contents = {name: read_part(path / name, part) for name, part in manifest["files"].items()}
    tensors = storage.decode_tensors(contents[_TENSORS], path / _TENSORS)
    document = storage.parse_json(contents[_DOCUMENT], path / _DOCUMENT)
    is_object = isinstance(document, dict)
    if not is_object or storage.content_hash(tensors, document) != manifest["content_hash"]:
        raise DamagedFileError(f"{str(path)!r}: the content does not match the manifest")
    return Checkpoint(manifest["iteration"], tensors, document, manifest)


def newest_valid(checkpoints_dir: Path) -> Checkpoint | None:
    """The checkpoint to resume from; None only if none was ever written.

    Damaged ones are moved to `.corrupt-*` with a warning and the next older one is taken.
    """
    return _first_valid(checkpoints_dir, lambda: names_in(checkpoints_dir))


def newest_readable(checkpoints_dir: Path) -> Checkpoint | None:
    """The newest valid checkpoint, for somebody who only looks: nothing is set aside."""
    for name in names_in(checkpoints_dir):
        with contextlib.suppress(StorageError):
            return _read_named(checkpoints_dir / name)
    return None


def read_best(checkpoints_dir: Path) -> Checkpoint | None:
    """The best checkpoint; None if no best was ever written."""
    folder = checkpoints_dir / BEST

    def hinted_first() -> list[str]:
        hint = latest_name(folder)
        return sorted(names_in(folder), key=lambda name: name != hint)  # a stable sort

    return _first_valid(folder, hinted_first)


# --- writing ----------------------------------------------------------------------------------


class _State:
    """What one checkpoint holds, as the bytes that go to disk."""

    def __init__(
        self,
        iteration: int,
        tensors: Mapping[str, Tensor],
        document: Mapping[str, Any],
        provenance: Mapping[str, Any],
    ) -> None:
        document = dict(document)
        self.iteration = iteration
        self.content_hash = storage.content_hash(tensors, document)
        self.files = {
            _TENSORS: storage.encode_tensors(tensors),
            _DOCUMENT: storage.canonical_json(document),
        }
        self.provenance = dict(provenance)


def _write(folder: Path, name: str, state: _State, keep: int, confirm: Confirm) -> Path:
    with storage.os_errors_as(StorageError, "create", folder):
        folder.mkdir(parents=True, exist_ok=True)
    storage.sweep_abandoned(folder)
    target = folder / name
    if not _is_written(target, state.content_hash):
        _publish(target, state, confirm)
        failpoint("checkpoint.after-publish")
    confirm()
    point_latest_at(folder, name)
    failpoint("checkpoint.after-latest")
    confirm()
    others = [other for other in names_in(folder) if other != name]
    prune(folder / other for other in others[keep - 1 :])
    failpoint("checkpoint.after-prune")
    return target


def _publish(target: Path, state: _State, confirm: Confirm) -> None:
    manifest = sealed_manifest(
        state.iteration,
        state.content_hash,
        _newest_hash(target.parent),
        state.files,
        state.provenance,
    )
    num_bytes = sum(len(content) for content in state.files.values()) + len(manifest)
    storage.require_free_space(target.parent, num_bytes)
    with storage.staged_folder(target.parent) as stage:
        failpoint("checkpoint.after-stage")
        storage.write_synced(stage / _TENSORS, state.files[_TENSORS])
        failpoint("checkpoint.after-tensors")
        storage.write_synced(stage / _DOCUMENT, state.files[_DOCUMENT])
        failpoint("checkpoint.after-document")
        storage.write_synced(stage / MANIFEST, manifest)
        failpoint("checkpoint.after-manifest")
        confirm()
        storage.publish(stage, target)


def _is_written(target: Path, content_hash: str) -> bool:
    if not os.path.lexists(target):
        return False
    try:
        existing = read(target)
    except DamagedFileError as damage:
        _set_corrupt_aside(target, damage)
        return False
    if existing.content_hash != content_hash:
        raise StorageError(
            f"{str(target)!r} already exists with different content and is never overwritten; "
            "resume from the newest checkpoint or use another run folder"
        )
    return True


def prune(folders: Iterable[Path]) -> None:
    """Delete checkpoints; one that cannot be deleted is a warning."""
    for folder in folders:
        try:
            # Out of sight first: a kill in the deletion must not leave half a checkpoint behind.
            trash = storage.move_aside(folder)
            failpoint("checkpoint.during-prune")
            storage.delete(trash)
        except StorageError as error:
            _logger.warning("could not delete an old checkpoint: %s", error)


def _newest_hash(folder: Path) -> str | None:
    for name in names_in(folder):
        try:
            return str(read_manifest(folder / name)["content_hash"])
        except StorageError as error:
            _logger.warning("no parent recorded: %s", error)
    return None


# --- reading ----------------------------------------------------------------------------------


def _first_valid(folder: Path, list_names: Callable[[], list[str]]) -> Checkpoint | None:
    names: list[str] = []
    for _ in range(_MAX_LISTINGS):
        names = list_names()
        for name in names:
            try:
                return _read_named(folder / name)
            except DamagedFileError as damage:
                # The run itself may have replaced it by a newer one in between: list them again.
                if not os.path.lexists(folder / name):
                    break
                _set_corrupt_aside(folder / name, damage)
        else:
            break
    if names or has_corrupt(folder):
        raise StorageError(
            f"no checkpoint in {str(folder)!r} is valid, and the run is not restarted from "
            "scratch: restore the folder from a backup, or start a new run folder"
        )
    return None


def _read_named(path: Path) -> Checkpoint:
    """A checkpoint that is what its name says."""
    if path.is_symlink():
        raise DamagedFileError(f"{str(path)!r} is a symbolic link")
    found = read(path)
    if found.iteration != iteration_of(path.name):
        raise DamagedFileError(f"{str(path)!r} holds iteration {found.iteration}")
    return found


def _set_corrupt_aside(path: Path, damage: DamagedFileError) -> None:
    _logger.warning("set aside damaged checkpoint %s: %s", path.name, damage)
    try:
        storage.move_aside(path, CORRUPT)
    except StorageError as error:  # a reader without the right to rename still finds older ones
        _logger.warning("could not move it: %s", error)
