"""A policy in a file of its own, where its run is not at hand: what an experiment knows of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.errors import ConfigError, DataError
from spacil.policies.file import SUFFIX, load_policy
from spacil.user_code import task_named_in_file


@dataclass(frozen=True)
class PolicyFile:
    """The counterpart of `RunRecord`: no settings and no curve, only who it is."""

    path: Path
    task: str
    provenance: Mapping[str, Any]
    """What its file says of where it is from"""
    content_hash: str
    """Of the parameters and the normaliser"""

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"content_hash": self.content_hash}

    @property
    def seed(self) -> int | None:
        seed = self.provenance.get("seed")
        return seed if isinstance(seed, int) else None


def one_per_task(paths: Iterable[Path], of_runs: Iterable[str]) -> tuple[PolicyFile, ...]:
    """The files, each of a task that neither another one nor a run (`of_runs`) is of."""
    sources: dict[str, object] = dict.fromkeys(of_runs, "a run")
    found = tuple(map(read_policy_file, paths))
    for file in found:
        if file.task in sources:
            raise ConfigError(
                f"{file.path} and {sources[file.task]} are both of {file.task}: name one policy "
                "per task"
            )
        sources[file.task] = file.path
    return found


def read_policy_file(path: Path) -> PolicyFile:
    """Checked as any file from elsewhere is; a run folder is refused, it has more to say."""
    if path.is_dir():
        raise DataError(f"{path}: a folder, expected a policy file ({SUFFIX}); runs go to --runs")
    saved = load_policy(path)
    task = task_named_in_file(saved.task, path)
    return PolicyFile(
        path, task, dict(saved.provenance), storage.content_hash(saved.policy.state_dict(), {})
    )
