"""Where a run's numbers come from: software, source commit, and the machine's part in them."""

import functools
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spacil.config.flat import CHANGES_ROUNDING, FREE_TO_CHANGE_ON_RESUME


def provenance_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What may differ between equal runs: kept in the manifest, outside the content hash."""
    return {
        "software": software_versions(),
        "commit": source_commit(),
        "free_settings": {name: settings[name] for name in sorted(FREE_TO_CHANGE_ON_RESUME)},
    }


def deciding_last_bits(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a provenance that has to be equal for the same bits; what is missing is None."""
    parts = [provenance.get(name) for name in ("software", "free_settings")]
    told = {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
    return {name: told.get(name) for name in (*software_versions(), *sorted(CHANGES_ROUNDING))}


@functools.cache
def software_versions() -> dict[str, str]:
    """What decides the bits besides the settings."""
    packages = ("torch", "numpy", "mujoco", "gymnasium")
    return {name: version(name) for name in packages} | {"machine": platform.machine()}


@functools.cache
def source_commit() -> str | None:
    """The commit of the checkout this code runs from, `+` if it was changed since; None elsewhere.

    An installed package is told apart by its file not being one that git tracks.
    """
    here = Path(__file__)
    git = ("git", "-C", str(here.parent))
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
