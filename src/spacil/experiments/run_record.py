"""One finished run, as its folder tells it: what was trained, how well it does, how it got there.

Nothing is computed here that needs the policy: a comparison of fifty runs takes seconds. A folder
that cannot be read is a typed error with its name.
"""

import functools
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spacil import storage
from spacil.config.algorithms import ALGORITHMS
from spacil.config.defaults import default_config
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings
from spacil.errors import ConfigError, DataError
from spacil.experiments.sweeps.plan import PRESET, PlannedRun
from spacil.runs import metrics_log
from spacil.runs.checkpoints.names import BEST, names_in
from spacil.runs.evaluations import Row, read_evaluations
from spacil.runs.resuming import config_of_run, status_of_run

_DOES_NOT_SET_APART = (FREE_TO_CHANGE_ON_RESUME - {"iterations"}) | {"seed"}

Choices = Mapping[str, str]


@dataclass(frozen=True)
class CurvePoint:
    """One evaluation during training; keys are those of metrics.jsonl."""

    iteration: int
    env_steps: int
    seconds: float
    """Of all iterations so far, evaluations included"""
    average_return: float
    smoothness_j: float | None


Which = Literal["best", "last"]


@dataclass(frozen=True)
class RunRecord:
    """A finished run."""

    path: Path
    algorithm: str
    task: str
    seed: int
    settings: Mapping[str, Any]
    """Every setting that makes it another run, without the seed"""
    choices: Choices
    """What was chosen: by its sweep, or else what differs from the nearest preset"""
    is_planned: bool
    """Whether a sweep says what was chosen; demonstrations are part of it then"""
    command: str
    commit: str | None
    demonstrations: str | None
    """Content hash of those it learned from"""
    frame_hash: str | None
    """Of the common frame that its J is in; None where the folder does not say"""
    frame_source: str | None
    best: Row
    last: Row
    is_fresh: bool
    """Whether best and last are fresh episodes, not the evaluations the best was picked by"""
    curve: tuple[CurvePoint, ...]

    def evaluated(self, which: Which) -> Row:
        return self.best if which == "best" else self.last

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Another one if the run was trained again."""
        return {"best": self.best, "last": self.last}


def read_run(path: Path, planned: PlannedRun | None = None) -> RunRecord:
    """The record of a run folder; `planned` is the run as its sweep has it."""
    config = config_of_run(path)
    if status_of_run(path) != "finished":
        raise DataError(f"{path}: the run is not finished; resume it, or leave it out")
    flat = flat_settings(config)
    settings = {k: v for k, v in flat.items() if k not in _DOES_NOT_SET_APART}
    evaluations = read_evaluations(path / "eval.json")
    rows = (evaluations.best, evaluations.last)
    fresh = evaluations.fresh
    if fresh is not None:
        rows = (fresh.best, fresh.last)
    best, last = rows
    if best is None or last is None:
        raise DataError(f"{path}: eval.json holds no evaluation")
    choices = _planned_choices(planned) if planned is not None else _deviations(config, settings)
    document = _best_document(path)
    frame = document.get("common_frame") or {}
    return RunRecord(
        path=path,
        algorithm=config.algorithm,
        task=config.task,
        seed=config.run.seed,
        settings=settings,
        choices=choices,
        is_planned=planned is not None,
        command=_command(config.algorithm, config.task, config.run.seed, choices, planned),
        commit=None if evaluations.identity is None else evaluations.identity.commit,
        demonstrations=document.get("demonstrations"),
        # Version 0.1 kept no frame; its fresh episodes say which one they were measured in.
        frame_hash=frame.get("hash") or best.get("common_frame"),
        frame_source=frame.get("source"),
        best=best,
        last=last,
        is_fresh=fresh is not None,
        curve=_curve(path / "metrics.jsonl"),
    )


def first_reaching(curve: tuple[CurvePoint, ...], threshold: float) -> CurvePoint | None:
    """The first evaluation with at least this return."""
    return next((point for point in curve if point.average_return >= threshold), None)


def _planned_choices(planned: PlannedRun) -> Choices:
    return {name: text for name, _, text in (w.partition("=") for w in planned.words())}


def _deviations(config: Any, settings: Mapping[str, Any]) -> Choices:
    """The preset that is nearest to a run's settings, and what differs from it."""
    nearest: dict[str, str] | None = None
    for preset in ALGORITHMS[config.algorithm].presets:
        base = _settings_of_preset(config.algorithm, config.task, preset)
        if base is None:
            continue
        found: dict[str, str] = {PRESET: preset} if preset != "none" else {}
        found |= {k: _text(v) for k, v in settings.items() if base.get(k) != v}
        if nearest is None or len(found) < len(nearest):
            nearest = found
    return nearest or {}


@functools.cache
def _settings_of_preset(algorithm: str, task: str, preset: Any) -> dict[str, Any] | None:
    try:
        return flat_settings(default_config(algorithm, task, preset))
    except ConfigError:  # the paper prints no weights for this task
        return None


def _command(
    algorithm: str, task: str, seed: int, choices: Choices, planned: PlannedRun | None
) -> str:
    if planned is not None:
        *words, _, _, _ = planned.train_words(Path("SWEEP"))  # all but where it was run
    else:
        flags = [(f"--{name.replace('_', '-')}", text.split()) for name, text in choices.items()]
        chosen = [word for flag, values in flags for word in (flag, *values)]
        words = ["train", algorithm, "--task", task, "--seed", str(seed), *chosen]
    return shlex.join(["spacil", *words])


def _best_document(path: Path) -> dict[str, Any]:
    """state.json of the best checkpoint: demonstrations and frame; empty without one."""
    best = path / "checkpoints" / BEST
    for name in names_in(best):
        document = storage.read_json(best / name / "state.json")
        return document if isinstance(document, dict) else {}
    return {}


def _curve(metrics: Path) -> tuple[CurvePoint, ...]:
    points, seconds = [], 0.0
    for row in metrics_log.read(metrics):
        seconds += sum(value for key, value in row.items() if key.startswith("seconds_"))
        if row.get("average_return") is not None:
            j = row.get("smoothness_j")
            points.append(
                CurvePoint(row["iteration"], row["env_steps"], seconds, row["average_return"], j)
            )
    return tuple(points)


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
