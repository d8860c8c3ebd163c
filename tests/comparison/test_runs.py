"""From folders to rows: which runs are found, what was chosen for them, and what is damaged."""

import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated_runs import write_run

from spacil.cli.train import config_of_words
from spacil.comparison.comparison import Comparison, compare
from spacil.comparison.demonstrator import Demonstrator, demonstrator_of
from spacil.comparison.runs import row_of_run
from spacil.config.algorithms import Preset
from spacil.config.defaults import default_config
from spacil.config.flat import flat_settings
from spacil.config.train_config import TrainConfig
from spacil.runs.facts import DemoChoice, DemoInputs, RunInputs, full_names, read_run
from spacil.runs.facts import write_run as write_facts
from spacil.sweeps.folder import SweepFolder, open_sweep
from spacil.sweeps.plan import Grid, assignment

TASK = "Hopper-v4"


def seeds_of(comparison: Comparison) -> dict[str, list[int]]:
    return {row.label: row.seeds for row in comparison.rows}


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl"])
def test_a_damaged_folder_is_named_and_the_others_are_compared(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "good")
    damaged = write_run(tmp_path / "damaged", "spacil")
    (file,) = damaged.rglob(name)
    file.write_text("{" + file.read_text())
    comparison = compare(tmp_path)
    assert seeds_of(comparison) == {"gail": [0]}
    (problem,) = comparison.problems
    assert "damaged" in problem


@pytest.mark.parametrize("value", ["12.5", True, [1], {"a": 1}])
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("run.json", "average_return"),
        ("run.json", "spectrum_score"),
        ("metrics.jsonl", "seconds_evaluation"),
        ("metrics.jsonl", "env_steps"),
        ("metrics.jsonl", "smoothness_j"),
    ],
)
def test_a_damaged_value_names_its_run(tmp_path: Path, file: str, name: str, value: object) -> None:
    write_run(tmp_path / "good", seed=0)
    path = write_run(tmp_path / "damaged", seed=1) / file
    path.write_text(
        re.sub(rf'("{name}": )[-\d.e]+', rf"\g<1>{json.dumps(value)}", path.read_text())
    )
    comparison = compare(tmp_path)
    assert seeds_of(comparison) == {"gail": [0]}
    (problem,) = comparison.problems
    assert problem.startswith(str(tmp_path / "damaged"))
    assert f"{name} is {value!r}, expected a number" in problem


def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "closed/inside"):
        write_run(tmp_path / name)
    scandir = os.scandir

    def guarded(path: Any = ".") -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    comparison = compare(tmp_path)
    assert len(comparison.frame) == 1
    (problem,) = comparison.problems
    assert problem == f"{tmp_path / 'closed'}: cannot be read: Permission denied"


def test_a_copy_under_another_seed_is_noticed(tmp_path: Path) -> None:
    for seed, final in ((0, 3000.0), (1, 3000.0), (2, 3100.0)):
        write_run(tmp_path / str(seed), seed=seed, fresh=(final, 1.0))
    (note,) = compare(tmp_path).notes
    assert "gail: seeds 0, 1 have the same numbers to the last digit: copies of one run?" in note


def test_a_number_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run") / "metrics.jsonl"
    without = re.sub(r'"env_steps": \d+, ', "", path.read_text())
    path.write_text(re.sub(r'("seconds_policy": )[\d.]+', r"\g<1>null", without))
    curves = compare(tmp_path).curves
    assert curves.env_steps.isna().all() and curves.seconds.isna().all()


def test_steps_to_the_demonstrators_return_count_evaluations_that_steered(tmp_path: Path) -> None:
    """Every second iteration plays 100 steps and evaluates by some episodes."""
    plain, steered = (write_run(tmp_path / name, final_return=3700.0) for name in ("a", "b"))
    path = steered / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        if "average_return" in row:
            row |= {"num_episodes": 4, "mean_length": 25.0, "next_lambda_policy": 0.1}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reached = [row_of_run(run, None, "best")[0]["steps_to_95"] for run in (plain, steered)]
    assert reached == [2000.0, 2000.0 + 10 * 100]


def test_what_holds_no_finished_run_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "good")
    other = write_run(tmp_path / "runs" / "other", seed=1)
    write_facts(replace(read_run(other), status="interrupted"))
    (tmp_path / "empty").mkdir()
    found = compare([tmp_path / "runs", tmp_path / "empty", tmp_path / "nowhere"])
    assert len(found.rows) == 1
    empty, nowhere, unfinished = found.problems
    assert "other: the run is not finished" in unfinished
    assert empty.endswith("empty: holds no run")
    assert nowhere.endswith("nowhere: there is no such folder")
    nothing = compare(tmp_path / "empty")
    assert (nothing.rows, len(nothing.frame)) == ((), 0)
    assert "holds no run" in str(nothing)


def test_a_missing_seed_is_named_and_a_run_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        write_run(tmp_path / f"gail{seed}", seed=seed)
    write_run(tmp_path / "ours", "spacil", seed=1)
    write_run(tmp_path / "twin", seed=2)
    comparison = compare([tmp_path / "gail0", tmp_path])
    assert seeds_of(comparison) == {"gail": [0, 1, 2], "spacil": [1]}
    twin, missing = comparison.problems
    assert twin.startswith(f"{tmp_path / 'twin'}: the same run as")
    assert missing == "Hopper-v4, spacil: no run of seed 0, 2"


def a_sweep(path: Path, *seeds: int) -> SweepFolder:
    grid = Grid(("gail",), (TASK,), seeds, (assignment("iterations=20"),))
    return open_sweep(path, [grid], 150)


def test_runs_that_a_sweep_did_not_plan_are_compared_with_those_it_did(tmp_path: Path) -> None:
    sweep = a_sweep(tmp_path / "all" / "sweep", 0, 1, 2)
    first, second, third = sweep.runs()
    write_run(sweep.run_dir(first))
    sweep.record_failure(second, 70, "exit code 70: diverged")
    write_run(sweep.run_dir(first).with_name("seed7"), seed=7)
    write_run(sweep.path / "spacil" / TASK / "by-hand" / "seed0", "spacil")
    begun = write_run(tmp_path / "all" / "begun", "bc")
    write_facts(replace(read_run(begun), status="interrupted"))
    comparison = compare(tmp_path / "all")
    assert seeds_of(comparison) == {"gail": [0, 7], "spacil": [0]}
    assert comparison.frame.is_planned.tolist() == [True, False, False]
    assert comparison.frame.command.tolist()[:2] == [
        f"spacil train gail --task Hopper-v4 --seed {seed} --iterations 20" for seed in (0, 7)
    ]
    assert comparison.problems == (
        f"{sweep.run_dir(second)}: failed: exit code 70: diverged",
        f"{sweep.run_dir(third)}: waiting",
        f"{begun}: the run is not finished; resume it, or leave it out",
    )


def test_a_sweep_may_plan_fewer_seeds_for_some_rows_or_be_damaged(tmp_path: Path) -> None:
    many, few = (Grid((a,), (TASK,), s) for a, s in (("gail", (0, 1)), ("spacil", (0,))))
    sweep = open_sweep(tmp_path / "sweep", [many, few], 150)
    for run in sweep.runs():
        write_run(sweep.run_dir(run), run.algorithm, seed=run.seed)
    comparison = compare(sweep.path)
    assert seeds_of(comparison) == {"gail": [0, 1], "spacil": [0]}
    assert comparison.problems == ()
    (sweep.path / "sweep.json").write_text("{")
    comparison = compare(sweep.path)
    assert seeds_of(comparison) == {"gail": [0, 1], "spacil": [0]}  # without it
    problem, missing = comparison.problems
    assert "sweep.json" in problem and "no run of seed 1" in missing


@pytest.fixture
def known() -> Demonstrator:
    found = demonstrator_of(TASK)
    assert found is not None
    return found


def reached(run: Path) -> tuple[list[float], list[float]]:
    frame = compare(run).frame
    return frame.steps_to_95.dropna().tolist(), frame.seconds_to_95.dropna().tolist()


def test_the_time_is_that_of_the_first_evaluation_at_95_percent_from_random_actions(
    tmp_path: Path, known: Demonstrator
) -> None:
    # A tenth of the demonstrator's return at every evaluation: 90 % at iteration 18, all at 20.
    # An iteration takes half a second, every second one an evaluation of one more.
    path = write_run(tmp_path / "a", final_return=known.average_return)
    assert reached(path) == ([2000.0], [20 * 0.5 + 10 * 1.0])
    assert reached(write_run(tmp_path / "b", final_return=100.0)) == ([], [])
    # Where random actions earn less than nothing, 90 % of the return is a share of above 0.95.
    evaluations = json.loads((path / "run.json").read_text())
    evaluations["fresh"]["best"]["random_return"] = -2 * known.average_return
    (path / "run.json").write_text(json.dumps(evaluations))
    assert reached(path) == ([1800.0], [18 * 0.5 + 9 * 1.0])


def test_a_run_on_other_episodes_has_no_demonstrator(tmp_path: Path, known: Demonstrator) -> None:
    final = 2 * known.average_return
    for name, frame in (("own", None), ("silent", ""), ("other", "e" * 64)):
        write_run(tmp_path / name, final_return=final, frame=frame)
    assert reached(tmp_path / "own") == reached(tmp_path / "silent") == ([1000.0], [10.0])
    assert reached(tmp_path / "other") == ([], [])
    assert compare(tmp_path / "other").demonstrators == {}


def test_95_percent_of_a_negative_return_lies_below_it() -> None:
    known = demonstrator_of("Reacher-v4")
    assert known.average_return < 0
    assert known.threshold(float("nan")) == pytest.approx(1.05 * known.average_return)
    # Random actions earn -43: a share of 0.95 is two below the demonstrator's -3.3.
    assert known.threshold(-43.0) == pytest.approx(-43 + 0.95 * (known.average_return + 43))


def given(
    run_dir: Path, sources: tuple[str, ...] | None = (), content_hash: str = "a" * 64, **choice: Any
) -> Path:
    """The run with a record of the demonstrations it was given."""
    demos = DemoInputs(sources, DemoChoice(**choice), content_hash)
    write_facts(replace(read_run(run_dir), inputs=RunInputs(TASK, True, demos)))
    return run_dir


def parsed(run_dir: Path) -> tuple[TrainConfig, Any]:
    """Config and flags that `spacil train` reads from a run's command."""
    name, verb, *words = shlex.split(compare(run_dir).frame.command[0])
    assert (name, verb) == ("spacil", "train")
    return config_of_words(words)


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("gail", {}),
        ("spacil", {"smoothest": True}),
        ("spacil", {"staggered_starts": False, "policy_hidden": (32, 16)}),
        ("spacil", {"penalty": ("exact=0.2", "cats=0.1")}),
        ("spacil", {"penalty": ("exact=0.2",), "penalty_weight": "auto"}),
        ("spacil", {"warm_start_epochs": 3}),
        ("bc", {"penalty": ("exact=0.2",)}),
    ],
)
def test_a_runs_command_trains_it(tmp_path: Path, algorithm: str, settings: dict[str, Any]) -> None:
    run_dir = given(write_run(tmp_path / "run", algorithm, TASK, 3, **settings))
    config, _ = parsed(run_dir)
    assert flat_settings(config) == flat_settings(read_run(run_dir).config)


def test_the_command_of_a_run_names_its_demonstrations(tmp_path: Path) -> None:
    mine = full_names([Path(__file__)])
    choice = DemoChoice(4, 1, 20, 3, 0.5, True, True)
    _, arguments = parsed(given(write_run(tmp_path / "run"), mine, **vars(choice)))
    assert arguments.demos == mine
    assert arguments.choice == choice
    in_memory = given(write_run(tmp_path / "other"), None)
    assert compare(in_memory).frame.command[0].endswith("--demos '(in memory)'")


def test_demonstrations_tell_rows_apart_by_content_and_choice(tmp_path: Path) -> None:
    given(write_run(tmp_path / "bundled0", seed=0))
    given(write_run(tmp_path / "bundled1", seed=1), (TASK,))  # not worth a word
    for seed in (0, 1):
        run_dir = write_run(tmp_path / f"thin{seed}", seed=seed)
        given(run_dir, content_hash="b" * 64, demo_every=20)
        run_dir = write_run(tmp_path / f"noisy{seed}", seed=seed)
        given(run_dir, content_hash=str(seed) * 64, demo_noise=0.1)  # every seed has its own
        run_dir = write_run(tmp_path / f"file{seed}", seed=seed)
        given(run_dir, (f"/place{seed}/d.npz",), "c" * 64)  # the same in another place
    comparison = compare(tmp_path)
    assert [note for note in comparison.notes if "copies" not in note] == [
        "Hopper-v4, gail demo_noise=0.1: seeds learned from different demonstrations",
    ]
    assert seeds_of(comparison) == {
        "gail": [0, 1],
        "gail demos=/place0/d.npz": [0, 1],
        "gail demo_noise=0.1": [0, 1],
        "gail demo_every=20": [0, 1],
    }


def pooled(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {one.label: one.tasks for one in comparison.aggregates}


def settings_of(preset: Preset, task: str) -> dict[str, object]:
    """What a preset of spacil sets on a task, as a user would have to say it."""
    plain = flat_settings(default_config("spacil", task))
    asked = flat_settings(default_config("spacil", task, preset))
    changed = {k: v for k, v in asked.items() if v != plain[k] and k != "iterations"}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in changed.items()}


def test_different_settings_of_one_label_are_not_pooled(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", TASK, **settings_of("paper-sum", TASK))
    write_run(tmp_path / "b", "spacil", "Walker2d-v4", keep_return=0.97)
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["spacil", "spacil"]
    assert comparison.aggregates == ()


def test_a_printed_preset_is_one_setting_though_its_weight_is_the_tasks(tmp_path: Path) -> None:
    for task in (TASK, "HalfCheetah-v4", "Reacher-v4"):
        write_run(tmp_path / task, "spacil", task, **settings_of("paper-sum", task))
    assert pooled(compare(tmp_path)) == {
        "spacil preset=paper-sum": ("HalfCheetah-v4", TASK, "Reacher-v4")
    }


def test_one_setting_under_two_labels_is_pooled(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", TASK, max_kl=0.5)
    write_run(tmp_path / "b", "spacil", TASK)
    write_run(tmp_path / "c", "spacil", "Walker2d-v4", max_kl=0.5)
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["spacil max_kl=0.5", "spacil", "spacil"]
    assert pooled(comparison) == {"spacil max_kl=0.5": (TASK, "Walker2d-v4")}
    assert comparison.aggregates[0].row_labels == ("spacil max_kl=0.5", "spacil")


def test_budgets_may_differ_between_tasks_but_not_where_a_task_has_several(tmp_path: Path) -> None:
    tasks = (TASK, "Walker2d-v4")
    for task, iterations in zip(tasks, (20, 36), strict=True):
        write_run(tmp_path / f"{task}{iterations}", "spacil", task, iterations=iterations)
    comparison = compare(tmp_path)
    assert pooled(comparison) == {"spacil": tasks}
    for task, iterations in ((TASK, 36), (TASK, 50), ("Walker2d-v4", 20)):
        write_run(tmp_path / f"{task}{iterations}", "spacil", task, iterations=iterations)
    comparison = compare(tmp_path)
    assert pooled(comparison) == {"spacil iterations=20": tasks, "spacil iterations=36": tasks}


@pytest.mark.parametrize(
    ("choice", "own_sources", "is_one"),
    [
        ({"num_demos": 1}, ("{task}",), False),
        ({}, ("/mine/{task}-smooth.npz",), False),
        ({}, ("/yours/{task}-smooth.npz",), True),
    ],
)
def test_files_of_demonstrations_count_by_their_names_without_the_tasks(
    tmp_path: Path, choice: dict[str, Any], own_sources: tuple[str, ...], is_one: bool
) -> None:
    for task in (TASK, "Walker2d-v4"):
        is_first = task == TASK
        sources = own_sources if is_first else ("/yours/{task}-smooth.npz",) if is_one else ()
        named = tuple(source.format(task=task) for source in sources)
        path = write_run(tmp_path / task, "gail", task)
        demos = DemoInputs(named, DemoChoice(**(choice if is_first else {})), "d" * 64)
        write_facts(replace(read_run(path), inputs=RunInputs(task, True, demos)))
    assert bool(compare(tmp_path).aggregates) == is_one
