"""run.json: what a run is, what it was given, how far it got and how well it does.

    {"format": "spacil-run", "format_version": 1, "spacil_version", "commit", "config": settings,
     "inputs": {...}, "common_frame": {...}, "status", "reason", "updated",
     "best": row, "last": row, "fresh": {"seed", "num_episodes", "best": row, "last": row}}

`best` and `last` are rows of metrics.jsonl. With `select` at `return` the best one was picked for
its return, which is then too good on average; `fresh`, where it is there, evaluates the same two
policies once more on start states that no training run uses.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from spacil import storage
from spacil.config.checks import is_number
from spacil.config.flat import flat_settings, from_flat_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, DataError, RunDirError
from spacil.plain_text import shown
from spacil.runs.checkpoint import source_commit
from spacil.runs.state import record_from
from spacil.user_code import task_named_in_file
from spacil.version import __version__

RUN_FILE = "run.json"
"""File by which a folder is known as that of a run"""
FORMAT, FORMAT_VERSION = "spacil-run", 1

Status = Literal["running", "finished", "interrupted", "failed"]
Row = dict[str, Any]
DemonstratorRow = Mapping[str, float | None]

_EVALUATION_KEYS = (
    "iteration",
    "env_steps",
    "average_return",
    "return_std",
    "return_low",
    "return_high",
    "num_episodes",
    "mean_length",
    "smoothness_j",
    "smoothness_j_own",
    "smoothness_j_raw",
    "smoothness_j_common",
    "smoothness_j_effective",
    "action_fluctuation",
)
_IMITATION_KEYS = ("imitation_score", "score_threshold", "label_error_held_out", "label_trust")
"""Of a run that has demonstrations; the last two where these hold no actions"""
_WARNING_KEYS = ("warn_saturated", "warn_line_search")


@dataclass(frozen=True)
class DemoInputs:
    """Where a run's demonstrations are from."""

    sources: tuple[str, ...] | None
    """Files by full path, `minari:ID` or a task's name; None: they were only ever in memory"""
    choice: DemoChoice = DemoChoice()
    content_hash: str | None = None
    """Hash of those it learns from, so that a change is noticed; None before they are loaded"""


@dataclass(frozen=True)
class RunInputs:
    """What a run was given besides its settings, so that nobody has to say it again."""

    task: str
    env_is_named: bool
    """False: the env was an object in Python, which no name can make again"""
    demonstrations: DemoInputs | None
    demonstrator: dict[str, float | None] | None = None
    """Return and smoothness of whoever demonstrated"""


@dataclass(frozen=True)
class FreshEvaluations:
    """Best and last policy on episodes that had no part in training or in choosing the best."""

    seed: int
    num_episodes: int
    best: Row | None
    last: Row | None


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What run.json holds."""

    path: Path
    """Folder of the run"""
    settings: dict[str, Any]
    """Settings by their flat names, as the run was last started with"""
    status: str = "running"
    """How far the run got; a killed one still says running"""
    reason: str = ""
    updated: str = ""
    inputs: RunInputs | None = None
    """What the run was given besides its settings; None where nothing was recorded"""
    common_frame: dict[str, str] | None = None
    """Hash and source of the frame that J is measured in"""
    best: Row | None = None
    """Evaluation of the policy that `select` keeps; None before the first one"""
    last: Row | None = None
    fresh: FreshEvaluations | None = None
    spacil_version: str = __version__
    commit: str | None = None
    """Commit of the code that ran; None for an installed package"""

    @property
    def config(self) -> TrainConfig:
        """Return the settings, checked."""
        return config_of(self.settings, self.path / RUN_FILE)


def new_facts(path: Path, config: TrainConfig) -> RunFacts:
    """Return the facts of a run that begins."""
    return RunFacts(path=path, settings=flat_settings(config), commit=source_commit())


def write_run(facts: RunFacts) -> None:
    """Write run.json, atomically."""
    document = asdict(facts)
    del document["path"]
    document["config"] = document.pop("settings")
    head = {"format": FORMAT, "format_version": FORMAT_VERSION}
    storage.write_json(facts.path / RUN_FILE, storage.without_non_finite(head | document))


def read_run(path: Path) -> RunFacts:
    """Read the facts of a run; a folder without a run is a RunDirError."""
    source = path / RUN_FILE
    if not source.is_file():
        raise RunDirError(f"{path}: is not a run folder ({RUN_FILE} is missing)")
    document = storage.read_json(source)
    match document:
        case {"format": str(form), "format_version": version, "config": dict(settings), **others}:
            if (form, version) == (FORMAT, FORMAT_VERSION):
                record = {**others, "path": str(path), "settings": settings}
                return record_from(RunFacts, record, f"{source}:")
    raise storage.DamagedFileError(
        f"{str(source)!r} is no record of a run that this version reads: restore it, or start a "
        "new run folder"
    )


MOST = 1e100
"""Beyond this a number of a record is damage: its square would be infinite"""


def number_in(record: Mapping[str, Any], name: str, source: object) -> float:
    """Read a number of a record from a file; NaN for none, which is how files keep NaN."""
    value = record.get(name)
    if value is not None and not (is_number(value) and abs(value) < MOST):
        raise DataError(f"{source}: {name} is {shown(repr(value))}, expected a number: damaged")
    return math.nan if value is None else float(value)


def config_of(flat: Mapping[str, Any], source: object) -> TrainConfig:
    """Build a config from the settings in a file."""
    try:
        return from_flat_settings(flat)
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{str(source)!r} has a value of the wrong type: {error}") from None


def full_names(sources: Sequence[str | Path]) -> tuple[str, ...]:
    """Name the same sources in a way that holds in every folder."""
    return tuple(
        str(Path(source).resolve()) if Path(source).exists() else str(source) for source in sources
    )


def inputs_of(run_folder: Path) -> RunInputs | None:
    """Read what the run in a folder was given; None where there is no run, or it does not say."""
    return read_run(run_folder).inputs if (run_folder / RUN_FILE).is_file() else None


def task_to_play(task: str, source: str | Path) -> str:
    """Return the task that a run or policy file names, if its name can make the env again."""
    inputs = inputs_of(Path(source))
    if inputs is not None and not inputs.env_is_named:
        raise ConfigError(
            f"{source} was trained in Python on an env object ({task}), which a folder cannot "
            "hold: pass --task module:Env-v0, where the module registers or makes that env, or "
            "evaluate in Python"
        )
    return task_named_in_file(task, source)


# --- the evaluations that count


def best_and_last(metrics: Iterable[Mapping[str, Any]]) -> tuple[Row | None, Row | None]:
    """Pick the best and the last evaluation among the rows of metrics.jsonl."""
    rows = _evaluated(metrics)
    # The run's own choice, where it says: one for smoothness is not that of the highest return.
    chosen = [row for row in rows if row.get("is_best")]
    best = _kept(chosen[-1]) if chosen else highest_return(rows)
    return best, _kept(rows[-1] if rows else None)


def highest_return(metrics: Iterable[Mapping[str, Any]]) -> Row | None:
    """Pick the evaluation of the highest return, whichever policy was kept as the best."""
    return _kept(max(_evaluated(metrics), key=lambda row: row["average_return"], default=None))


def _evaluated(metrics: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """List rows with an evaluation; that of iteration 0, the untrained policy, does not count."""
    return [
        row for row in metrics if row.get("iteration") != 0 and is_number(row.get("average_return"))
    ]


def _kept(row: Mapping[str, Any] | None) -> Row | None:
    if row is None:
        return None
    warnings = {key: bool(row.get(key)) for key in _WARNING_KEYS}
    imitation = {key: row[key] for key in _IMITATION_KEYS if row.get(key) is not None}
    return {key: row.get(key) for key in _EVALUATION_KEYS} | imitation | warnings
