"""Rows of several tasks are one setting by what was set, whatever their labels say."""

from pathlib import Path

from generated_runs import write_run

from spacil.comparison.comparison import Comparison, compare
from spacil.comparison.run_record import read_run
from spacil.comparison.settings_over_tasks import demonstration_words, readings_of
from spacil.config.algorithms import Preset
from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings
from spacil.runs.inputs import DemoChoice, DemoInputs, RunInputs, write_inputs
from spacil.sweeps.folder import open_sweep
from spacil.sweeps.plan import Grid, assignment


def pooled(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {one.label: one.tasks for one in comparison.aggregates}


def settings_of(preset: Preset, task: str) -> dict[str, object]:
    """What a preset of spacil sets on a task, as a user would have to say it."""
    plain = flat_settings(default_config("spacil", task))
    asked = flat_settings(default_config("spacil", task, preset))
    changed = {k: v for k, v in asked.items() if v != plain[k] and k != "iterations"}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in changed.items()}


def test_different_settings_of_one_label_are_not_pooled(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", "Hopper-v4", **settings_of("paper-sum", "Hopper-v4"))
    write_run(tmp_path / "b", "spacil", "Walker2d-v4", keep_return=0.97)
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["spacil", "spacil"]
    assert comparison.aggregates == ()
    (note,) = comparison.notes
    assert note == (
        "over tasks, spacil is another setting on Hopper-v4 and Walker2d-v4, which are not pooled"
    )


def test_a_printed_preset_is_one_setting_though_its_weight_is_the_tasks(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "HalfCheetah-v4", "Reacher-v4"):
        write_run(tmp_path / task, "spacil", task, **settings_of("paper-sum", task))
    assert pooled(compare(tmp_path)) == {"spacil": ("HalfCheetah-v4", "Hopper-v4", "Reacher-v4")}


def test_one_setting_under_two_labels_is_pooled_and_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", "Hopper-v4", max_kl=0.5)
    write_run(tmp_path / "b", "spacil", "Hopper-v4")
    write_run(tmp_path / "c", "spacil", "Walker2d-v4", max_kl=0.5)
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["spacil max_kl=0.5", "spacil", "spacil"]
    assert pooled(comparison) == {"spacil max_kl=0.5": ("Hopper-v4", "Walker2d-v4")}
    assert comparison.aggregates[0].row_labels == ("spacil max_kl=0.5", "spacil")
    assert "over tasks, spacil max_kl=0.5 is Hopper-v4 spacil max_kl=0.5; Walker2d-v4 spacil" in (
        comparison.notes
    )


def test_budgets_may_differ_between_tasks_and_are_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", "Hopper-v4", iterations=20)
    write_run(tmp_path / "b", "spacil", "Walker2d-v4", iterations=36)
    comparison = compare(tmp_path)
    assert pooled(comparison) == {"spacil": ("Hopper-v4", "Walker2d-v4")}
    assert comparison.notes == (
        "over tasks, spacil has a budget for each: "
        "Hopper-v4 spacil (iterations=20 steps_per_iteration=6000); "
        "Walker2d-v4 spacil (iterations=36 steps_per_iteration=10000)",
    )


def test_budgets_tell_settings_apart_where_a_task_has_several(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        for iterations in (20, 36):
            write_run(tmp_path / f"{task}{iterations}", "spacil", task, iterations=iterations)
    write_run(tmp_path / "more", "spacil", "Hopper-v4", iterations=50)
    comparison = compare(tmp_path)
    tasks = ("Hopper-v4", "Walker2d-v4")
    assert pooled(comparison) == {"spacil iterations=20": tasks, "spacil iterations=36": tasks}
    assert comparison.notes == ()


def test_rows_that_a_sweep_plans_twice_go_by_their_labels(tmp_path: Path) -> None:
    tasks = ("Hopper-v4", "Walker2d-v4")
    grids = [
        Grid(("spacil",), tasks, (0,)),
        Grid(("spacil",), tasks, (0,), (assignment("iterations=200"),)),  # the default's
    ]
    sweep = open_sweep(tmp_path / "sweep", grids, 150)
    for run in sweep.runs():
        write_run(sweep.run_dir(run), run.algorithm, run.task, iterations=200)
    assert pooled(compare(sweep.path)) == {"spacil": tasks, "spacil iterations=200": tasks}


def test_other_demonstrations_are_another_setting(tmp_path: Path) -> None:
    def write(task: str, sources: tuple[str, ...], choice: DemoChoice) -> Path:
        path = write_run(tmp_path / task, "gail", task)
        inputs = RunInputs(task, True, DemoInputs(sources, choice, "d" * 64))
        write_inputs(path / "inputs.json", inputs)
        return path

    few = write("Hopper-v4", ("Hopper-v4",), DemoChoice(num_demos=1))
    whole = write("Walker2d-v4", ("Walker2d-v4",), DemoChoice())
    own = write("Ant-v4", ("/mine/Ant-v4-smooth.npz",), DemoChoice())
    found = [demonstration_words(read_run(path)) for path in (few, whole, own)]
    assert found == [{"num_demos": "1"}, {}, {"demos": "TASK-smooth.npz"}]
    assert compare(tmp_path).aggregates == ()
    also_own = write("Reacher-v4", ("/yours/Reacher-v4-smooth.npz",), DemoChoice())
    assert readings_of(read_run(own)) & readings_of(read_run(also_own))
