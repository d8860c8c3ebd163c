"""Run folders as data: one row per run, and one per evaluation during training.

No policy is opened, so that fifty runs take seconds. What cannot be read is named, never dropped.
"""

import functools
import math
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.comparison.demonstrator import demonstrator_of
from spacil.config.algorithms import ALGORITHMS
from spacil.config.defaults import default_config
from spacil.config.flat import FREE_TO_CHANGE_ON_RESUME, flat_settings, implied_settings
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError, DataError, SpacilError
from spacil.measuring.played import share_of_return
from spacil.plain_text import MAX_MESSAGE, shown
from spacil.policies.file import Which
from spacil.runs import metrics_log
from spacil.runs.facts import RUN_FILE, RunFacts, number_in, read_run
from spacil.sweeps.folder import PLAN, read_sweep
from spacil.sweeps.plan import PRESET, SWEEP_FOLDER, PlannedRun, Value, flag_words, words_of

EVALUATED = {
    "average_return": "G",
    "return_std": "std over episodes",
    "smoothness_j_common": "J common",
    "smoothness_j_effective": "J effective",
    "smoothness_j_own": "J own",
    "smoothness_j_raw": "J raw",
    "smoothness_j_demo_states": "J at demonstrated states",
    "smoothness_j_ball": "J by the paper's ascent",
    "smoothness_jeffreys": "Jeffreys divergence",
    "action_fluctuation": "action change",
    "spectrum_score": "spectrum score",
    "imitation_score": "imitation score",
    "random_return": "G of random actions",
}
"""Numbers of one policy's episodes, with the heads of their columns"""
REACHED = {"steps_to_95": "steps to 95 %", "seconds_to_95": "seconds to 95 %"}
"""When training first reached the demonstrator's return, with the heads of their columns; steps of
evaluations that steered count"""
MARGINS = {"delay_margin": "delay margin, steps", "noise_margin": "noise margin, std"}
"""What a tenth of the return is lost at, where that was asked for, with the heads of their columns;
each has `_low` and `_high` beside it"""
MEASURES = EVALUATED | REACHED | MARGINS
CURVE = (
    "iteration", "env_steps", "average_return", "smoothness_j", "seconds", "steering_steps",
)  # fmt: skip
"""Numbers of an evaluation during training, with the seconds of all iterations until it, and the
steps of all evaluations until it that a weight search heard: those are no env_steps"""

_KEPT_APART = (FREE_TO_CHANGE_ON_RESUME - {"iterations"}) | {"seed"}
"""Settings in which two runs of one row may differ"""

Row = dict[str, Any]


def rows_of_runs(sources: Iterable[Path], which: Which) -> tuple[list[Row], list[Row], list[str]]:
    """Read every run under some paths, each once: runs, evaluations in training, and problems."""
    found: dict[Path, tuple[Path, PlannedRun | None]] = {}
    problems: list[str] = []
    for source in sources:
        for path, planned in _runs_under(source, problems).items():
            found.setdefault(path.resolve(), (path, planned))
    runs, curves = [], []
    for path, planned in found.values():
        try:
            run, curve = row_of_run(path, planned, which)
        except (SpacilError, OSError) as error:
            problems.append(str(error) if str(path) in str(error) else f"{path}: {error}")
        else:
            runs.append(run)
            curves += [{"run_dir": run["run_dir"], **point} for point in curve]
    # Names of folders and reasons in files may be anything; each problem stays one line.
    return runs, curves, [shown(problem, MAX_MESSAGE) for problem in problems]


def _runs_under(source: Path, problems: list[str]) -> dict[Path, PlannedRun | None]:
    """Find the finished runs of every sweep in a folder, and all other runs that lie there."""
    if not source.is_dir():
        expected = "is a file, expected a run folder, a folder of runs, or a sweep"
        problems.append(f"{source}: {expected if source.exists() else 'there is no such folder'}")
        return {}
    found: dict[Path, PlannedRun | None] = {}
    planned: set[Path] = set()

    def name_problem(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    files = {Path(at): names for at, _, names in os.walk(source, onerror=name_problem)}
    sweeps = sorted(folder for folder, names in files.items() if PLAN in names)
    for folder in sweeps:
        try:
            sweep = read_sweep(folder)
            states = sweep.states(sweep.runs())
        except SpacilError as error:
            problems.append(str(error))
            continue
        for run, state in states.items():
            path = sweep.run_dir(run)
            planned.add(path.resolve())
            if state.state in ("finished", "trained"):
                found[path] = run
            else:
                problems.append(
                    f"{path}: {state.state}" + (f": {state.reason}" if state.reason else "")
                )
    others = sorted(folder for folder, names in files.items() if RUN_FILE in names)
    found |= {path: None for path in others if path.resolve() not in planned}
    if not found and not sweeps:
        problems.append(f"{source}: holds no run")
    return found


def row_of_run(path: Path, planned: PlannedRun | None, which: Which) -> tuple[Row, list[Row]]:
    """Read a run folder into a row and its learning curve; a damaged value is a DataError."""
    facts = read_run(path)
    if facts.status != "finished":
        raise DataError(f"{path}: the run is not finished; resume it, or leave it out")
    measured = getattr(facts.fresh or facts, which)
    if measured is None:
        raise DataError(f"{path}: the run has no evaluation of its {which} policy")
    config = facts.config
    settings = _settings(config)
    flags, data = _demonstrations(facts)
    if planned is None:
        chosen = _differences(config, settings) | flags
    else:
        chosen = dict(planned.choices)
        data = {name: chosen.get(name) for name in flags} or data  # of all seeds in one
    choices = {name: "+".join(words_of(value)) for name, value in chosen.items()}
    words = ["spacil", "train", config.algorithm, "--task", config.task]
    words += ["--seed", str(config.run.seed)]
    words += [word for name, value in chosen.items() for word in flag_words(name, value)]
    source = f"{path}, evaluation of the {which} policy"
    names = ("iteration", *EVALUATED, "num_episodes")
    numbers = {name: number_in(measured, name, source) for name in names}
    # Evaluations, with the seconds of all iterations until each, its own included.
    curve, seconds, steering = [], 0.0, 0.0
    for record in metrics_log.read(metrics := path / "metrics.jsonl"):
        spent = [name for name in record if name.startswith("seconds_")]
        seconds += math.fsum(number_in(record, name, metrics) for name in spent)
        if record.get("average_return") is not None:
            point = {name: number_in(record, name, metrics) for name in CURVE[1:4]}
            if any(name.startswith("next_lambda") or "target_verdict" in name for name in record):
                played = (
                    number_in(record, name, metrics) for name in ("num_episodes", "mean_length")
                )
                steering += math.prod(played)
            point |= {"seconds": seconds, "steering_steps": steering}
            curve.append({"iteration": record["iteration"], **point})
    common_frame = facts.common_frame or {}
    frame = common_frame.get("hash") or measured.get("common_frame")
    demos = None if facts.inputs is None else facts.inputs.demonstrations
    row: Row = {
        "task": config.task,
        "algorithm": config.algorithm,
        "seed": config.run.seed,
        "iterations": settings["iterations"],
        "env_steps": curve[-1]["env_steps"] if curve else math.nan,
        **numbers,
        **_beside_demonstrator(config.task, frame, numbers, curve),
        **{f"{name}{end}": math.nan for name in MARGINS for end in ("", "_low", "_high")},
        "is_fresh": facts.fresh is not None,
        "is_planned": planned is not None,
        "commit": facts.commit,
        "command": shlex.join(word.replace(SWEEP_FOLDER, "SWEEP") for word in words),
        "run_dir": str(path),
        "demonstrations": None if demos is None else demos.content_hash,
        "frame_hash": frame,
        "frame_source": common_frame.get("source"),
        "settings": settings,
        "choices": choices,
        "key": storage.document_hash({"settings": settings, "data": data}),
    }
    return row, curve


@functools.cache
def _preset_settings(algorithm: str, task: str, preset: Any) -> Mapping[str, Value] | None:
    try:
        return _settings(default_config(algorithm, task, preset))
    except ConfigError:  # a printed preset has no weights for the task
        return None


def _settings(config: TrainConfig) -> dict[str, Value]:
    """What runs of one row share."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in flat_settings(config).items()
        if name not in _KEPT_APART
    }


def _differences(config: TrainConfig, settings: Mapping[str, Value]) -> dict[str, Value]:
    """Name the preset that is nearest to a run's settings, and what differs from it."""
    readings: list[dict[str, Value]] = []
    for preset in ALGORITHMS[config.algorithm].presets:
        if (base := _preset_settings(config.algorithm, config.task, preset)) is not None:
            found = {k: v for k, v in settings.items() if base.get(k) != v}
            named: dict[str, Value] = {PRESET: preset} if preset != "none" else {}
            # What would follow from these and is not so has to be said as well.
            implied = implied_settings(named | found)
            found |= {k: settings[k] for k, v in implied.items() if settings.get(k, v) != v}
            readings.append(named | found)
    return min(readings, key=len, default={})


def _demonstrations(facts: RunFacts) -> tuple[dict[str, Value], dict[str, Any]]:
    """Flags of demonstrations other than all bundled ones, and what tells their data apart.

    That is their content, wherever the file lay. With noise on the states every seed has its own
    content, and the flags are what seeds share.
    """
    demos = None if facts.inputs is None else facts.inputs.demonstrations
    if demos is None:
        return {}, {}
    usual = asdict(DemoChoice())
    flags: dict[str, Value] = {k: v for k, v in asdict(demos.choice).items() if v != usual[k]}
    sources = ("(in memory)",) if demos.sources is None else demos.sources
    if sources not in ((), (facts.config.task,)):
        flags["demos"] = sources
    is_own = demos.choice.demo_noise > 0 or demos.content_hash is None
    return flags, flags if is_own else {"demonstrations": demos.content_hash}


def _beside_demonstrator(
    task: str, frame: str | None, numbers: Mapping[str, float], curve: list[Row]
) -> Row:
    """Return and J of the run's demonstrator, and when the run came to 95 % of that return.

    The bundled one, where the run learned from its episodes, whole or thinned: a folder that does
    not say which ones it had is taken to have had those. NaN where it is another one.
    """
    names = ("demonstrator_return", "demonstrator_j", "return_share", *REACHED)
    row: Row = dict.fromkeys(names, math.nan)
    known = demonstrator_of(task)
    if known is not None and frame in (None, known.frame_hash):
        g, random = numbers["average_return"], numbers["random_return"]
        threshold = known.threshold(random)
        reached = next((point for point in curve if point["average_return"] >= threshold), None)
        found = (
            known.average_return,
            known.smoothness_j,
            share_of_return(g, random, known.average_return),
            reached and reached["env_steps"] + reached["steering_steps"],
            reached and reached["seconds"],
        )
        row |= {k: v for k, v in zip(names, found, strict=True) if v is not None}
    return row
