"""The front, from ladders with known evaluations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated_arms import gathered_from

from spacil.comparison.demonstrator import demonstrator_of
from spacil.errors import StorageError
from spacil.experiments.named.experiment import Gathered, gather
from spacil.experiments.named.front import experiment, ladder, methods, page, runs
from spacil.experiments.named.plan import Arm, Extended, Scope
from spacil.sweeps.folder import SweepFolder
from spacil.sweeps.plan import PlannedRun

TASK = "Hopper-v4"
CHANGES = (("evaluation_interval", 2),)
SCOPE = Scope(tasks=(TASK,), seeds=(0, 1), groups=("whole",), changes=CHANGES)
PLACE = (TASK, "whole")
GAIL_J = 2.0


def whole_return() -> float:
    known = demonstrator_of(TASK)
    assert known is not None
    return known.average_return


def write_ladder(path: Path, rungs: dict[int, tuple[float, float]]) -> None:
    """Evaluations at these iterations: share of the demonstrator, J; an action change of J / 4."""
    rows = [
        {"iteration": i, "env_steps": i, "average_return": s * whole_return()}
        | {"smoothness_j_common": j, "smoothness_j_effective": j, "action_fluctuation": j / 4}
        for i, (s, j) in rungs.items()
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def gathered(tmp_path: Path) -> Gathered:
    """GAIL at the return of the demonstrator, `exact` climbing; both seeds alike."""
    shown = (runs.GAIL, "exact")
    arms = [arm for arm in experiment.ladders(SCOPE, tmp_path) if arm.label in shown]

    def results(arm: Arm, run: PlannedRun) -> tuple[float, float]:
        # Its last policy earns 100 less than the best one, by the generator's rule.
        return whole_return() + 100, GAIL_J

    found = gathered_from(tmp_path, arms, results, SCOPE)
    exact = found.arm(TASK, "exact", "whole")
    assert exact is not None
    # Start at 2 with GAIL's policy; rungs of two iterations end at 4, 6, 8.
    climbing = {1: (0.5, 9.0), 2: (1.0, 2.0), 4: (1.0, 1.0), 6: (0.98, 0.5), 8: (0.6, 0.25)}
    for record in exact.records:
        write_ladder(record.path, climbing)
    return found


def methods_by_label(gathered: Gathered) -> dict[str, methods.Method]:
    found = runs.runs_by_place(gathered)[PLACE]
    return {method.label: method for method in methods.methods_of(PLACE, found)}


def test_a_ladder_begins_with_gail_and_doubles_at_every_evaluation(tmp_path: Path) -> None:
    (arm,) = (a for a in experiment.ladders(SCOPE, tmp_path) if a.label == "exact + temporal")
    config = arm.runs()[0].config()
    assert config.policy_penalty.penalty == ("exact=0.01", "cats=0.1")
    assert (config.policy_penalty.penalty_start, config.policy_penalty.penalty_doubling) == (2, 2)
    assert config.run.iterations == 2 + 8 * 2
    assert config.fidelity.anchor_weight == 0.0
    (usual,) = (a for a in experiment.ladders(Scope(tasks=(TASK,), groups=("whole",)), tmp_path)
                if a.label == "exact")  # fmt: skip
    assert usual.runs()[0].config().run.iterations == 40 + 8 * 40


def test_rungs_are_evaluations_with_the_weight_before_them(gathered: Gathered) -> None:
    exact = gathered.arm(TASK, "exact", "whole")
    assert exact is not None
    rungs = runs.rungs_of(exact.arm, exact.records[0])
    assert [(rung.iteration, rung.factor) for rung in rungs] == [(2, 0), (4, 1), (6, 2), (8, 4)]
    assert ladder.weights_at_factor("exact + temporal", 4.0) == ("exact=0.04", "cats=0.4")
    assert ladder.weighted("action-rate reward", 4.0) == {"action_rate_weight": 0.04}
    assert ladder.weighted("by construction", 4.0)["policy_lipschitz"] == 4.0


def test_the_front_is_relative_to_gail_on_the_same_data(gathered: Gathered) -> None:
    by_label = methods_by_label(gathered)
    points = [(p.name, p.J, p.share) for p in by_label["exact"].points]
    expected = [("0", 1.0, 1.0), ("exact=0.01", 0.5, 1.0), ("exact=0.02", 0.25, 0.98)]
    assert points[:3] == [(n, j, pytest.approx(s)) for n, j, s in expected]
    area = by_label["exact"].area("J")
    assert area is not None
    # 0.125 to 0.25 at 0.6, to 0.5 at 0.98, to 1 at 1.
    assert area.mean == pytest.approx(0.125 * 0.6 + 0.25 * 0.98 + 0.5)
    chosen = by_label["exact"].smoothest("J")
    assert chosen is not None
    assert (chosen.name, chosen.J) == ("exact=0.02", 0.25)
    assert by_label["gail-like"].points[0].J == 1.0


def test_the_chosen_rung_is_confirmed_at_its_weight(gathered: Gathered, tmp_path: Path) -> None:
    exact = gathered.arm(TASK, "exact", "whole")
    assert exact is not None
    by_method = runs.runs_by_place(gathered)[PLACE]
    assert experiment.chosen_factor(exact.arm, by_method) == 2.0
    assert (
        experiment.chosen_factor(exact.arm, {**by_method, "exact": by_method["exact"][:1]}) is None
    )
    arms = experiment.confirmed(SCOPE, tmp_path)
    (fixed,) = (arm for arm in arms if arm.label.endswith(runs.CONFIRMED))
    config = fixed.runs()[0].config()
    assert config.policy_penalty.penalty == ("exact=0.02",)
    assert config.policy_penalty.penalty_start == 0


def test_a_start_that_has_not_learned_yet_is_told(gathered: Gathered) -> None:
    assert not page.analyse(gathered).notes
    exact = gathered.arm(TASK, "exact", "whole")
    assert exact is not None
    for record in exact.records:
        write_ladder(record.path, {2: (0.5, 2.0), 4: (1.0, 1.0)})
    (note,) = page.analyse(gathered).notes
    assert note == "Hopper-v4, whole: where ladders begin, GAIL has 50 % of the return"


def test_filters_stand_in_the_front_of_the_action_change_alone(gathered: Gathered) -> None:
    rows = [
        {"filter": "low-pass", "strength": 0.6, "G": whole_return(), "action_change": 0.4},
        {"filter": "low-pass", "strength": 0.1, "G": 0.5 * whole_return(), "action_change": 0.1},
    ]
    gail = gathered.arm(TASK, runs.GAIL, "whole")
    assert gail is not None
    measured: dict[Path, Any] = {record.path: {"filters": rows} for record in gail.records}
    outcome = page.analyse(replace(gathered, measured=measured))
    (low_pass,) = (m for m in outcome.numbers["methods"] if m["label"] == "low-pass on GAIL")
    assert low_pass["hypervolume"]["J"] is None
    assert low_pass["smoothest"]["J"] is None
    assert low_pass["smoothest"]["action_change"]["action_change"] == pytest.approx(0.8)
    by_j, by_change = outcome.panels
    assert "low-pass on GAIL" not in {one.label for one in by_j.series}
    assert "low-pass on GAIL" in {one.label for one in by_change.series}
    assert outcome.tables[-1].rows[0][0] == "demonstrator"


def test_without_gail_there_is_no_front(tmp_path: Path) -> None:
    arms = experiment.ladders(SCOPE, tmp_path)
    outcome = page.analyse(gathered_from(tmp_path, arms, lambda arm, run: None, SCOPE))
    assert all(table.rows == [] for table in outcome.tables)
    assert "gail-like has not run" in outcome.notes[0]
    assert len(outcome.problems) == 6 + 8


def test_the_wish_stands_in_the_front_with_the_policy_it_hands_out(tmp_path: Path) -> None:
    wanted = (runs.GAIL, runs.SMOOTHEST)
    arms = [arm for arm in experiment.ladders(SCOPE, tmp_path) if arm.label in wanted]
    config = arms[1].runs()[0].config()
    assert (config.wish.wants_smoothest, config.wish.keep_return) == (True, 0.97)
    assert config.run.iterations == 2 + 8 * 2

    def results(arm: Arm, run: PlannedRun) -> tuple[float, float]:
        return whole_return() + 100, GAIL_J  # of the best policy; the last one earns 100 less

    found = gathered_from(tmp_path, arms, results, SCOPE)
    by_label = methods_by_label(found)
    (point,) = by_label[runs.SMOOTHEST].points
    assert point.share == pytest.approx(1 + 100 / whole_return())


def test_a_run_in_a_document_counts_as_one_in_a_folder(gathered: Gathered, tmp_path: Path) -> None:
    whole = page.analyse(gathered)
    # Through JSON, as a document keeps them; seed 1 is left in its folder.
    rows = json.loads(json.dumps(whole.document()["runs"]))
    kept = {row["run"]: row for row in rows if row["seed"] == 0}
    elsewhere = tmp_path / "elsewhere"
    for arm in gathered.arms:
        (_, second) = arm.arm.runs()
        (elsewhere / second.name).parent.mkdir(parents=True)
        (tmp_path / second.name).rename(elsewhere / second.name)
    scope = replace(SCOPE, extended=Extended(kept, ("an earlier commit",)))
    arms = [arm.arm for arm in gathered.arms]
    found = gather(SweepFolder(elsewhere, (), 0), arms, scope)
    extended = page.analyse(found)
    assert not extended.problems
    assert extended.tables == whole.tables
    assert extended.document()["runs"] == whole.document()["runs"]
    assert (len(extended.records), len(extended.kept), extended.num_runs) == (2, 2, 4)
    assert "an earlier commit" in extended.commits
    # The rung is chosen from both seeds, wherever they are.
    (fixed,) = (a for a in experiment.confirmed(scope, elsewhere) if a.label.endswith("weight"))
    assert fixed.runs()[0].config().policy_penalty.penalty == ("exact=0.02",)


def test_runs_that_a_page_does_not_show_stay_in_its_document(gathered: Gathered) -> None:
    row = page.analyse(gathered).document()["runs"][0]
    other = {**row, "run": "spacil/Hopper-v4/penalty-frobenius-0.3/seed0"}
    scope = replace(SCOPE, extended=Extended({row["run"]: row, other["run"]: other}))
    outcome = page.analyse(replace(gathered, scope=scope))
    assert outcome.document()["runs"][-1] == other
    assert "runs in the document, of weights or seeds not shown here: 1" in outcome.notes


def test_a_row_that_is_no_run_of_a_front_is_refused_by_name(gathered: Gathered) -> None:
    row = page.analyse(gathered).document()["runs"][0]
    del row["policies"][0]["J"]
    (gail, *others) = gathered.arms
    with pytest.raises(StorageError, match=r"gail-like.*seed0' is no run of a front"):
        page.analyse(replace(gathered, arms=(replace(gail, records=(), kept=(row,)), *others)))
