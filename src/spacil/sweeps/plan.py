"""What a sweep runs: every combination of algorithm, task, settings and seed, in a fixed order.

A plan is data. It is written by flags or by a JSON or TOML file, it is checked as a whole before
the first run starts, and each of its runs has one folder whose name follows from the run alone, so
that any machine finds the same run in the same place.
"""

import itertools
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from spacil.config.algorithms import ALGORITHMS
from spacil.config.defaults import default_config
from spacil.config.flat import (
    SHORT_FORM,
    all_settings,
    settings_of,
    with_user_settings,
)
from spacil.config.settings import DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.plain_text import did_you_mean, shown
from spacil.runs.folder import safe_folder_name

Value = str | int | float | bool | tuple[str | int | float, ...]
Choice = tuple[str, Value]
"""A setting and the value that it has in one run"""

TRAINED = tuple(name for name, row in ALGORITHMS.items() if row.verb == "train")
"""The algorithms that a sweep can run: each of its runs is a `spacil train`"""
PRESET = "preset"
SWEEP_FOLDER = "{sweep}"
"""In a value: the folder of the sweep. What lies in it moves with it, and so do the names of runs
that read it"""
SEED = "{seed}"
"""As a value: the seed of the run, so that each seed can have demonstrations of its own"""
DEMONSTRATION_FLAGS: Mapping[str, Any] = {
    **get_type_hints(DemoChoice),
    "demos": tuple[str, ...],
    "num_demos": int,
}
"""Flags of `spacil train` that choose demonstrations; they are no settings of the config."""

MOST_RUNS = 10_000
"""Of one grid: more are a slip, and would take all memory before anybody is told"""

_DECIDED_BY_THE_SWEEP = {
    "seed": "--seeds",
    "task": "--tasks",
    "device": "--device",
    "torch_threads": "--threads-per-job",
    "simulation_threads": "--threads-per-job",
}
"""Flag of `spacil train` -> the sweep's own"""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep."""

    algorithm: str
    task: str
    seed: int
    choices: tuple[Choice, ...] = ()
    """What the sweep sets, by name; only what the algorithm reads"""

    @property
    def variant(self) -> str:
        """The choices in words: `lambda_policy=0.03 preset=fast`, or `default`."""
        return " ".join(self.words()) or "default"

    @property
    def name(self) -> str:
        """`spacil/Hopper-v4/lambda_policy-0.03-1a2b3c/seed0`: also its folder in the sweep's."""
        task, variant = safe_folder_name(self.task), safe_folder_name(self.variant)
        return f"{self.algorithm}/{task}/{variant}/seed{self.seed}"

    def words(self) -> list[str]:
        """The choices, one word each: `penalty=exact=0.03+temporal=0.1`."""
        return [f"{name}={'+'.join(words_of(value))}" for name, value in self.choices]

    def train_words(self, sweep_dir: Path) -> list[str]:
        """The words of the `spacil` command that starts this run in a sweep, or resumes it."""
        words = ["train", self.algorithm, "--task", self.task, "--seed", str(self.seed)]
        for name, value in self.choices:
            flag, *values = flag_words(name, value)
            words += [flag, *(word.replace(SWEEP_FOLDER, str(sweep_dir)) for word in values)]
        return [*words, "--run-dir", str(sweep_dir / self.name), "--resume"]

    def config(self) -> TrainConfig:
        """The run's settings; refuses values that `spacil train` would refuse."""
        chosen = dict(self.choices)
        preset: Any = chosen.pop(PRESET, "none")
        settings = {k: v for k, v in chosen.items() if k not in DEMONSTRATION_FLAGS}
        config = default_config(self.algorithm, self.task, preset)
        return with_user_settings(config, {"seed": self.seed, **settings})


@dataclass(frozen=True)
class Grid:
    """A product: every algorithm on every task with every seed and every combination of values."""

    algorithms: tuple[str, ...]
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    set: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    """Setting -> its values; by name, so that a plan read back from a file is the same plan"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "set", tuple(sorted(self.set, key=lambda pair: pair[0])))
        for name in ("algorithms", "tasks", "seeds"):
            if not getattr(self, name):
                raise ConfigError(f"a sweep needs --{name}: one or more")
        sides = (self.algorithms, self.tasks, self.seeds, *(values for _, values in self.set))
        if (num_runs := math.prod(map(len, sides))) > MOST_RUNS:
            raise ConfigError(f"{num_runs:,} runs in one sweep, expected {MOST_RUNS:,} at most")
        for algorithm in self.algorithms:
            if algorithm not in TRAINED:
                known = ", ".join(TRAINED)
                raise ConfigError(f"--algorithms {algorithm}: expected some of {known}")
        for name, _ in self.set:
            if not any(is_read(algorithm, name) for algorithm in self.algorithms):
                readers = ", ".join(row for row in TRAINED if is_read(row, name))
                raise ConfigError(
                    f"--set {name}: no algorithm of this sweep reads it; it is for {readers}"
                )

    def runs(self) -> list[PlannedRun]:
        """In the order of the flags, seeds innermost.

        An algorithm that does not read a setting is not multiplied by its values: GAIL in a sweep
        over `lambda_policy` runs once per seed.
        """
        runs: list[PlannedRun] = []
        for task, algorithm in itertools.product(self.tasks, self.algorithms):
            read = [(name, values) for name, values in self.set if is_read(algorithm, name)]
            combinations = itertools.product(*(values for _, values in read))
            for combination, seed in itertools.product(combinations, self.seeds):
                names = (name for name, _ in read)
                own = (seed if value == SEED else value for value in combination)
                choices = tuple(zip(names, own, strict=True))
                runs.append(PlannedRun(algorithm, task, seed, choices))
        return runs


def planned_runs(grids: Iterable[Grid]) -> list[PlannedRun]:
    """The runs of all grids, each once, checked: nothing starts before everything could."""
    runs = list(dict.fromkeys(run for grid in grids for run in grid.runs()))
    for run in runs:
        run.config()
    return runs


def is_read(algorithm: str, name: str) -> bool:
    """Whether a setting or flag of this name changes what the algorithm does."""
    if name in DEMONSTRATION_FLAGS:
        return ALGORITHMS[algorithm].needs_demonstrations
    if name == PRESET:
        return len(ALGORITHMS[algorithm].presets) > 1
    return ("penalty" if name == SHORT_FORM else name) in settings_of(algorithm)


def share(runs: Sequence[PlannedRun], shard: str | None) -> list[PlannedRun]:
    """Every n-th run from the i-th on for `i/n`, i from 0; all without a shard."""
    if shard is None:
        return list(runs)
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if match is None or int(match[1]) >= int(match[2]):
        raise ConfigError(f"--shard {shard}: expected i/n with i from 0 to n - 1, such as 0/4")
    return list(runs[int(match[1]) :: int(match[2])])


# --- from words and documents


def seeds_of(words: Iterable[str]) -> tuple[int, ...]:
    """Read `0-4` or single numbers, in the order given, each once."""
    seeds: list[int] = []
    for word in words:
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", word)
        found = range(int(match[1]), int(match[2] or match[1]) + 1) if match else ()
        if not 0 < len(found) <= MOST_RUNS:
            raise ConfigError(
                f"--seeds {word}: expected numbers, or ranges such as 0-4, of {MOST_RUNS:,} at most"
            )
        seeds += found
    return tuple(dict.fromkeys(seeds))


def assignment(word: str) -> tuple[str, tuple[Value, ...]]:
    """`lambda_policy=0.01,0.03` as a setting and its values; quotes keep commas and spaces."""
    name, sign, text = word.partition("=")
    name = name.replace("-", "_")
    if not sign or not text:
        raise ConfigError(f"--set {word}: expected NAME=VALUE or NAME=VALUE,VALUE,...")
    splitter = shlex.shlex(text, posix=True, punctuation_chars="")
    splitter.whitespace, splitter.whitespace_split, splitter.commenters = ",", True, ""
    try:
        parts = list(splitter)
    except ValueError as error:
        raise ConfigError(f"--set {word}: {error}") from None
    return name, tuple(_value(name, part) for part in parts)


def grids_of(document: object, source: str) -> list[Grid]:
    """The grids of a plan file: one at the top, or several under `grids`."""
    match document:
        case {"grids": [dict(), *_] as grids, **others} if not others:
            return [_grid(grid, source) for grid in grids]
        case dict():
            return [_grid(document, source)]
    raise ConfigError(f"{source}: expected algorithms, tasks, seeds and set, or a list of grids")


def document_of(grids: Iterable[Grid]) -> dict[str, Any]:
    """The inverse of `grids_of`, for sweep.json."""
    return {"grids": [vars(grid) | {"set": dict(grid.set)} for grid in grids]}


def words_of(value: Value) -> list[str]:
    """A value as words of the command line."""
    return [str(part) for part in value] if isinstance(value, tuple) else [str(value)]


def flag_words(name: str, value: Value) -> list[str]:
    """A setting as `spacil train` takes it: a flag and its words; yes and no are flags alone."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", *words_of(value)]


def _grid(document: Mapping[str, Any], source: str) -> Grid:
    keys, settings = ("algorithms", "tasks", "seeds"), document.get("set", {})
    if {*document} - {"set"} != {*keys} or not isinstance(settings, dict):
        raise ConfigError(f"{source}: {shown(document)}, expected algorithms, tasks, seeds and set")
    algorithms, tasks, seeds = (tuple(map(str, _listed(document[key]))) for key in keys)
    names = {name: name.replace("-", "_") for name in settings}
    values = [
        (names[name], tuple(_value(names[name], part) for part in _listed(given)))
        for name, given in settings.items()
    ]
    return Grid(algorithms, tasks, seeds_of(seeds), tuple(values))


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else [given]


def _value(name: str, given: object) -> Value:
    """Return a value of the setting's own type, from text or from a document."""
    if name in _DECIDED_BY_THE_SWEEP:
        raise ConfigError(f"--set {name}: a sweep takes {_DECIDED_BY_THE_SWEEP[name]}")
    hints = {**all_settings(), **DEMONSTRATION_FLAGS, SHORT_FORM: float, PRESET: str}
    if name not in hints:
        raise ConfigError(f"--set {name}: there is no such setting{did_you_mean(name, hints)}")
    if get_origin(hints[name]) is tuple:
        parts = given.split() if isinstance(given, str) else _listed(given)
        return tuple(_scalar(name, get_args(hints[name])[0], part) for part in parts)
    return _scalar(name, hints[name], given)


def _scalar(name: str, hint: Any, given: object) -> str | int | float:
    text = str(given)
    if hint not in (bool, int, float) or (text == SEED and hint is int):
        return text
    try:
        value: int | float
        value = {"true": True, "false": False}[text.lower()] if hint is bool else hint(text)
    except (KeyError, ValueError):
        expected = "true or false" if hint is bool else "a number"
        raise ConfigError(f"--set {name}={text}: expected {expected}") from None
    return value
