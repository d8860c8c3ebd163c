"""Experiments that measure at finished runs: perturbation, the cost's constants, demonstrators."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated_arms import gathered_from

from spacil.comparison.policy_file import PolicyFile, one_per_task, read_policy_file
from spacil.comparison.run_record import RunRecord
from spacil.errors import ConfigError, DataError
from spacil.experiments.named.experiment import Gathered, measured_at
from spacil.experiments.named.paper import cost_smoothness, demonstrators, lambda_grid, perturbation
from spacil.experiments.named.plan import Scope
from spacil.policies.file import load_expert, save_policy

TASK = "Hopper-v4"


def draw(level: float, g: float, j: float, fixed: float, number: int = 0) -> dict[str, Any]:
    return {
        "noise_std": level, "draw": number, "average_return": g, "return_std": 1.0,
        "smoothness_j": j, "smoothness_j_fixed": fixed,
    }  # fmt: skip


@pytest.fixture
def spacil_runs(tmp_path: Path) -> Gathered:
    """Two seeds of the default on Hopper; seed 1 is the better one."""
    scope = Scope(tasks=(TASK,), seeds=(0, 1))
    arms = perturbation.arms(scope, tmp_path)
    return gathered_from(tmp_path, arms, lambda arm, run: (3000.0 + run.seed, 0.5), scope)


def test_perturbation_takes_the_best_run_of_each_task(spacil_runs: Gathered) -> None:
    (chosen,) = perturbation.best_of_each_task(spacil_runs.arms)
    assert (chosen.task, chosen.seed) == (TASK, 1)


def test_levels_are_means_over_draws_scaled_by_the_undisturbed_policy(
    spacil_runs: Gathered,
) -> None:
    (chosen,) = perturbation.best_of_each_task(spacil_runs.arms)
    draws = [draw(0.1, 100.0, 6.0, 8.0), draw(0.1, 300.0, 2.0, 4.0, 1), draw(0.0, 4000.0, 1.0, 2.0)]
    gathered = replace(spacil_runs, measured={chosen.path: {"episodes": 20, "draws": draws}})
    outcome = perturbation.analyse(gathered)
    itself, disturbed = outcome.numbers["levels"]
    assert (itself["noise_std"], itself["scaled"]) == (0.0, {"G": 1.0, "J": 1.0, "J_fixed": 1.0})
    assert disturbed["scaled"] == {"G": 0.05, "J": 4.0, "J_fixed": 3.0}
    assert (disturbed["draws"], disturbed["G"]["mean"]) == (2, 200.0)
    (table,) = outcome.tables
    assert table.rows[1][-2:] == ["79.73 ± 73.48", "18.24 ± 3.01"]  # the paper's
    assert [one.label for one in outcome.panels[0].series] == [
        "return G", "J, own states", "J, fixed states",
    ]  # fmt: skip


def test_policies_in_files_are_reported_like_those_of_runs() -> None:
    files = tuple(
        PolicyFile(Path(f"{task}.policy.safetensors"), task, {"seed": 3}, "0123456789abcdef")
        for task in ("Ant-v4", TASK)
    )
    draws = [draw(0.0, 4000.0, 1.0, 2.0), draw(0.1, 100.0, 6.0, 8.0)]
    measured = {file.path: {"episodes": 20, "draws": draws} for file in files}
    outcome = perturbation.analyse(Gathered((), files=files, measured=measured))
    assert [table.title for table in outcome.tables] == [TASK, "Ant-v4"]  # as in the paper
    assert outcome.numbers["levels"][1]["scaled"] == {"G": 0.025, "J": 6.0, "J_fixed": 4.0}
    assert outcome.numbers["files"][0]["provenance"] == {"seed": 3}
    about = f"{TASK}: {TASK}.policy.safetensors (seed 3), parameters 0123456789ab"
    assert about in outcome.notes
    assert outcome.notes[-1] == "not measured yet: Reacher-v4, Walker2d-v4, HalfCheetah-v4"


def test_a_policy_file_is_known_by_its_parameters(tmp_path: Path) -> None:
    expert = load_expert("Reacher-v4")
    for name in ("one", "two"):
        save_policy(expert, tmp_path / f"{name}.policy.safetensors", provenance={"seed": 5})
    one, two = (read_policy_file(tmp_path / f"{n}.policy.safetensors") for n in ("one", "two"))
    assert (one.task, one.seed) == ("Reacher-v4", 5)
    assert one.fingerprint == two.fingerprint
    expert.policy.log_std.add_(0.5)
    save_policy(expert, one.path)
    assert read_policy_file(one.path).fingerprint != two.fingerprint
    with pytest.raises(DataError, match="a folder, expected a policy file"):
        read_policy_file(tmp_path)


def test_a_second_policy_of_a_task_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "reacher.policy.safetensors"
    save_policy(load_expert("Reacher-v4"), path)
    assert [file.path for file in one_per_task([path], ["Hopper-v4"])] == [path]
    for paths, of_runs in (([path, path], ()), ([path], ["Reacher-v4"])):
        with pytest.raises(ConfigError, match="both of Reacher-v4: name one policy per task"):
            one_per_task(paths, of_runs)


def test_what_was_measured_is_kept_until_the_run_changes(
    spacil_runs: Gathered, tmp_path: Path
) -> None:
    (record, _) = spacil_runs.records
    calls: list[Path] = []

    def measure(of: RunRecord, _: Scope) -> dict[str, Any]:
        calls.append(of.path)
        return {"count": len(calls)}

    def again(of: RunRecord, scope: Scope) -> dict[str, Any]:
        return measured_at(of, tmp_path, "some", measure, scope)

    assert again(record, Scope()) == again(record, Scope()) == {"count": 1}
    assert again(record, Scope(is_quick=True)) == {"count": 2}
    other = replace(record, best={**record.best, "average_return": 1.0})
    assert again(other, Scope()) == {"count": 3}


Counts = Callable[[dict[str, Any] | None], dict[str, Any]]


@pytest.fixture
def measured_counts(spacil_runs: Gathered, tmp_path: Path) -> Counts:
    """What is known of a run, measured with something: the count of measurements at its time."""
    count = itertools.count(1)

    def measured(how: dict[str, Any] | None) -> dict[str, Any]:
        def measure(of: RunRecord, _: Scope) -> dict[str, Any]:
            return {"count": next(count)}

        return measured_at(spacil_runs.records[0], tmp_path, "some", measure, Scope(), how)

    return measured


def test_what_was_measured_with_other_numbers_is_measured_again(measured_counts: Counts) -> None:
    few, many = {"episodes": 4, "levels": [0.1]}, {"episodes": 50, "levels": [0.1]}
    assert measured_counts(few) == measured_counts(few) == {"count": 1}
    assert measured_counts(many) == measured_counts(many) == {"count": 2}


def test_a_measurement_of_an_earlier_version_is_taken_as_it_is_and_remembered(
    measured_counts: Counts,
) -> None:
    assert measured_counts(None) == measured_counts({"episodes": 50}) == {"count": 1}
    assert measured_counts({"episodes": 4}) == {"count": 2}


@pytest.mark.parametrize("content", ["{", "[]", '{"policy": 1}'])
def test_a_damaged_measurement_is_made_again(
    measured_counts: Counts, tmp_path: Path, content: str
) -> None:
    measured_counts(None)
    (path,) = (tmp_path / "measured").rglob("*.json")
    path.write_text(content)
    assert measured_counts(None) == measured_counts(None) == {"count": 2}


@pytest.mark.parametrize("module", [perturbation, cost_smoothness, demonstrators])
def test_what_is_measured_with_is_kept_as_json_has_it(module: Any) -> None:
    for scope in (Scope(), Scope(is_quick=True)):
        how = module.measured_with(scope)
        assert json.loads(json.dumps(how)) == how
    assert module.measured_with(Scope()) != module.measured_with(Scope(is_quick=True))


def test_runs_beside_the_measured_one_of_a_task_are_named(spacil_runs: Gathered) -> None:
    (chosen,) = perturbation.best_of_each_task(spacil_runs.arms)
    (other,) = [record for record in spacil_runs.records if record is not chosen]
    measured = {chosen.path: {"episodes": 20, "draws": [draw(0.0, 4000.0, 1.0, 2.0)]}}
    notes = perturbation.analyse(replace(spacil_runs, measured=measured)).notes
    assert f"{TASK}: the run of the highest return; not {other.path}" in notes


def test_constants_of_the_cost_stand_beside_g_and_j(tmp_path: Path) -> None:
    scope = Scope(tasks=(TASK,), seeds=(0, 1), groups=("printed",))
    arms = cost_smoothness.arms(scope, tmp_path)
    assert [arm.label for arm in arms] == ["GAIL", "cost only", "both"]
    gathered = gathered_from(tmp_path, arms, lambda arm, run: (3000.0, 2.0), scope)
    constants = dict.fromkeys(cost_smoothness.CONSTANTS, 1.0) | {"in_state_common": None}
    measured = {r.path: constants | {"in_action": float(r.seed)} for r in gathered.records}
    outcome = cost_smoothness.analyse(replace(gathered, measured=measured))
    first = outcome.numbers["constants"][0]
    assert (first["setting"], first["G"]["mean"], first["J"]["mean"]) == ("GAIL", 2900.0, 2.0)
    assert (first["in_action"]["mean"], first["in_state_common"]) == (0.5, None)
    assert outcome.tables[0].rows[0][1] == "printed: GAIL"


def test_the_corners_of_the_cost_are_runs_of_the_grid(tmp_path: Path) -> None:
    scope = Scope(groups=("printed",))
    grid = {run.name for arm in lambda_grid.arms(scope, tmp_path) for run in arm.runs()}
    corners = {run.name for arm in cost_smoothness.arms(scope, tmp_path) for run in arm.runs()}
    assert corners <= grid


def test_imitators_wait_for_the_smooth_demonstrator(tmp_path: Path) -> None:
    scope = Scope(tasks=(TASK, "HalfCheetah-v4"), seeds=(0, 1))
    recorded = f"demonstrations/{TASK}-smooth.safetensors"
    (tmp_path / "demonstrations").mkdir()
    (tmp_path / recorded).touch()
    arms = demonstrators.imitators(scope, tmp_path)
    awaited = "demonstrations/HalfCheetah-v4-smooth.safetensors"
    waiting = [arm for arm in arms if arm.missing_files(tmp_path)]
    places = {(arm.task, arm.group, *arm.missing_files(tmp_path)) for arm in waiting}
    assert places == {("HalfCheetah-v4", demonstrators.SMOOTH, awaited)}
    assert len(waiting) == len(demonstrators.METHODS)
    gathered = gathered_from(tmp_path, arms, lambda arm, run: None, scope)
    place = f"HalfCheetah-v4, {demonstrators.SMOOTH}, gail"
    assert f"{place}: seeds 0, 1 waiting (for {awaited})" in gathered.problems


def test_a_teacher_of_other_settings_has_a_file_of_its_own(tmp_path: Path) -> None:
    def name(**how: Any) -> str:
        (teacher,) = demonstrators.teachers(Scope(tasks=(TASK,), **how), tmp_path)
        return demonstrators.recorded_name(teacher)

    usual = f"demonstrations/{TASK}-smooth.safetensors"  # in the names of runs that exist
    assert name() == name(changes=(("discriminator_steps", 5),)) == usual
    fewer, other = (("iterations", 20),), (("gamma", 0.9),)
    names = {usual, name(is_quick=True), name(changes=fewer), name(changes=other)}
    assert len(names) == 4
    (imitator,) = {
        arm.setting.choices["demos"]
        for arm in demonstrators.imitators(Scope(tasks=(TASK,), is_quick=True), tmp_path)
        if arm.group == demonstrators.SMOOTH
    }
    assert imitator == ("{sweep}/" + name(is_quick=True),)


def test_only_trained_teachers_are_recorded_and_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, recorded = Scope(), list[str]()

    def record(run_dir: Path, task: str) -> str:
        recorded.append(task)
        return task

    monkeypatch.setattr(demonstrators, "_recorded", record)
    monkeypatch.setattr(demonstrators, "save_demos", lambda demos, path: path.write_text(demos))
    hopper, _ = demonstrators.teachers(scope, tmp_path)
    gathered_from(tmp_path, [hopper], lambda arm, run: (3000.0, 0.5))
    for _ in range(2):
        demonstrators.record_teachers(scope, tmp_path)
    assert recorded == [TASK]
    assert (tmp_path / demonstrators.recorded_name(hopper)).read_text() == TASK


def test_imitators_are_compared_with_their_own_demonstrator(tmp_path: Path) -> None:
    scope = Scope(tasks=(TASK,), seeds=(0, 1))
    recorded = tmp_path / "demonstrations" / f"{TASK}-smooth.safetensors"
    recorded.parent.mkdir()
    recorded.touch()  # as if recorded already
    arms = demonstrators.imitators(scope, tmp_path)
    gathered = gathered_from(tmp_path, arms, lambda arm, run: (3000.0, 1.0), scope)
    numbers = {"trpo": 0.5, "gail": 1.0, "spacil": 0.25}
    measured = {
        r.path: {"G": 3000.0, "J": numbers[r.algorithm], "action_change": 0.1}
        for r in gathered.records
    }
    outcome = demonstrators.analyse(replace(gathered, measured=measured))
    rows = {row[1]: row for row in outcome.tables[0].rows}
    ratios = ["0.50", "0.25"]
    assert rows["spacil from the smooth demonstrator"][-2:] == ratios
    assert rows["gail from the smooth demonstrator"][-2:] == ["2.00", "-"]
    assert rows["gail from the rough demonstrator"][-2].startswith("0.28")  # of 3.57
    assert rows["smooth demonstrator"][2] == "1"
