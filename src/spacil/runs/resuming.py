"""What a run folder records about its run, and whether given settings can resume it."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from spacil import storage
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings, from_flat_settings
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, RunDirError, SpacilError, StorageError
from spacil.plain_text import shown
from spacil.runs.checkpoints import checkpoint
from spacil.runs.location import name_stem, task_folder
from spacil.runs.ownership import LOCK

Status = Literal["running", "finished", "interrupted", "failed"]

CONFIG, STATUS = "config.json", "status.json"

_logger = logging.getLogger(__name__)


def config_of_run(path: Path) -> TrainConfig:
    """The settings that the run in a folder was last started with."""
    return config_of(storage.read_json(path / CONFIG, follow_symlinks=False), path / CONFIG)


def config_of(flat: Any, source: object) -> TrainConfig:
    """A config from the settings in a file, of this version or an earlier one."""
    if not isinstance(flat, Mapping):
        kind = type(flat).__name__
        raise ConfigError(f"{str(source)!r} holds a {kind}, expected settings by name: restore it")
    try:
        return from_flat_settings(flat)
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{str(source)!r} has a value of the wrong type: {error}") from None


def status_of_run(path: Path) -> Status:
    """How far a run got; a killed one still says running."""
    try:
        status = storage.read_json(path / STATUS, follow_symlinks=False)["status"]
    except (storage.DamagedFileError, KeyError, TypeError):
        return "running"
    return next((known for known in get_args(Status) if known == status), "running")


def is_run_folder(path: Path) -> bool:
    """Whether there is a run here, finished or not, whole or damaged."""
    if _settings_of_run(path) is not None:
        return True
    # Even the settings are lost: a run by the two files that nothing else has.
    return (path / LOCK).is_file() and (path / STATUS).is_file()


def saved_settings(path: Path) -> dict[str, Any]:
    """The settings of the run in a folder, by its config.json or else its newest checkpoint."""
    settings = _settings_of_run(path)
    if settings is None:
        raise RunDirError(
            f"{str(path / CONFIG)!r} is damaged or missing, and no checkpoint is there to resume "
            "from: --overwrite starts the run again"
        )
    return settings


def settings_in(found: checkpoint.Checkpoint) -> dict[str, Any]:
    """The settings that a checkpoint was written under, those that may change on a resume too."""
    free = found.manifest["provenance"].get("free_settings")
    fixed = found.document.get("config")
    if not isinstance(free, dict) or not isinstance(fixed, dict):
        raise StorageError("the checkpoint does not tell the settings it was written under")
    return {**free, **fixed}


def check_resumable(saved_flat: Mapping[str, Any], new_flat: Mapping[str, Any]) -> None:
    """Refuse to resume with settings that would make it a different run; the error lists them."""
    changes = _changed_settings(saved_flat, new_flat)
    if changes:
        lines = [
            f"  {shown(name)}: {shown(saved_flat.get(name, '(none)'))} -> "
            f"{shown(new_flat.get(name, '(none)'))}"
            for name in changes
        ]
        raise ConfigError(
            "cannot resume with different settings (saved -> now):\n"
            + "\n".join(lines)
            + "\nresume with the saved settings, or start a new run folder"
        )


def unfinished_run(root: Path, config: TrainConfig) -> Path:
    """The newest unfinished run folder of these settings; there has to be one."""
    path = find_unfinished_run(root, config)
    if path is None:
        raise RunDirError(
            f"no unfinished run with these settings in {str(task_folder(root, config))!r}: "
            "name one with --run-dir, or start one without --resume"
        )
    _logger.info("resuming %s", path)
    return path


def find_unfinished_run(root: Path, config: TrainConfig) -> Path | None:
    """The newest run folder under `root` with these settings that has not finished."""
    parent = task_folder(root, config)
    with storage.os_errors_as(RunDirError, "list", parent):
        folders = list(parent.iterdir()) if parent.is_dir() else []
    stem = name_stem(config)
    candidates = [folder for folder in folders if folder.name.startswith(stem)]
    for folder in sorted(candidates, reverse=True):  # the stamp sorts by time
        saved = _settings_of_run(folder)
        is_same = saved is not None and not _changed_settings(saved, flat_settings(config))
        if is_same and status_of_run(folder) != "finished":
            return folder
    return None


def _settings_of_run(path: Path) -> dict[str, Any] | None:
    """The saved settings, or None if this is not recognisably a run folder.

    Copies lose empty files, and disks lose whole ones: run.lock may be missing, and where
    config.json cannot be read the newest checkpoint has the same settings.
    """
    has_run_files = any((path / name).exists() for name in (LOCK, STATUS, "checkpoints"))
    try:
        match storage.read_json(path / CONFIG, follow_symlinks=False):
            case {"algorithm": str(), "task": str(), "seed": int()} as flat if has_run_files:
                return dict(flat)
    except StorageError as error:
        _logger.debug("%s is not a run folder by its settings: %s", path, error)
    try:
        found = checkpoint.newest_readable(path / "checkpoints")
        flat = {} if found is None else settings_in(found)
    except SpacilError as error:
        _logger.debug("%s is not a run folder by its checkpoints: %s", path, error)
        return None
    match flat:
        case {"algorithm": str(), "task": str(), "seed": int()}:
            _logger.warning(
                "%s is damaged or missing: the settings are those of the newest checkpoint",
                path / CONFIG,
            )
            return flat
    return None


def _changed_settings(saved: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = sorted((saved.keys() | new.keys()) - FREE_TO_CHANGE_ON_RESUME)
    missing = object()
    return [name for name in names if saved.get(name, missing) != new.get(name, missing)]
