"""What a named experiment runs: settings with a label, on tasks, over seeds.

An arm is one row of a table. Its runs are ordinary runs of a sweep, and two experiments that ask
for the same run share its folder.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spacil.errors import ConfigError
from spacil.sweeps.plan import (
    SWEEP_FOLDER,
    Choice,
    Grid,
    PlannedRun,
    Value,
    is_read,
    words_of,
)

FIVE_TASKS = ("Reacher-v4", "Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Ant-v4")
UNTRAINED: Mapping[str, int] = {
    "Reacher-v4": 300,
    "Hopper-v4": 200,
    "Walker2d-v4": 200,
    "HalfCheetah-v4": 400,
    "Ant-v4": 75,
}
"""Iterations from an untrained start: eight minutes of one core beside a GPU. On Walker2d and Ant
that is not where it stands still; `--set iterations=500` is what the paper's steps come to"""
ANT_FROM_CLONE = 100
"""From a clone all other tasks have the default's iterations"""
QUICK_TASKS = ("Reacher-v4",)
QUICK_SEEDS = (0, 1)
QUICK: Mapping[str, Value] = {
    "iterations": 20,
    "evaluation_interval": 5,
    "evaluation_steps": 1_000,
}
"""What `--quick` changes in every run that reads it"""

_IN_SWEEP = f"{SWEEP_FOLDER}/"


@dataclass(frozen=True)
class Setting:
    """One method: an algorithm and what is chosen for it."""

    label: str
    algorithm: str
    choices: Mapping[str, Value] = field(default_factory=dict)
    from_seed: tuple[str, ...] = ()
    """Flags whose value is the seed: with `demo_offset`, seed s thins from its own offset, so
    that an interval over seeds holds the variance of the data too"""


@dataclass(frozen=True)
class Arm:
    """One setting on one task, over seeds."""

    setting: Setting
    task: str
    seeds: tuple[int, ...]
    group: str = ""
    """Arms of one group and task are compared with each other"""

    @property
    def label(self) -> str:
        return self.setting.label

    @property
    def place(self) -> str:
        """`Hopper-v4, whole, gail`"""
        return ", ".join(word for word in (self.task, self.group, self.label) if word)

    def grids(self) -> list[Grid]:
        """One for all seeds; one for each where the seed also chooses the data."""
        fixed = tuple((name, (value,)) for name, value in self.setting.choices.items())
        algorithms, tasks = (self.setting.algorithm,), (self.task,)
        if not self.setting.from_seed:
            return [Grid(algorithms, tasks, self.seeds, fixed)]
        return [
            Grid(
                algorithms,
                tasks,
                (seed,),
                (*fixed, *((name, (seed,)) for name in self.setting.from_seed)),
            )
            for seed in self.seeds
        ]

    def runs(self) -> list[PlannedRun]:
        return [run for grid in self.grids() for run in grid.runs()]

    def missing_files(self, folder: Path) -> list[str]:
        """What its runs read from the sweep's folder and is not there yet: they wait for it."""
        words = [word for value in self.setting.choices.values() for word in words_of(value)]
        names = [word.removeprefix(_IN_SWEEP) for word in words if word.startswith(_IN_SWEEP)]
        return [name for name in names if not (folder / name).exists()]


@dataclass(frozen=True)
class Extended:
    """The document of an earlier call, whose runs count as done wherever their folders are."""

    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a run -> its row"""
    commits: tuple[str, ...] = ()
    """That made all its runs together"""


def name_in(row: Mapping[str, Any]) -> str | None:
    """Of the run of a document's row; None where no sweep made it."""
    name = row.get("run", row.get("run_dir"))
    return None if name is None else str(name)


@dataclass(frozen=True)
class Scope:
    """What a user narrows or changes; empty means as the experiment has it."""

    tasks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    """Labels of settings"""
    is_quick: bool = False
    changes: tuple[Choice, ...] = ()
    """Settings of every run that reads them"""
    extended: Extended = field(default_factory=Extended)

    def tasks_or(
        self, usual: tuple[str, ...], quick: tuple[str, ...] = QUICK_TASKS
    ) -> tuple[str, ...]:
        return self.tasks or (quick if self.is_quick else usual)

    def seeds_or(self, count: int) -> tuple[int, ...]:
        """The first `count` seeds, unless the user or `--quick` says others."""
        return self.seeds or (QUICK_SEEDS if self.is_quick else tuple(range(count)))

    @property
    def of_page(self) -> "Scope":
        """What the page shows: with an extended document all of it, however little is run now."""
        if not self.extended.rows:
            return self
        known = {row["seed"] for row in self.extended.rows.values()}
        seeds = tuple(sorted(known.union(self.seeds))) if self.seeds else ()
        return replace(self, tasks=(), groups=(), methods=(), seeds=seeds)


Stage = Callable[[Scope, Path], list[Arm]]
"""The arms to run, given the folder of the sweep with what earlier stages left in it"""


def with_budget(setting: Setting, task: str) -> Setting:
    """The setting with the iterations that its start has on a task."""
    is_printed = str(setting.choices.get("preset", "")).startswith("paper")
    choices = dict(setting.choices)
    if (setting.algorithm == "gail" or is_printed) and task in UNTRAINED:
        choices["iterations"] = UNTRAINED[task]
    elif setting.algorithm == "spacil" and task == "Ant-v4":
        choices["iterations"] = ANT_FROM_CLONE
    return Setting(setting.label, setting.algorithm, choices, setting.from_seed)


def narrowed(arms: Iterable[Arm], scope: Scope) -> list[Arm]:
    """The arms of the groups and methods asked for, with the scope's changes in their settings."""
    arms = list(arms)
    require_known(arms, groups=scope.groups, methods=scope.methods)
    changes = {**(QUICK if scope.is_quick else {}), **dict(scope.changes)}
    return [
        Arm(_changed(arm.setting, changes), arm.task, arm.seeds, arm.group)
        for arm in arms
        if (not scope.groups or arm.group in scope.groups)
        and (not scope.methods or arm.label in scope.methods)
    ]


def still_to_run(arms: Iterable[Arm], scope: Scope) -> list[Arm]:
    """Of the arms of an extended page: what the scope asks for and the page does not have yet."""
    left = []
    for arm in arms:
        is_asked_for = (
            (not scope.tasks or arm.task in scope.tasks)
            and (not scope.groups or arm.group in scope.groups)
            and (not scope.methods or arm.label in scope.methods)
        )
        seeds = tuple(
            run.seed
            for run in arm.runs()
            if run.name not in scope.extended.rows and run.seed in (scope.seeds or arm.seeds)
        )
        if is_asked_for and seeds:
            left.append(replace(arm, seeds=seeds))
    return left


def require_known(
    arms: Sequence[Arm],
    *,
    tasks: tuple[str, ...] = (),
    groups: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
) -> None:
    """Refuses a name that none of the arms has."""
    _require("tasks", tasks, [arm.task for arm in arms])
    _require("groups", groups, [arm.group for arm in arms])
    _require("methods", methods, [arm.label for arm in arms])


def _require(flag: str, asked: tuple[str, ...], there: list[str]) -> None:
    for name in asked:
        if name not in there:
            known = ", ".join(repr(one) for one in dict.fromkeys(there) if one) or f"no {flag}"
            raise ConfigError(f"--{flag} {name!r}: this experiment has {known}")


def _changed(setting: Setting, changes: Mapping[str, Value]) -> Setting:
    read = {name: value for name, value in changes.items() if is_read(setting.algorithm, name)}
    taken = (setting.choices.keys() | set(setting.from_seed)) - QUICK.keys()
    for name in read.keys() & taken:
        raise ConfigError(f"--set {name}: the setting {setting.label!r} of this experiment sets it")
    return Setting(setting.label, setting.algorithm, {**setting.choices, **read}, setting.from_seed)
