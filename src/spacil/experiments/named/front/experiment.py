"""Return against smoothness, beyond the paper: our penalty, its rivals, filters, and controls.

One ladder per method, task, data and seed (`ladder.py`), then the smoothest rung that keeps 97 % of
the return once more at a fixed weight. Filters act on GAIL's policy: they change what the motors
feel and not J, so they stand in the front of the action change alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacil.experiments.named.experiment import NamedExperiment, gather
from spacil.experiments.named.front.filters import measure, measured_with, runs_of_gail
from spacil.experiments.named.front.ladder import (
    METHODS,
    base,
    ladder,
    num_iterations,
    weighted,
)
from spacil.experiments.named.front.methods import mean_rungs, reference_of
from spacil.experiments.named.front.numbers import LEAST_SHARE, smoothest_at
from spacil.experiments.named.front.page import analyse
from spacil.experiments.named.front.runs import (
    CONFIRMED,
    DEFAULT,
    GAIL,
    LEAST_CHANGE,
    SMOOTHEST,
    RunsByMethod,
    runs_by_place,
)
from spacil.experiments.named.plan import Arm, Scope, Setting, narrowed
from spacil.experiments.named.recipe import DATA, SCARCE, WHOLE
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import Value

TASKS = {
    WHOLE: ("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4"),
    SCARCE: ("Hopper-v4", "HalfCheetah-v4"),
}
SEEDS = 3
CONTROL_ITERATIONS = 200

_WISH: Mapping[str, Value] = {"keep_return": LEAST_SHARE}
"""For what the front is judged by"""
_CALM: Mapping[str, Value] = {
    "fluctuation_target": 0.3,
    "fluctuation_target_reference": "demonstrator",
}
"""For its second half: less change than anybody reaches, so that the return decides how much"""


def ladders(scope: Scope, _: Path) -> list[Arm]:
    """Every method's ladder, and those it is seen beside."""
    found = []
    for tier, usual in TASKS.items():
        flags, from_seed = DATA[tier]
        control: dict[str, Any] = {"imitation_reward": "constant", "iterations": CONTROL_ITERATIONS}
        as_long: dict[str, Value] = {"iterations": num_iterations(scope)}
        beside = (
            Setting(GAIL, "spacil", base(tier, None), from_seed),
            Setting(DEFAULT, "spacil", {**flags, **as_long}, from_seed),
            Setting(SMOOTHEST, "spacil", {**flags, **as_long, **_WISH}, from_seed),
            Setting(LEAST_CHANGE, "spacil", {**flags, **as_long, **_WISH, **_CALM}, from_seed),
            Setting("bc", "bc", flags, from_seed),
            Setting("constant reward", "gail", {**flags, **control}, from_seed),
        )
        methods = list(METHODS)[:2] if scope.is_quick else list(METHODS)
        for task in scope.tasks_or(usual):
            settings = (*beside, *(ladder(label, tier, scope) for label in methods))
            found += [Arm(one, task, scope.seeds_or(SEEDS), tier) for one in settings]
    return narrowed(found, scope)


def confirmed(scope: Scope, folder: Path) -> list[Arm]:
    """The ladders, and each method's chosen rung once more at a fixed weight."""
    arms = ladders(scope, folder)
    by_place = runs_by_place(gather(SweepFolder(folder, (), 0), arms, scope))
    found = []
    for arm in arms:
        factor = chosen_factor(arm, by_place[arm.task, arm.group])
        if factor is not None:
            choices = base(arm.group, None) | weighted(arm.label, factor)
            setting = Setting(f"{arm.label}{CONFIRMED}", "spacil", choices, DATA[arm.group][1])
            found.append(Arm(setting, arm.task, arm.seeds, arm.group))
    return [*arms, *narrowed(found, Scope(is_quick=scope.is_quick, changes=scope.changes))]


def chosen_factor(arm: Arm, runs: RunsByMethod) -> float | None:
    """The rung of the lowest J, in the mean over seeds, that keeps 97 % of the return.

    None until all seeds of the ladder and of GAIL are there: a choice from some of them could be
    another one later, and its runs in vain.
    """
    reference = reference_of(runs)
    if arm.label not in METHODS or reference is None:
        return None
    if any(len(runs.get(label, ())) < len(arm.seeds) for label in (arm.label, GAIL)):
        return None
    rungs = [
        rung
        for rung in mean_rungs(runs[arm.label])
        if rung["factor"] > 0 and rung["J"] is not None and rung["share"] is not None
    ]
    index = smoothest_at([(rung["J"], rung["share"] / reference.share) for rung in rungs])
    return None if index is None else float(rungs[index]["factor"])


FRONT = NamedExperiment(
    stages=(ladders, confirmed),
    analyse=analyse,
    measure=measure,
    measured_runs=runs_of_gail,
    measured_with=measured_with,
    can_be_extended=True,
)
