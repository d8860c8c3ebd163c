"""Where a run's numbers come from: software versions, source commit, and the machine."""

import functools
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spacil.config.flat import CHANGES_ROUNDING, FREE_TO_CHANGE_ON_RESUME
from spacil.version import __version__


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
    import torch  # here: who only reads a record of a run does not need it

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
