"""inputs.json: what a run was given besides its settings, so that nobody has to say it again.

    {"format": "spacil-inputs", "format_version": 1,
     "task": ..., "env_is_named": ...,
     "demonstrations": {"sources": [...], "num_demos": ..., ..., "content_hash": ...},
     "demonstrator": {"average_return": ..., "smoothness_j": ...}}

Files are named by their full path. The content hash is that of the demonstrations a run learns
from, after episodes and steps were chosen: a source that changed since is noticed. Runs of version
0.1 have no such file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.config.settings import DemoChoice
from spacil.demos.demonstrator import DEMONSTRATOR_KEYS
from spacil.errors import ConfigError, StorageError
from spacil.runs.state import record_from
from spacil.user_code import task_named_in_file

INPUTS = "inputs.json"
FORMAT, FORMAT_VERSION = "spacil-inputs", 1

DemonstratorRow = Mapping[str, float | None]


@dataclass(frozen=True)
class DemoInputs:
    """Where a run's demonstrations are from."""

    sources: tuple[str, ...] | None
    """Files by full path, `minari:ID` or a task's name; None: they were only ever in memory"""
    choice: DemoChoice = DemoChoice()
    content_hash: str | None = None
    """Of those it learns from; None before they are loaded"""


@dataclass(frozen=True)
class RunInputs:
    """What a run was given besides its settings."""

    task: str
    env_is_named: bool
    """False: the env was an object in Python, which no name can make again"""
    demonstrations: DemoInputs | None
    demonstrator: DemonstratorRow | None = None


def full_names(sources: Sequence[str | Path]) -> tuple[str, ...]:
    """The same sources under names that hold in every folder."""
    return tuple(
        str(Path(source).resolve()) if Path(source).exists() else str(source) for source in sources
    )


def write_inputs(path: Path, inputs: RunInputs) -> None:
    """Write inputs.json, atomically."""
    demos = inputs.demonstrations
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "task": inputs.task,
        "env_is_named": inputs.env_is_named,
        "demonstrations": None,
        "demonstrator": None if inputs.demonstrator is None else dict(inputs.demonstrator),
    }
    if demos is not None:
        sources = None if demos.sources is None else list(demos.sources)
        document["demonstrations"] = {
            "sources": sources,
            **asdict(demos.choice),
            "content_hash": demos.content_hash,
        }
    storage.write_json(path, storage.without_non_finite(document))


def read_inputs(run_folder: Path) -> RunInputs | None:
    """What the run in a folder was given; None where the folder does not say."""
    path = run_folder / INPUTS
    if not path.is_file():
        return None
    remedy = "restore it, or delete it and name task and demonstrations yourself"
    try:
        document = storage.read_json(path)
    except storage.DamagedFileError as error:
        raise StorageError(f"{error}: {remedy}") from None
    match document:
        case {
            "format": str(form),
            "format_version": int(version),
            "task": str(task),
            "env_is_named": bool(env_is_named),
            "demonstrations": dict() | None as demos,
            "demonstrator": dict() | None as demonstrator,
        } if (form, version) == (FORMAT, FORMAT_VERSION):
            given = None if demos is None else _demo_inputs(demos, path)
            return RunInputs(task, env_is_named, given, _row(demonstrator))
    raise StorageError(
        f"{str(path)!r} is not a record of a run's inputs that this version reads: {remedy}"
    )


def task_to_play(task: str, source: str | Path) -> str:
    """The task that a run, checkpoint or policy file names, if its name can make the env again."""
    inputs = read_inputs(Path(source))
    if inputs is not None and not inputs.env_is_named:
        raise ConfigError(
            f"{source} was trained in Python on an env object ({task}), which a folder cannot "
            "hold: pass --task module:Env-v0, where the module registers or makes that env, or "
            "evaluate in Python"
        )
    return task_named_in_file(task, source)


def _demo_inputs(document: Mapping[str, Any], path: Path) -> DemoInputs:
    named = {field.name: document.get(field.name) for field in fields(DemoChoice)}
    choice = record_from(DemoChoice, named, f"choice of demonstrations in {path}")
    match document:
        case {"sources": list() | None as sources, "content_hash": str() | None as content_hash}:
            if sources is None or all(isinstance(source, str) for source in sources):
                return DemoInputs(None if sources is None else tuple(sources), choice, content_hash)
    raise StorageError(f"{str(path)!r} does not say where the demonstrations are")


def _row(document: Mapping[str, Any] | None) -> DemonstratorRow | None:
    """Numbers under the known keys alone; without a return it is no row."""
    if document is None or not isinstance(document.get("average_return"), float):
        return None
    known = {key: document.get(key) for key in DEMONSTRATOR_KEYS}
    return {key: value if isinstance(value, float) else None for key, value in known.items()}
