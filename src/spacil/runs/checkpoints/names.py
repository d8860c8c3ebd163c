"""Names in a checkpoints folder: `iter-000120`, LATEST, and damaged ones that were set aside."""

import re
from pathlib import Path

from spacil import storage
from spacil.errors import StorageError
from spacil.storage import DamagedFileError

LATEST, BEST, CORRUPT = "LATEST", "best", ".corrupt-"

_NAME = re.compile(r"iter-(\d{6,})(?:-[0-9a-f]{8})?")


def folder_name(iteration: int) -> str:
    return f"iter-{iteration:06d}"


def iteration_of(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else -1


def names_in(folder: Path) -> list[str]:
    """Checkpoint names in a folder, newest first; files of other names are ignored."""
    return sorted(
        (name for name in _listing(folder) if _NAME.fullmatch(name)),
        key=lambda name: (iteration_of(name), name),
        reverse=True,
    )


def latest_name(folder: Path) -> str | None:
    """The name in LATEST; None where it is missing or unreadable, as it is only a hint."""
    try:
        content = storage.read_bytes(folder / LATEST, 255, follow_symlinks=False)
        return content.decode("ascii").strip()
    except (DamagedFileError, UnicodeDecodeError):
        return None


def point_latest_at(folder: Path, name: str) -> None:
    storage.replace_file(folder / LATEST, f"{name}\n".encode())


def repair_latest(folder: Path, iteration: int) -> None:
    """Point LATEST at the checkpoint that a run resumes from: a kill may have come before it."""
    if latest_name(folder) != folder_name(iteration):
        point_latest_at(folder, folder_name(iteration))


def best_as_of(folder: Path, iteration: int) -> str | None:
    """Of the bests in a folder, the one that a run had after an iteration."""
    reached = [name for name in names_in(folder) if iteration_of(name) <= iteration]
    hint = latest_name(folder)
    return hint if hint in reached else next(iter(reached), None)


def has_corrupt(folder: Path) -> bool:
    """Whether a damaged checkpoint was set aside here."""
    return any(name.startswith(CORRUPT) for name in _listing(folder))


def _listing(folder: Path) -> list[str]:
    storage.refuse_link(folder)
    with storage.os_errors_as(StorageError, "list", folder):
        return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
