"""Checkpoints: the whole state of a run in one sealed file, so that a kill loses none.

    checkpoints/iter-000120.safetensors    the newest three
    checkpoints/best.safetensors           the one that `select` keeps

A file is written beside its place and put there in one step. The best one is written after the
checkpoint of the same iteration, so it is never ahead of what a run resumes from. The hash covers
the state alone: equal runs have equal hashes. Software and machine stand outside it, in `notes`.
"""

import functools
import logging
import os
import platform
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spacil import storage
from spacil.config.flat import CHANGES_ROUNDING, FREE_TO_CHANGE_ON_RESUME
from spacil.errors import DataError, StorageError
from spacil.storage import DamagedFileError
from spacil.version import __version__

FORMAT, FORMAT_VERSION = "spacil-checkpoint", 1
BEST = "best.safetensors"
NUM_KEPT = 3
"""Checkpoints that stay, besides the best."""
FAILPOINT_VARIABLE = "SPACIL_FAILPOINT"
"""Environment variable in which a test names the place where the process is to be killed"""

_NAME = re.compile(r"iter-\d{6,}\.safetensors")
_passes: Counter[str] = Counter()
_logger = logging.getLogger(__name__)


class RunState(NamedTuple):
    """What a checkpoint is made of."""

    tensors: Mapping[str, Tensor]
    document: Mapping[str, Any]
    notes: Mapping[str, Any]
    """What may differ between equal runs"""


@dataclass(frozen=True)
class Checkpoint(storage.Sealed):
    """A checkpoint as read: every byte has been checked."""

    path: Path
    iteration: int

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings it was written under, those that may change on a resume too."""
        free, fixed = self.notes.get("free_settings"), self.document.get("config")
        if not isinstance(free, dict) or not isinstance(fixed, dict):
            raise StorageError(f"{str(self.path)!r} holds no settings: name another checkpoint")
        return {**free, **fixed}


def file_name(iteration: int) -> str:
    """Return the name of a checkpoint: `iter-000120.safetensors`."""
    return f"iter-{iteration:06d}.safetensors"


def write(
    folder: Path,
    iteration: int,
    state: RunState,
    *,
    is_best: bool = False,
    confirm: Callable[[], object] = lambda: None,
) -> Path:
    """Write the checkpoint of an iteration, make it the best one if it is that, prune older ones.

    `confirm` is called right before a file gets its name; it raises if the folder is not ours.
    """
    path = folder / file_name(iteration)
    _put(path, state, confirm)
    failpoint("checkpoint.after-publish")
    if is_best:
        write_best(folder, state, confirm)
    for name in [name for name in _names_in(folder) if _iteration_of(name) <= iteration][NUM_KEPT:]:
        with storage.os_errors_as(StorageError, "delete", folder / name):
            (folder / name).unlink(missing_ok=True)
        failpoint("checkpoint.during-prune")
    return path


def write_best(folder: Path, state: RunState, confirm: Callable[[], object] = lambda: None) -> None:
    """Make a state the best one."""
    _put(folder / BEST, state, confirm)
    failpoint("checkpoint.after-best")


def _put(path: Path, state: RunState, confirm: Callable[[], object]) -> None:
    with storage.os_errors_as(StorageError, "create", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    failpoint("checkpoint.before-write")

    def ready() -> None:
        failpoint("checkpoint.before-publish")
        confirm()

    storage.save_sealed(
        path, state.tensors, state.document, FORMAT, FORMAT_VERSION, state.notes, ready
    )


def is_checkpoint(path: Path) -> bool:
    """Tell by its name whether a path is a checkpoint of a run."""
    is_best = path.name == BEST and path.parent.name == "checkpoints"
    return path.is_file() and (is_best or _NAME.fullmatch(path.name) is not None)


def read(path: Path) -> Checkpoint:
    """Read one checkpoint; anything not exactly as written is a `DamagedFileError`."""
    try:
        sealed = storage.load_sealed(path, FORMAT, FORMAT_VERSION)
    except DataError as error:
        raise DamagedFileError(str(error)) from None
    match sealed.document.get("counters"):
        case {"iteration": int(iteration)} if path.name in (BEST, file_name(iteration)):
            return Checkpoint(**vars(sealed), path=path, iteration=iteration)
    raise DamagedFileError(f"{str(path)!r}: its iteration counter does not match its name")


def newest(folder: Path) -> Checkpoint | None:
    """Read the checkpoint to resume from; None only if none was ever written.

    A damaged one is left where it is, with a warning, and the next older one is taken.
    """
    names = _names_in(folder)
    for name in names:
        try:
            return read(folder / name)
        except DamagedFileError as damage:
            # The run itself may have deleted it meanwhile, because there are newer ones.
            if not os.path.lexists(folder / name):
                return newest(folder)
            _logger.warning("damaged checkpoint %s: %s", name, damage)
    if names:
        raise StorageError(
            f"no checkpoint in {str(folder)!r} is valid, and the run is not restarted from "
            "scratch: restore one from a backup, or start a new run folder"
        )
    return None


def best(folder: Path) -> Checkpoint | None:
    """Read the best checkpoint; None if none was ever written."""
    return read(folder / BEST) if os.path.lexists(folder / BEST) else None


def failpoint(name: str) -> None:
    """Kill the process here if SPACIL_FAILPOINT is this name, or `name:3` at the third pass.

    With SIGKILL, as a power loss would: no handler, no `finally`, no flushed buffer.
    """
    armed, _, count = os.environ.get(FAILPOINT_VARIABLE, "").partition(":")
    if name == armed:
        _passes[name] += 1
        if _passes[name] == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)


def _names_in(folder: Path) -> list[str]:
    """List the checkpoints in a folder, newest first; other files are ignored."""
    with storage.os_errors_as(StorageError, "list", folder):
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(filter(_NAME.fullmatch, names), key=_iteration_of, reverse=True)


def _iteration_of(name: str) -> int:
    return int(name.removeprefix("iter-").removesuffix(".safetensors"))


# --- the notes: where a run's numbers come from


def provenance_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may differ between equal runs; kept outside the content hash."""
    return {
        "software": software_versions(),
        "commit": source_commit(),
        "free_settings": {
            name: settings[name] for name in sorted(FREE_TO_CHANGE_ON_RESUME & settings.keys())
        },
    }


def deciding_last_bits(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a provenance that has to be equal for the same bits."""
    parts = [provenance.get(name) for name in ("software", "free_settings")]
    known = {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
    names = (*software_versions(), *sorted(CHANGES_ROUNDING))
    return {name: known.get(name, "unknown") for name in names}


@functools.cache
def software_versions() -> dict[str, str]:
    """What decides the last bits of the results, besides the settings."""
    packages = ("torch", "numpy", "mujoco", "gymnasium")
    versions = {"spacil": __version__} | {name: version(name) for name in packages}
    return versions | {
        "machine": platform.machine(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
    }


@functools.cache
def source_commit() -> str | None:
    """The commit of the checkout this code runs from, `+` if it was changed since; None elsewhere.

    An installed package is recognised by its file, which git does not track.
    """
    here = Path(__file__)
    # Without locks: a run that is killed meanwhile would leave index.lock in the user's checkout.
    git = ("git", "--no-optional-locks", "-C", str(here.parent))
    try:
        run = functools.partial(
            subprocess.run, check=True, capture_output=True, text=True, timeout=10
        )
        run([*git, "ls-files", "--error-unmatch", here.name])
        commit = run([*git, "rev-parse", "HEAD"]).stdout.strip()
        changes = run([*git, "status", "--porcelain", "--untracked-files=no", "."]).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changes.strip() else "")
