"""Runs side by side: grouped by setting, summed up over seeds, with everything missing named."""

import csv
import io
import json
import time
from pathlib import Path

import pytest
from generated_runs import write_run

import spacil
from spacil.comparison.comparison import Comparison, compare
from spacil.comparison.demonstrator import demonstrator_of
from spacil.errors import ConfigError
from spacil.sweeps.folder import open_sweep
from spacil.sweeps.plan import Grid, assignment, planned_runs


@pytest.fixture
def two_methods(tmp_path: Path) -> Comparison:
    for seed, (g, j) in enumerate([(2900.0, 1.0), (3000.0, 1.2), (3100.0, 1.4)]):
        write_run(tmp_path / f"gail{seed}", seed=seed, fresh=(g, j))
        write_run(tmp_path / f"spacil{seed}", "spacil", seed=seed, fresh=(g + 150, j / 2))
    return compare([tmp_path])


def test_rows_are_settings_and_numbers_are_those_of_fresh_episodes(
    two_methods: Comparison,
) -> None:
    assert [(row.task, row.label, row.seeds) for row in two_methods.rows] == [
        ("Hopper-v4", "gail", [0, 1, 2]),
        ("Hopper-v4", "spacil", [0, 1, 2]),
    ]
    gail, ours = two_methods.rows
    g, j = gail.summaries["average_return"], ours.summaries["smoothness_j_common"]
    assert g is not None
    assert j is not None
    assert (g.mean, g.std) == (3000.0, 100.0)
    assert (g.low, g.high) == (2900.0, 3100.0)
    assert j.mean == pytest.approx(0.6)
    assert not two_methods.problems
    assert not two_methods.notes


def test_improvement_is_over_the_baseline_of_the_task(two_methods: Comparison) -> None:
    gail, ours = two_methods.rows
    assert gail.better_return is None
    assert ours.better_return is not None
    # Of the 9 pairs: 3050 beats 2900 and 3000; 3150 and 3250 beat all three.
    assert ours.better_return.probability == pytest.approx(8 / 9)
    assert ours.smoother is not None
    assert ours.smoother.probability == 1.0


def test_the_baseline_is_named(two_methods: Comparison) -> None:
    assert two_methods.document()["baselines"] == {"Hopper-v4": "gail"}
    text = two_methods.to_markdown()
    assert "\n\nBaseline: gail.\n" in text
    assert "% Baseline: gail.\n" in two_methods.to_latex()
    marked = [line for line in text.splitlines() if "| baseline |" in line]
    assert [line.split(" | ")[1] for line in marked] == ["gail", "gail"]  # return, smoothness
    lines = list(csv.DictReader(io.StringIO(two_methods.to_csv())))
    assert [line["baseline"] for line in lines] == ["gail", "gail"]


def test_baselines_that_differ_are_named_by_task(tmp_path: Path) -> None:
    write_run(tmp_path / "a", task="Hopper-v4")
    write_run(tmp_path / "b", task="Walker2d-v4", max_kl=0.5)
    write_run(tmp_path / "c", task="Walker2d-v4", max_kl=0.6)
    write_run(tmp_path / "d", "spacil", task="Reacher-v4")
    comparison = compare(tmp_path)
    named = {"Hopper-v4": "gail", "Walker2d-v4": "gail max_kl=0.5"}
    assert comparison.document()["baselines"] == named
    line = "Baseline: Hopper-v4 gail; Walker2d-v4 gail max_kl=0.5; Reacher-v4 none."
    assert line in str(comparison)
    assert "Baseline: none." in str(compare(tmp_path / "d"))


def test_the_baseline_may_be_a_row(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", fresh=(1.0, 1.0), lambda_policy=0.5)
    write_run(tmp_path / "b", "spacil", fresh=(2.0, 1.0))
    rows = compare(tmp_path, baseline="spacil penalty=exact=0.5 penalty_weight=fixed").rows
    assert [row.better_return is None for row in rows] == [True, False]


def test_a_baseline_that_is_no_row_is_refused_with_those_there_are(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "spacil", fresh=(1.0, 1.0))
    with pytest.raises(ConfigError, match="baseline 'gial' is no row: expected one of spacil"):
        compare(tmp_path, baseline="gial")
    assert compare(tmp_path).rows[0].better_return is None  # GAIL is not there, and nobody asked


def test_the_papers_numbers_stand_beside_ours(two_methods: Comparison) -> None:
    gail, ours = two_methods.rows
    assert gail.published_return is not None
    assert gail.published_return.mean == 3326.43
    assert ours.published_smoothness is not None
    assert ours.published_smoothness.mean == 7.77


def test_the_last_policy_can_be_compared_instead(tmp_path: Path) -> None:
    write_run(tmp_path / "a", fresh=(2000.0, 1.0))
    (row,) = compare(tmp_path, which="last").rows
    summary = row.summaries["average_return"]
    assert summary is not None
    assert summary.mean == 1900.0
    with pytest.raises(ConfigError, match="expected best or last"):
        compare(tmp_path, which="first")  # type: ignore[arg-type]


def test_steps_and_seconds_to_95_percent_come_from_the_curve(tmp_path: Path) -> None:
    known = demonstrator_of("Hopper-v4")
    assert known is not None
    # Twice the demonstrator's return after 20 iterations: 95 % is passed at iteration 10 of 20.
    write_run(tmp_path / "a", final_return=2 * known.average_return)
    (row,) = compare(tmp_path).rows
    steps, seconds = row.summaries["steps_to_95"], row.summaries["seconds_to_95"]
    assert steps is not None
    assert seconds is not None
    assert steps.mean == 1000
    assert seconds.mean == pytest.approx(10 * 0.5 + 5 * 1.0)


def test_95_percent_of_a_negative_return_lies_below_it() -> None:
    known = demonstrator_of("Reacher-v4")
    assert known is not None
    assert known.average_return < 0
    assert known.threshold(None) == pytest.approx(1.05 * known.average_return)
    # Random actions earn -43: a share of 0.95 is two below the demonstrator's -3.3.
    assert known.threshold(-43.0) == pytest.approx(-43 + 0.95 * (known.average_return + 43))


def test_a_threshold_that_counts_from_0_is_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", "spacil", fresh=None)
    write_run(tmp_path / "c", "airl", fresh=None, frame="a" * 64)  # of an unknown demonstrator
    told = [note for note in compare(tmp_path).notes if "95 %" in note]
    assert len(told) == 1
    assert told[0].startswith("Hopper-v4, spacil: 95 % of the demonstrator's return counts from 0")


def test_a_run_that_never_gets_there_has_no_time(tmp_path: Path) -> None:
    write_run(tmp_path / "a", final_return=100.0)
    (row,) = compare(tmp_path).rows
    assert row.summaries["steps_to_95"] is None


def test_missing_fresh_episodes_are_flagged(tmp_path: Path) -> None:
    write_run(tmp_path / "a", fresh=None, final_return=1234.0)
    comparison = compare(tmp_path)
    (row,) = comparison.rows
    summary = row.summaries["average_return"]
    assert not row.is_fresh
    assert summary is not None
    assert summary.mean == 1234.0
    assert "no fresh episodes" in comparison.notes[0]
    assert "gail *" in comparison.to_markdown()


def test_different_frames_are_flagged_with_their_hashes(tmp_path: Path) -> None:
    write_run(tmp_path / "a", frame="a" * 64)
    write_run(tmp_path / "b", "spacil", frame="b" * 64)
    (note,) = compare(tmp_path).notes
    assert "different frames" in note
    assert "aaaaaaaa, bbbbbbbb" in note


def test_the_bundled_demonstrator_is_not_that_of_runs_with_other_demonstrations(
    tmp_path: Path,
) -> None:
    write_run(tmp_path / "a", frame="a" * 64)
    comparison = compare(tmp_path)
    assert comparison.rows[0].demonstrator is None
    assert comparison.demonstrators == {}
    assert "demonstrator |" not in comparison.to_markdown()


def test_rows_with_other_demonstrations_than_the_demonstrator_shown_are_named(
    tmp_path: Path,
) -> None:
    known = demonstrator_of("Hopper-v4")
    assert known is not None
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", "spacil", frame="b" * 64)
    comparison = compare(tmp_path)
    gail, other = comparison.rows
    assert comparison.demonstrators == {"Hopper-v4": known}
    assert (gail.demonstrator, other.demonstrator) == (known, None)
    assert other.better_return is not None
    assert other.smoother is None  # J in two frames is two measures
    frames, whose = comparison.notes
    assert "different frames" in frames
    assert "spacil learned from others" in whose
    assert known.frame_hash[:8] in whose


def test_over_tasks_a_share_is_that_of_the_demonstrator_a_run_had(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        write_run(tmp_path / f"{task}-gail", "gail", task)
        frame = "b" * 64 if task == "Hopper-v4" else None
        write_run(tmp_path / f"{task}-spacil", "spacil", task, frame=frame)
    gail, ours = compare(tmp_path).aggregates
    assert gail.normalized_return is not None
    assert gail.j_ratio is not None
    assert (ours.normalized_return, ours.j_ratio) == (None, None)


def test_a_folder_that_does_not_name_its_frame_is_told_in_words(tmp_path: Path) -> None:
    write_run(tmp_path / "a", frame="a" * 64)
    write_run(tmp_path / "b", "spacil", frame="")
    note, whose = compare(tmp_path).notes
    assert "gail learned from others" in whose  # and spacil, as far as we know, did not
    assert "the folders of spacil do not say in which frame J" in note
    assert "the others do (aaaaaaaa)" in note
    assert "None" not in compare(tmp_path).to_markdown()


def test_the_frame_of_a_run_of_version_0_1_is_that_of_its_fresh_episodes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", frame="")
    evaluations = json.loads((run / "eval.json").read_text())
    evaluations["fresh"]["best"]["common_frame"] = "a" * 64
    (run / "eval.json").write_text(json.dumps(evaluations))
    write_run(tmp_path / "b", "spacil", frame="a" * 64)
    assert not compare(tmp_path).notes


def test_different_numbers_of_fresh_episodes_are_flagged(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a")
    evaluations = json.loads((run / "eval.json").read_text())
    evaluations["fresh"]["best"]["num_episodes"] = 20
    (run / "eval.json").write_text(json.dumps(evaluations))
    write_run(tmp_path / "b", "spacil")
    (note,) = compare(tmp_path).notes
    assert note.endswith("runs have different numbers of fresh episodes: 20, 150")


def test_a_missing_seed_is_named(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        write_run(tmp_path / f"gail{seed}", seed=seed)
    write_run(tmp_path / "ours", "spacil", seed=1)
    assert compare(tmp_path).problems == ("Hopper-v4, spacil: no run of seed 0, 2",)


@pytest.mark.parametrize("name", ["config.json", "eval.json", "metrics.jsonl", "state.json"])
def test_a_damaged_folder_is_named_and_the_others_are_compared(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / "good")
    damaged = write_run(tmp_path / "damaged", "spacil")
    (file,) = damaged.rglob(name)
    file.write_text("{" + file.read_text())
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["gail"]
    assert len(comparison.problems) == 1
    assert "damaged" in comparison.problems[0]


def test_an_unfinished_run_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "good")
    other = write_run(tmp_path / "other", seed=1)
    (other / "status.json").write_text('{"status": "interrupted"}')
    (problem,) = compare(tmp_path).problems
    assert "other: the run is not finished" in problem


def test_a_path_without_a_run_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "good")
    (tmp_path / "empty").mkdir()
    found = compare([tmp_path / "runs", tmp_path / "empty", tmp_path / "nowhere"])
    assert len(found.rows) == 1
    empty, nowhere = found.problems
    assert empty.endswith("empty: holds no run")
    assert nowhere.endswith("nowhere: there is no such folder")


def test_labels_name_only_what_sets_rows_apart(tmp_path: Path) -> None:
    for i, weight in enumerate((0.01, 0.2)):
        write_run(tmp_path / f"{i}", "spacil", lambda_policy=weight, max_kl=0.5)
    write_run(tmp_path / "gail", max_kl=0.5)
    labels = [row.label for row in compare(tmp_path).rows]
    assert labels == ["spacil penalty=exact=0.01", "spacil penalty=exact=0.2", "gail"]


def test_the_same_settings_on_other_demonstrations_are_another_row(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_run(tmp_path / f"many{seed}", seed=seed, demonstrations="a" * 64)
        write_run(tmp_path / f"few{seed}", seed=seed, demonstrations="b" * 64)
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["gail demos bbbbbbbb", "gail demos aaaaaaaa"]
    assert [row.seeds for row in comparison.rows] == [[0, 1], [0, 1]]


def test_a_run_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b")
    comparison = compare([tmp_path / "a", tmp_path / "b", tmp_path / "a"])
    assert [row.seeds for row in comparison.rows] == [[0]]
    (problem,) = comparison.problems
    assert "b: the same run as" in problem


def test_a_sweep_names_its_unfinished_runs(tmp_path: Path) -> None:
    grid = Grid(("gail", "spacil"), ("Hopper-v4",), (0,), (assignment("iterations=20"),))
    sweep = open_sweep(tmp_path / "sweep", [grid], 150)
    first, second = planned_runs([grid])
    write_run(sweep.run_dir(first))
    sweep.record_failure(second, 70, "exit code 70: diverged")
    comparison = compare(tmp_path / "sweep")
    assert [row.label for row in comparison.rows] == ["gail"]
    (problem,) = comparison.problems
    assert problem.endswith("failed: exit code 70: diverged")
    assert comparison.rows[0].runs[0].record.command == (
        "spacil train gail --task Hopper-v4 --seed 0 --iterations 20"
    )


def test_runs_in_a_sweeps_folder_that_it_did_not_plan_are_compared_too(tmp_path: Path) -> None:
    grid = Grid(("gail",), ("Hopper-v4",), (0, 1), (assignment("iterations=20"),))
    sweep = open_sweep(tmp_path / "sweep", [grid], 150)
    first, second = sweep.runs()
    write_run(sweep.run_dir(first))
    stopped = write_run(sweep.run_dir(second), seed=1)
    (stopped / "status.json").write_text('{"status": "interrupted", "reason": "SIGINT"}')
    write_run(sweep.path / "spacil" / "Hopper-v4" / "by-hand" / "seed0", "spacil")
    begun = write_run(sweep.path / "begun", "bc")
    (begun / "status.json").write_text('{"status": "interrupted"}')
    comparison = compare(sweep.path)
    rows = {row.label: row.runs[0].record.is_planned for row in comparison.rows}
    assert rows == {"gail": True, "spacil": False}
    assert comparison.problems == (
        f"{stopped}: interrupted: SIGINT",
        f"{begun}: the run is not finished; resume it, or leave it out",
    )


def test_a_seed_that_a_sweep_did_not_plan_stands_in_the_row_of_its_setting(tmp_path: Path) -> None:
    grid = Grid(("gail",), ("Hopper-v4",), (0,), (assignment("iterations=20"),))
    sweep = open_sweep(tmp_path / "sweep", [grid], 150)
    (run,) = sweep.runs()
    for seed in (0, 7):
        write_run(sweep.run_dir(run).with_name(f"seed{seed}"), seed=seed)
    (row,) = compare(sweep.path).rows
    assert row.seeds == [0, 7]
    assert row.runs[1].record.command.endswith("--seed 7 --iterations 20")


def test_a_sweep_is_one_wherever_it_lies(tmp_path: Path) -> None:
    grid = Grid(("gail",), ("Hopper-v4",), (0, 1), (assignment("iterations=20"),))
    sweep = open_sweep(tmp_path / "all" / "sweep", [grid], 150)
    first, second = sweep.runs()
    write_run(sweep.run_dir(first))
    write_run(tmp_path / "all" / "other", "spacil")
    comparison = compare(tmp_path / "all")
    rows = {row.label: row.runs[0].record.is_planned for row in comparison.rows}
    assert rows == {"gail": True, "spacil": False}
    assert comparison.problems == (f"{sweep.run_dir(second)}: waiting",)


def test_a_damaged_plan_is_named_and_its_runs_are_compared_without_it(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{")
    write_run(tmp_path / "gail" / "seed0")
    comparison = compare(tmp_path)
    assert [row.label for row in comparison.rows] == ["gail"]
    (problem,) = comparison.problems
    assert "sweep.json" in problem


def test_a_sweep_may_plan_fewer_seeds_for_some_rows(tmp_path: Path) -> None:
    many, few = (Grid((a,), ("Hopper-v4",), s) for a, s in (("gail", (0, 1)), ("spacil", (0,))))
    sweep = open_sweep(tmp_path / "sweep", [many, few], 150)
    for run in sweep.runs():
        write_run(sweep.run_dir(run), run.algorithm, seed=run.seed)
    comparison = compare(sweep.path)
    assert [row.seeds for row in comparison.rows] == [[0, 1], [0]]
    assert comparison.problems == ()


def test_every_form_holds_every_row(two_methods: Comparison) -> None:
    assert "| Hopper-v4 | spacil | 3 | 3150 ± 100 |" in two_methods.to_markdown()
    assert r"3150 $\pm$ 100" in two_methods.to_latex()
    assert two_methods.to_latex().count(r"\bottomrule") == 3
    assert "3050 to 3250" in str(two_methods)
    assert (
        "| Hopper-v4 | spacil | 1.8 ± 0.3 | 0.54 ± 0.09 | 0.0001 ± 0 |" in two_methods.to_markdown()
    )
    lines = list(csv.DictReader(io.StringIO(two_methods.to_csv())))
    assert [line["label"] for line in lines] == ["gail", "spacil"]
    assert float(lines[1]["average_return_mean"]) == 3150.0
    assert float(lines[0]["paper_return_mean"]) == 3326.43
    assert float(lines[1]["better_return_probability"]) == pytest.approx(8 / 9)


def test_settings_on_several_tasks_are_pooled(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        known = demonstrator_of(task)
        assert known is not None
        for seed, part in enumerate((0.9, 1.1)):
            fresh = (part * known.average_return, 2.0)
            write_run(tmp_path / f"{task}-gail{seed}", "gail", task, seed, fresh=fresh)
            fresh = (known.average_return, 0.5)
            write_run(tmp_path / f"{task}-spacil{seed}", "spacil", task, seed, fresh=fresh)
    write_run(tmp_path / "reacher-bc", "bc", "Reacher-v4")
    comparison = compare(tmp_path)
    gail, ours = comparison.aggregates
    assert (gail.label, gail.tasks) == ("gail", ("Hopper-v4", "Walker2d-v4"))
    assert gail.normalized_return is not None
    assert gail.normalized_return.iqm == pytest.approx(1.0)
    assert gail.normalized_return.low == pytest.approx(0.9)
    assert ours.normalized_return is not None
    assert ours.normalized_return.iqm == pytest.approx(1.0)
    assert ours.j_ratio is not None
    assert (ours.j_ratio.iqm, ours.j_ratio.low) == (0.25, 0.25)
    text = comparison.to_markdown()
    assert "| spacil | 2 tasks | 1 | 1 to 1 | 0.25 | 0.25 to 0.25 |" in text
    assert "| gail | 2 tasks | 1 | 0.9 to 1.1 | 1 | - |" in text  # its own baseline


def test_one_run_of_a_task_leaves_no_interval(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        for seed in (0, 1):
            write_run(tmp_path / f"{task}-gail{seed}", "gail", task, seed, fresh=(1.0, 2.0))
        write_run(tmp_path / f"{task}-spacil", "spacil", task, fresh=(3000.0, 0.5))
    comparison = compare(tmp_path)
    ours = comparison.rows[1].better_return
    assert ours is not None
    assert (ours.probability, ours.low, ours.high) == (1.0, None, None)
    text = comparison.to_markdown()
    assert "| 1.00 |" in text
    assert "1.00 (" not in text
    pooled = comparison.aggregates[1]
    assert pooled.label == "spacil"
    assert pooled.normalized_return is not None
    assert pooled.j_ratio is not None
    assert (pooled.normalized_return.low, pooled.j_ratio.low) == (None, None)
    assert "| 0.25 | - |" in text


def test_what_is_unknown_on_one_task_is_not_pooled(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4"):
        write_run(
            tmp_path / task, "spacil", task, fresh=None if task == "Hopper-v4" else (1.0, 1.0)
        )
    (aggregate,) = compare(tmp_path).aggregates
    assert aggregate.normalized_return is None  # no random reference on Hopper
    assert aggregate.j_ratio is None  # no baseline


def test_the_document_gives_every_number_its_run(two_methods: Comparison) -> None:
    document = two_methods.document()
    run = document["rows"][1]["runs"][2]
    assert run["seed"] == 2
    assert run["commit"] == "c" * 40
    assert run["command"] == "spacil train spacil --task Hopper-v4 --seed 2 --iterations 20"
    assert run["values"]["average_return"] == 3250.0


def test_the_library_has_it_by_name(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    assert spacil.compare([tmp_path / "a"]).rows[0].label == "gail"


def test_fifty_runs_are_compared_in_five_seconds(tmp_path: Path) -> None:
    for task in ("Hopper-v4", "Walker2d-v4", "HalfCheetah-v4", "Reacher-v4", "Ant-v4"):
        for algorithm in ("gail", "spacil"):
            for seed in range(5):
                write_run(
                    tmp_path / task / f"{algorithm}{seed}", algorithm, task, seed, iterations=300
                )
    demonstrator_of.cache_clear()
    started = time.process_time()
    comparison = compare(tmp_path)
    text = comparison.to_markdown()
    assert time.process_time() - started < 5
    assert len(comparison.rows) == 10
    assert text.count(" | 5 | ") == 10
