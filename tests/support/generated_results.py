"""A results folder as experiments write it: their own analyses of runs with made-up results."""

from dataclasses import replace
from pathlib import Path

from generated_arms import gathered_from

from spacil import storage
from spacil.cli.output import identity
from spacil.experiments.named.experiment import Gathered
from spacil.experiments.named.front import page as front_page
from spacil.experiments.named.front.experiment import ladders
from spacil.experiments.named.front.runs import GAIL
from spacil.experiments.named.outcome import Outcome
from spacil.experiments.named.paper import claims, curves, perturbation, returns
from spacil.experiments.named.plan import Arm, Scope
from spacil.sweeps.plan import PlannedRun

TASK = "Hopper-v4"
SCOPE = Scope(tasks=(TASK,), seeds=(0, 1))
SETTINGS = {"gail": (3000.0, 2.0), "gail paper-mean": (2000.0, 4.0), "spacil": (3300.0, 0.5)}


def write_results(folder: Path, runs: Path) -> None:
    """Documents of returns, curves, perturbation, front and claims; `runs` is for run folders."""
    found = gathered_from(runs / "paper", returns.arms(SCOPE, runs), _of_setting, SCOPE)
    folder.mkdir()
    outcomes = {
        "returns": returns.analyse(found),
        "curves": curves.analyse(found),
        "perturbation": perturbation.analyse(_disturbed(found)),
        "front": front_page.analyse(_front(runs / "front")),
        "claims": claims.analyse(Gathered(())),
    }
    for name, outcome in outcomes.items():
        write_result(folder, name, outcome)


def write_result(folder: Path, name: str, outcome: Outcome) -> Path:
    """One document, as the command writes it."""
    path = folder / f"{name}.json"
    document = identity(experiment=name) | {"command": f"spacil experiment {name}"}
    storage.write_json(path, storage.without_non_finite(document | outcome.document()))
    return path


def _of_setting(arm: Arm, run: PlannedRun) -> tuple[float, float] | None:
    """10 apart between seeds; the other settings have not run."""
    if arm.label not in SETTINGS:
        return None
    average_return, j = SETTINGS[arm.label]
    return average_return + 10 * run.seed, j


def _disturbed(gathered: Gathered) -> Gathered:
    """The default under noise: at 0.1 half the return, twice J, and four times at fixed states."""
    arms = tuple(arm for arm in gathered.arms if arm.label == returns.DEFAULT)
    draws = [
        {"noise_std": noise, "average_return": g, "smoothness_j": j, "smoothness_j_fixed": j * j}
        for noise, g, j in ((0.0, 3000.0, 0.5), (0.001, 2900.0, 0.5), (0.1, 1500.0, 1.0))
    ]
    (best,) = perturbation.best_of_each_task(arms)
    return replace(gathered, arms=arms, measured={best.path: {"draws": draws}})


def _front(runs: Path) -> Gathered:
    """GAIL and one ladder."""
    scope = replace(SCOPE, groups=("whole",), changes=(("evaluation_interval", 2),))
    arms = ladders(scope, runs)
    shown = [arm for arm in arms if arm.label in (GAIL, "exact")]
    return gathered_from(runs, shown, lambda arm, run: (3500.0, 2.0), scope)
