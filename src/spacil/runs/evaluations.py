"""eval.json: the evaluations that count, as one record with one writer and one reader.

    {"format": "spacil-evaluations", "format_version": 1,
     "spacil_version": ..., "algorithm": ..., "task": ..., "seed": ..., "commit": ...,
     "best": row, "last": row,
     "fresh": {"seed": ..., "num_episodes": ..., "best": row, "last": row}}

`best` and `last` are rows of metrics.jsonl. With `select` at `return` the best one was picked for
its return, which is then too good on average; `fresh`, where it is there, evaluates the same two
policies once more on start states that no training run uses. Version 0.1 wrote `best` and `last`
alone, and such files are read too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.config.train_config import TrainConfig
from spacil.errors import StorageError
from spacil.runs.provenance import source_commit
from spacil.version import __version__

FORMAT = "spacil-evaluations"
FORMAT_VERSION = 1

Row = dict[str, Any]

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
_WARNING_KEYS = ("warn_saturated", "warn_line_search")


@dataclass(frozen=True)
class RunIdentity:
    """Which run the numbers belong to, and which code made them."""

    spacil_version: str
    algorithm: str
    task: str
    seed: int
    commit: str | None
    """None where spacil runs from an installed package"""


@dataclass(frozen=True)
class FreshEvaluations:
    """Best and last policy on episodes that had no part in training or in choosing the best."""

    seed: int
    num_episodes: int
    best: Row | None
    last: Row | None


@dataclass(frozen=True)
class Evaluations:
    """What eval.json holds."""

    identity: RunIdentity | None
    """None in files of version 0.1"""
    best: Row | None
    """The evaluation of the policy that `select` keeps; None before the first one"""
    last: Row | None
    fresh: FreshEvaluations | None = None


def identity_of(config: TrainConfig) -> RunIdentity:
    """The identity of a run of these settings by the code that is running."""
    return RunIdentity(__version__, config.algorithm, config.task, config.run.seed, source_commit())


def evaluations_of(config: TrainConfig, metrics: Iterable[Mapping[str, Any]]) -> Evaluations:
    """Best and last among the rows of metrics.jsonl."""
    rows = _evaluated(metrics)
    # The run's own choice, where it says: one for smoothness is not that of the highest return.
    chosen = [row for row in rows if row.get("is_best")]
    best = _kept(chosen[-1]) if chosen else highest_return(rows)
    return Evaluations(identity_of(config), best, _kept(rows[-1] if rows else None))


def highest_return(metrics: Iterable[Mapping[str, Any]]) -> Row | None:
    """The evaluation of the highest return, whichever policy was kept as the best."""
    return _kept(max(_evaluated(metrics), key=lambda row: row["average_return"], default=None))


def _evaluated(metrics: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows with an evaluation; that of iteration 0, the untrained policy, does not count."""
    return [
        row
        for row in metrics
        if row.get("iteration") != 0 and isinstance(row.get("average_return"), int | float)
    ]


def _kept(row: Mapping[str, Any] | None) -> Row | None:
    """What eval.json keeps of a row of metrics.jsonl."""
    if row is None:
        return None
    warnings = {key: bool(row.get(key)) for key in _WARNING_KEYS}
    return {key: row.get(key) for key in _EVALUATION_KEYS} | warnings


def write_evaluations(path: Path, evaluations: Evaluations) -> None:
    """Write eval.json, atomically."""
    document: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION}
    if evaluations.identity is not None:
        document |= asdict(evaluations.identity)
    document |= {"best": evaluations.best, "last": evaluations.last}
    if evaluations.fresh is not None:
        document["fresh"] = asdict(evaluations.fresh)
    storage.write_json(path, document)


def read_evaluations(path: Path) -> Evaluations:
    """The record in eval.json, of this format or of version 0.1."""
    document = storage.read_json(path)
    match document:
        case {"format": form, "format_version": version} if (form, version) != (
            FORMAT,
            FORMAT_VERSION,
        ):
            raise StorageError(
                f"{str(path)!r} is {form!r} version {version!r}, expected {FORMAT!r} version "
                f"{FORMAT_VERSION}: use the spacil that wrote it, or a newer one"
            )
        case {"best": dict() | None as best, "last": dict() | None as last}:
            return Evaluations(_identity(document), best, last, _fresh(document, path))
    raise storage.DamagedFileError(f"{str(path)!r} holds no evaluations: best or last is missing")


def _identity(document: Mapping[str, Any]) -> RunIdentity | None:
    match document:
        case {
            "spacil_version": str(version),
            "algorithm": str(algorithm),
            "task": str(task),
            "seed": int(seed),
            "commit": str() | None as commit,
        }:
            return RunIdentity(version, algorithm, task, seed, commit)
    return None


def _fresh(document: Mapping[str, Any], path: Path) -> FreshEvaluations | None:
    match document.get("fresh"):
        case None:
            return None
        case {
            "seed": int(seed),
            "num_episodes": int(num_episodes),
            "best": dict() | None as best,
            "last": dict() | None as last,
        }:
            return FreshEvaluations(seed, num_episodes, best, last)
    raise storage.DamagedFileError(f"{str(path)!r}: the section 'fresh' is not valid")
