"""One finished run, as its folder tells it: what was trained, how well it does, how it got there.

Nothing is computed here that needs the policy: a comparison of fifty runs takes seconds. A folder
that cannot be read is a typed error with its name.
"""

import functools
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from spacil import storage
from spacil.config.algorithms import ALGORITHMS
from spacil.config.defaults import default_config
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings, implied_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, DataError
from spacil.runs import metrics_log
from spacil.runs.checkpoints.names import BEST, names_in
from spacil.runs.evaluations import Row, read_evaluations
from spacil.runs.inputs import DemoInputs, read_inputs
from spacil.runs.resuming import config_of_run, status_of_run
from spacil.sweeps.plan import PRESET, PlannedRun, Value, flag_words

_DOES_NOT_SET_APART = (FREE_TO_CHANGE_ON_RESUME - {"iterations"}) | {"seed"}
_IN_MEMORY = "(in memory)"
"""In place of a file: demonstrations that were only ever an object in Python"""

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
    """Every setting that makes it another run, without the seed; of a run that no sweep planned
    also what tells its demonstrations from the usual ones"""
    choices: Choices
    """What was chosen: by its sweep, or else what differs from the nearest preset"""
    is_planned: bool
    """Whether a sweep says what was chosen"""
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
    if planned is not None:
        choices, command = _planned_choices(planned), _planned_command(planned)
    else:
        demos = _demonstrations(path)
        flags = _demonstration_flags(demos, config.task)
        chosen = _deviations(config, settings) | flags
        choices = {name: _text(value) for name, value in chosen.items()}
        command = _command(config, chosen)
        settings |= _other_data(demos, flags)
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
        command=command,
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


def _deviations(config: TrainConfig, settings: Mapping[str, Any]) -> dict[str, Value]:
    """The preset that is nearest to a run's settings, and what differs from it."""
    nearest: dict[str, Value] | None = None
    for preset in ALGORITHMS[config.algorithm].presets:
        base = settings_of_preset(config.algorithm, config.task, preset)
        if base is None:
            continue
        found: dict[str, Value] = {PRESET: preset} if preset != "none" else {}
        found |= {k: _value(v) for k, v in settings.items() if base.get(k) != v}
        implied = implied_settings(found)
        # What would follow from these and is not so has to be said as well.
        found |= {k: _value(settings[k]) for k, v in implied.items() if settings.get(k, v) != v}
        if nearest is None or len(found) < len(nearest):
            nearest = found
    return nearest or {}


def _demonstrations(path: Path) -> DemoInputs | None:
    inputs = read_inputs(path)
    return None if inputs is None else inputs.demonstrations


def _demonstration_flags(demos: DemoInputs | None, task: str) -> dict[str, Value]:
    """How a run's demonstrations were chosen, where that is not the usual: all bundled ones."""
    if demos is None:
        return {}
    usual = asdict(DemoChoice())
    chosen = {k: v for k, v in asdict(demos.choice).items() if v != usual[k]}
    sources = (_IN_MEMORY,) if demos.sources is None else demos.sources
    return chosen if sources in ((), (task,)) else {"demos": sources} | chosen


def _other_data(demos: DemoInputs | None, flags: Mapping[str, Value]) -> dict[str, Any]:
    """What tells a run's data from the usual: its content, wherever the file lay.

    With noise on the states every seed has its own content, and the flags are what seeds share.
    """
    if demos is None or not flags:
        return {}
    is_the_seeds_own = demos.choice.demo_noise > 0 or demos.content_hash is None
    return dict(flags) if is_the_seeds_own else {"demonstrations": demos.content_hash}


@functools.cache
def settings_of_preset(algorithm: str, task: str, preset: Any) -> Mapping[str, Any] | None:
    """By name; None where a printed preset has no weights for the task."""
    try:
        return flat_settings(default_config(algorithm, task, preset))
    except ConfigError:
        return None


def _planned_command(planned: PlannedRun) -> str:
    *words, _, _, _ = planned.train_words(Path("SWEEP"))  # all but where it was run
    return shlex.join(["spacil", *words])


def _command(config: TrainConfig, chosen: Mapping[str, Value]) -> str:
    words = ["train", config.algorithm, "--task", config.task, "--seed", str(config.run.seed)]
    flags = [word for name, value in chosen.items() for word in flag_words(name, value)]
    return shlex.join(["spacil", *words, *flags])


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


def _value(setting: Any) -> Value:
    """A setting as a plan has it; in flat settings a tuple is a list."""
    value: Value = tuple(setting) if isinstance(setting, list) else setting
    return value


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
