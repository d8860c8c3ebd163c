"""Runs side by side: grouped by setting, summed up over seeds, with everything missing named."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from generated_runs import write_run

from spacil.comparison.comparison import Comparison, compare
from spacil.comparison.demonstrator import demonstrator_of
from spacil.errors import ConfigError

HOPPER, WALKER = "Hopper-v4", "Walker2d-v4"


@pytest.fixture
def two_methods(tmp_path: Path) -> Comparison:
    for seed, (g, j) in enumerate([(2900.0, 1.0), (3000.0, 1.2), (3100.0, 1.4)]):
        write_run(tmp_path / f"gail{seed}", seed=seed, fresh=(g, j))
        write_run(tmp_path / f"spacil{seed}", "spacil", seed=seed, fresh=(g + 150, j / 2))
    return compare([tmp_path])


def plain(text: str) -> str:
    """Text without the blanks that align its columns."""
    return re.sub(" +", " ", text)


def test_rows_are_settings_and_numbers_those_of_fresh_episodes(two_methods: Comparison) -> None:
    assert [(row.task, row.label, row.seeds) for row in two_methods.rows] == [
        (HOPPER, "gail", [0, 1, 2]),
        (HOPPER, "spacil", [0, 1, 2]),
    ]
    gail, ours = two_methods.rows
    g, j = gail.summaries["average_return"], ours.summaries["smoothness_j_common"]
    assert (g.mean, g.std) == (3000.0, 100.0)
    half = 4.302653 * 100 / 3**0.5  # Student's t with 2 degrees of freedom
    assert (g.low, g.high) == pytest.approx((3000 - half, 3000 + half))
    assert j.mean == pytest.approx(0.6)
    assert (two_methods.problems, two_methods.notes) == ((), ())


def test_the_frame_has_a_row_per_run_and_curves_per_evaluation(two_methods: Comparison) -> None:
    frame, curves = two_methods.frame, two_methods.curves
    by_label = frame.groupby("label").average_return.median()
    assert by_label.to_dict() == {"gail": 3000.0, "spacil": 3150.0}
    known = demonstrator_of(HOPPER)
    assert frame.return_share.tolist() == (frame.average_return / known.average_return).tolist()
    assert frame.seed.tolist() == [0, 1, 2, 0, 1, 2]
    assert (frame.iterations == 20).all() and (frame.num_episodes == 150).all()
    assert len(curves) == 6 * 10
    last = curves[curves.run_dir == frame.run_dir[0]].iloc[-1]
    assert (last.label, last.iteration, last.env_steps) == ("gail", 20, 2000)
    assert (last.seconds, last.average_return) == (20 * 0.5 + 10 * 1.0, 3000.0)


def test_improvement_is_over_the_baseline_of_the_task(two_methods: Comparison) -> None:
    gail, ours = two_methods.rows
    assert gail.better_return is None
    # Of the 9 pairs: 3050 beats 2900 and 3000; 3150 and 3250 beat all three.
    assert ours.better_return.probability == pytest.approx(8 / 9)
    assert ours.smoother.probability == 1.0


def test_the_baseline_is_named_by_task_and_must_be_there_if_asked_for(tmp_path: Path) -> None:
    write_run(tmp_path / "a", task=HOPPER)
    write_run(tmp_path / "b", task=WALKER, max_kl=0.5)
    write_run(tmp_path / "c", task=WALKER, max_kl=0.6)
    write_run(tmp_path / "d" / "0", "spacil", task="Reacher-v4", lambda_policy=0.5)
    write_run(tmp_path / "d" / "1", "spacil", task="Reacher-v4")
    comparison = compare(tmp_path)
    named = {HOPPER: "gail", WALKER: "gail max_kl=0.5"}
    assert comparison.document()["baselines"] == named
    line = "Baseline: Hopper-v4 gail; Walker2d-v4 gail max_kl=0.5; Reacher-v4 none."
    assert line in str(comparison)
    alone = tmp_path / "d"
    assert "Baseline: Reacher-v4 none." in str(
        compare(alone)
    )  # GAIL is not there, and nobody asked
    rows = compare(alone, baseline="spacil penalty=exact=0.5 penalty_weight=fixed").rows
    assert [row.better_return is None for row in rows] == [True, False]
    with pytest.raises(ConfigError, match="baseline 'gial' is no row: expected one of spacil"):
        compare(alone, baseline="gial")


def test_the_last_policy_can_be_compared_instead(tmp_path: Path) -> None:
    write_run(tmp_path / "a", fresh=(2000.0, 1.0))
    assert compare(tmp_path, which="last").frame.average_return.tolist() == [1900.0]
    with pytest.raises(ConfigError, match="expected best or last"):
        compare(tmp_path, which="first")  # type: ignore[arg-type]


def test_missing_fresh_episodes_are_flagged(tmp_path: Path) -> None:
    write_run(tmp_path / "a", fresh=None, final_return=1234.0)
    write_run(tmp_path / "fresh", seed=1)  # one of two is enough to flatter
    write_run(tmp_path / "b", "spacil")
    write_run(tmp_path / "c", "airl", fresh=None, frame="a" * 64)  # of an unknown demonstrator
    comparison = compare(tmp_path)
    assert not comparison.rows[0].is_fresh
    assert comparison.frame.average_return[0] == 1234.0
    assert "Hopper-v4, gail: no fresh episodes" in comparison.notes[0]
    assert r"| gail \* |" in plain(comparison.to_markdown())
    (told,) = [note for note in comparison.notes if "95 %" in note and "gail" in note]
    assert told.endswith("`spacil evaluate RUN --keep` plays fresh ones and keeps them")


def test_rows_with_other_demonstrations_than_those_shown_are_named(tmp_path: Path) -> None:
    known = demonstrator_of(HOPPER)
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", "spacil", frame="b" * 64)
    comparison = compare(tmp_path)
    _, other = comparison.rows
    assert comparison.demonstrators == {HOPPER: known}
    assert other.better_return is not None
    assert other.smoother is None  # J in two frames is two measures
    frames, whose = comparison.notes
    assert f"different frames and cannot be compared between them: gail {known.frame_hash[:8]}; "
    assert frames.endswith("spacil bbbbbbbb")
    assert "spacil learned from others" in whose
    only_others = compare(tmp_path / "b")
    assert (only_others.demonstrators, only_others.notes) == ({}, ())
    assert "demonstrator |" not in only_others.to_markdown()


def test_labels_name_what_sets_rows_apart_settings_or_demonstrations(tmp_path: Path) -> None:
    for i, weight in enumerate((0.01, 0.2)):
        write_run(tmp_path / "a" / f"{i}", "spacil", lambda_policy=weight, max_kl=0.5)
    write_run(tmp_path / "a" / "gail", max_kl=0.5)
    labels = [row.label for row in compare(tmp_path / "a").rows]
    assert labels == ["spacil penalty=exact=0.01", "spacil penalty=exact=0.2", "gail"]
    for seed in (0, 1):
        write_run(tmp_path / "b" / f"many{seed}", seed=seed, demonstrations="a" * 64)
        write_run(tmp_path / "b" / f"few{seed}", seed=seed, demonstrations="b" * 64)
    rows = compare(tmp_path / "b").rows
    assert [row.label for row in rows] == ["gail", "gail demos=aaaaaaaa"]
    assert [row.seeds for row in rows] == [[0, 1], [0, 1]]


def test_every_form_holds_every_row_and_names_the_baseline(two_methods: Comparison) -> None:
    markdown, latex = plain(two_methods.to_markdown()), plain(two_methods.to_latex())
    assert "| Hopper-v4 | spacil | 3 | 3150 ± 100 |" in markdown
    assert "| Hopper-v4 | spacil | 1.8 ± 0.3 | 0.54 ± 0.09 | 0.0001 ± 0 |" in markdown
    assert [line.split(" | ")[1] for line in markdown.splitlines() if "| baseline |" in line] == [
        "gail",  # of returns
        "gail",  # of smoothness
    ]
    assert "\n\nBaseline: Hopper-v4 gail.\n" in markdown
    assert r"Hopper-v4 & spacil & 3 & 3150 $\pm$ 100 & 2902 to 3398 &" in latex
    assert latex.count(r"\bottomrule") == 3 and "% Baseline: Hopper-v4 gail.\n" in latex
    assert "Hopper-v4  spacil" in str(two_methods) and "2902 to 3398" in str(two_methods)
    lines = list(csv.DictReader(io.StringIO(two_methods.to_csv())))
    assert [(line["label"], line["baseline"]) for line in lines] == [
        ("gail", "gail"),
        ("spacil", "gail"),
    ]
    assert float(lines[1]["average_return_mean"]) == 3150.0
    assert float(lines[0]["paper_return_mean"]) == 3326.43
    assert float(lines[1]["better_return_probability"]) == pytest.approx(8 / 9)


def test_the_document_gives_every_number_its_run(two_methods: Comparison) -> None:
    document = json.loads(json.dumps(two_methods.document(), allow_nan=False))
    gail, ours = document["rows"]
    assert gail["published_return"] == {"mean": 3326.43, "std": 872.42}
    assert ours["published_smoothness"] == {"mean": 7.77, "std": 0.067}
    run = ours["runs"][2]
    assert run["seed"] == 2
    assert run["commit"] == "c" * 40
    assert run["command"] == "spacil train spacil --task Hopper-v4 --seed 2 --iterations 20"
    assert run["values"]["average_return"] == 3250.0


def test_text_from_files_stays_one_cell_and_one_line(tmp_path: Path) -> None:
    evil = "a|b\n\\input{/etc/passwd} <img src=x> \x1b[31m"
    for seed in (0, 1):
        write_run(tmp_path / f"gail{seed}", task=evil, seed=seed)
    write_run(tmp_path / "spacil", "spacil", task=evil)
    comparison = compare(tmp_path)
    assert len(comparison.problems) == 1  # seed 1 of spacil
    for text in (str(comparison), comparison.to_markdown(), comparison.to_latex()):
        assert "\x1b" not in text
        # Each appearance stands in a row of a table, a comment, or an item of a list.
        assert {line[:1] for line in text.splitlines() if "input" in line} <= set("a| -%B")
    markdown = comparison.to_markdown()
    assert "<img" not in markdown and r"a\|b" in markdown
    latex = [line for line in comparison.to_latex().splitlines() if not line.startswith("%")]
    assert r"\input" not in "\n".join(latex)


def test_settings_on_several_tasks_are_pooled(tmp_path: Path) -> None:
    for task in (HOPPER, WALKER):
        known = demonstrator_of(task)
        for seed, part in enumerate((0.9, 1.1)):
            fresh = (part * known.average_return, 2.0)
            write_run(tmp_path / f"{task}-gail{seed}", "gail", task, seed, fresh=fresh)
            fresh = (known.average_return, 0.5)
            write_run(tmp_path / f"{task}-spacil{seed}", "spacil", task, seed, fresh=fresh)
    write_run(tmp_path / "reacher-bc", "bc", "Reacher-v4")
    comparison = compare(tmp_path)
    gail, ours = comparison.aggregates
    assert (gail.label, gail.tasks) == ("gail", (HOPPER, WALKER))
    assert gail.normalized_return.iqm == pytest.approx(1.0)
    assert gail.normalized_return.low == pytest.approx(0.9)
    assert ours.normalized_return is not None
    assert (ours.j_ratio.iqm, ours.j_ratio.low) == (0.25, None)  # of no width: not an interval
    text = plain(comparison.to_markdown())
    assert "| spacil | 2 tasks | 1 | - | 0.25 | - |" in text
    assert "| gail | 2 tasks | 1 | 0.9 to 1.1 | 1 | - |" in text  # its own baseline


def test_one_run_leaves_no_interval_and_what_is_unknown_is_not_pooled(tmp_path: Path) -> None:
    for task in (HOPPER, WALKER):
        for seed in (0, 1):
            write_run(tmp_path / f"{task}-gail{seed}", "gail", task, seed, fresh=(seed, 2.0))
        write_run(tmp_path / f"{task}-spacil", "spacil", task, fresh=(3000.0, 0.5))
        frame = "b" * 64 if task == HOPPER else None  # of other demonstrations
        write_run(tmp_path / f"{task}-airl", "airl", task, frame=frame)
        write_run(tmp_path / f"{task}-bc", "bc", task, fresh=None if task == HOPPER else (1, 1))
    comparison = compare(tmp_path)
    ours = next(row for row in comparison.rows if row.label == "spacil").better_return
    assert (ours.probability, ours.low, ours.high) == (1.0, None, None)
    pooled = {one.label: one for one in comparison.aggregates}
    normalized, ratio = pooled["spacil"].normalized_return, pooled["spacil"].j_ratio
    assert (normalized.low, ratio.low) == (None, None)
    assert (pooled["airl"].normalized_return, pooled["airl"].j_ratio) == (None, None)
    assert pooled["bc"].normalized_return is None  # no random reference on Hopper
    assert pooled["bc"].j_ratio is not None
