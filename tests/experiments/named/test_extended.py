"""Experiments whose documents can grow: a run counts alike in a folder and as a row."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated_arms import gathered_from

from spacil.errors import StorageError
from spacil.experiments.named import recipe
from spacil.experiments.named.experiment import NamedExperiment, gather
from spacil.experiments.named.paper import lambda_grid, mixing, returns
from spacil.experiments.named.plan import Arm, Extended, Scope, name_in
from spacil.experiments.named.table import NAMED, named_experiment
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun

TASK = "Hopper-v4"
OF_ROWS: dict[str, tuple[NamedExperiment, Callable[[Scope, Path], list[Arm]], tuple[str, ...]]] = {
    "returns": (returns.RETURNS, returns.arms, ()),
    "recipe": (recipe.RECIPE, recipe.arms, ("whole",)),
    "lambda-grid": (lambda_grid.LAMBDA_GRID, lambda_grid.arms, ("lipschitz",)),
    "mixing": (mixing.MIXING, mixing.arms, ()),
}


def results(arm: Arm, run: PlannedRun) -> tuple[float, float]:
    return 3000.0 + 10 * run.seed + len(arm.label), 2.0 + 0.1 * run.seed


def test_every_experiment_of_rows_can_be_extended() -> None:
    extendable = {name for name in NAMED if named_experiment(name).can_be_extended}
    assert extendable == {*OF_ROWS, "front"}


@pytest.mark.parametrize("name", OF_ROWS)
def test_a_page_from_rows_is_the_page_from_folders(name: str, tmp_path: Path) -> None:
    experiment, arms_of, groups = OF_ROWS[name]
    scope = Scope(tasks=(TASK,), seeds=(0, 1), groups=groups)
    arms = arms_of(scope, tmp_path)
    whole = experiment.analyse(gathered_from(tmp_path, arms, results, scope))
    document: dict[str, Any] = json.loads(json.dumps(whole.document()))
    # Seed 0 is in the document alone, seed 1 in its folders alone.
    kept = {str(name_in(row)): row for row in document["runs"] if row["seed"] == 0}
    elsewhere = tmp_path / "elsewhere"
    for run in (run for arm in arms for run in arm.runs() if run.seed == 1):
        if not (elsewhere / run.name).exists():
            (elsewhere / run.name).parent.mkdir(parents=True)
            (tmp_path / run.name).rename(elsewhere / run.name)
    extended = replace(scope, extended=Extended(kept, ("before",)))
    outcome = experiment.analyse(gather(SweepFolder(elsewhere, (), 0), arms, extended))
    assert not outcome.problems
    assert outcome.tables == whole.tables
    assert outcome.panels == whole.panels
    assert json.loads(json.dumps(outcome.document()["runs"])) == document["runs"]
    assert (outcome.num_runs, "before" in outcome.commits) == (whole.num_runs, True)


def test_best_policies_from_the_beginning_of_runs_are_told_of_rows_too(tmp_path: Path) -> None:
    scope = Scope(tasks=(TASK,), seeds=(0,), methods=("gail",))
    arms = returns.arms(scope, tmp_path)
    whole = returns.analyse(gathered_from(tmp_path, arms, results, scope))
    (row,) = whole.document()["runs"]
    kept = Extended({str(name_in(row)): {**row, "iteration": 10}})
    folder = SweepFolder(tmp_path / "empty", (), 0)
    outcome = returns.analyse(gather(folder, arms, replace(scope, extended=kept)))
    assert outcome.notes == ["Hopper-v4, gail: its best policies are of iterations 10 of 200"]


def test_a_row_without_the_numbers_of_its_policy_is_refused_by_name(tmp_path: Path) -> None:
    scope = Scope(tasks=(TASK,), seeds=(0,), methods=("gail",))
    arms = returns.arms(scope, tmp_path)
    (row,) = returns.analyse(gathered_from(tmp_path, arms, results, scope)).document()["runs"]
    damaged = Extended({str(name_in(row)): {**row, "last": None}})
    folder = SweepFolder(tmp_path / "empty", (), 0)
    gathered = gather(folder, arms, replace(scope, extended=damaged))
    with pytest.raises(StorageError, match=r"'gail/Hopper-v4/.*seed0' is no run with numbers"):
        returns.analyse(gathered)
