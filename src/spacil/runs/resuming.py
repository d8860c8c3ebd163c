"""What a run folder records about its run, and whether given settings can resume it."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from spacil import storage
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings, from_flat_settings
from spacil.config.train_config import TrainConfig
from spacil.config.upgrade import upgraded
from spacil.errors import ConfigError, RunDirError, StorageError
from spacil.runs.location import name_stem, task_folder
from spacil.runs.ownership import LOCK

Status = Literal["running", "finished", "interrupted", "failed"]

CONFIG, STATUS = "config.json", "status.json"

_logger = logging.getLogger(__name__)


def config_of_run(path: Path) -> TrainConfig:
    """The settings that the run in a folder was last started with."""
    flat = storage.read_json(path / CONFIG)
    try:
        return from_flat_settings(upgraded(flat))
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"{str(path / CONFIG)!r} has a value of the wrong type: {error}"
        ) from None


def status_of_run(path: Path) -> Status:
    """How far a run got; a killed one still says running."""
    try:
        status = storage.read_json(path / STATUS)["status"]
    except (storage.DamagedFileError, KeyError, TypeError):
        return "running"
    return status if status in get_args(Status) else "running"


def is_run_folder(path: Path) -> bool:
    """Whether there is a run here, finished or not."""
    return _settings_of_run(path) is not None


def check_resumable(saved_flat: Mapping[str, Any], new_flat: Mapping[str, Any]) -> None:
    """Refuse to resume with settings that would make it a different run; the error lists them."""
    changes = _changed_settings(saved_flat, new_flat)
    if changes:
        lines = [
            f"  {name}: {saved_flat.get(name, '(none)')} -> {new_flat.get(name, '(none)')}"
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
    """The saved settings, or None if this is not recognisably a run folder."""
    try:
        match storage.read_json(path / CONFIG):
            case {"algorithm": str(), "task": str(), "seed": int()} as flat if (
                path / LOCK
            ).is_file():
                return upgraded(flat)
    except StorageError as error:
        _logger.debug("%s is not a run folder: %s", path, error)
    return None


def _changed_settings(saved: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = sorted((saved.keys() | new.keys()) - FREE_TO_CHANGE_ON_RESUME)
    missing = object()
    return [name for name in names if saved.get(name, missing) != new.get(name, missing)]
