"""Rows from the runs of a sweep, and cells from rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from generated_runs import write_run

import controls
import curves
import front_equal
import held_out
import mixing
import pages
import printed
import recipe
import returns
import rows
from spacil.sweeps.folder import open_sweep
from spacil.sweeps.plan import Grid, PlannedRun

TASK = "Hopper-v4"
RESULTS = {"gail": (3000.0, 2.0), "gail paper-mean": (2000.0, 4.0), "spacil": (3300.0, 0.5)}
RESULTS |= {"bc": (1000.0, 1.0), "spacil paper-mean": (2200.0, 5.0)}


plan_named = rows.plan_named


def on_hopper(name: str, seeds: int = 3) -> list[PlannedRun]:
    return [run for run in plan_named(name) if run.task == TASK and run.seed < seeds]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of returns.toml on Hopper; paper-sum has not run."""
    folder = tmp_path_factory.mktemp("sweep")
    open_sweep(folder, [Grid(("gail",), (TASK,), (0,))], fresh_episodes=0)
    for run in on_hopper("returns"):
        ((_, setting),) = returns.places(run)
        if setting in RESULTS:
            g, j = RESULTS[setting]
            result: Any = {"final_return": g + 10 * run.seed, "fresh": (g + 10 * run.seed, j)}
            write_run(folder / run.name, run.algorithm, run.task, run.seed, **result)
    return folder


@pytest.fixture
def document(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(rows, "plan_named", on_hopper)
    return rows.collector("returns", returns.places, returns.which)([sweep])


def test_a_row_per_run_says_task_setting_seed_and_what_was_measured(
    document: dict[str, Any],
) -> None:
    assert len(document["runs"]) == document["num_runs"] == 5 * 3
    (row,) = (r for r in document["runs"] if (r["setting"], r["seed"]) == ("spacil", 2))
    assert (row["task"], row["G"], row["J"], row["J_effective"]) == (TASK, 3220.0, 0.5, 0.25)
    assert (row["action_change"], row["J_ball"], row["J_demo_states"]) == (0.125, 0.45, 1.5)
    assert (row["which"], row["best"]["G"]) == ("last", 3320.0)
    assert row["command"] == "spacil train spacil --task Hopper-v4 --seed 2"
    assert row["commit"] == "c" * 40
    (missing,) = document["problems"]
    assert "paper-sum" in missing and missing.endswith(", seed 0, 1, 2: waiting")


def test_curves_are_means_over_seeds_between_the_lowest_and_the_highest(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "plan_named", on_hopper)
    learning, evaluation, smoothness = curves.page_of(curves.collect([sweep])).panels
    (ours,) = (one for one in evaluation.series if one.label == "spacil")
    # Returns rose from 0 in equal steps to 3300, 3310, 3320 at iteration 20.
    assert (ours.x[-1], ours.y[-1]) == (20, 3310.0)
    assert ours.low is not None and ours.high is not None
    assert (ours.low[-1], ours.high[-1]) == (3300.0, 3320.0)
    assert smoothness.reference is None
    (noisy,) = (one for one in learning.series if one.label == "spacil")
    # Batches earn half; the mean of iterations 11 to 20 is 15.5 / 20 of the last.
    assert list(noisy.x) == [10, 20]
    assert noisy.y[-1] == pytest.approx(3310 / 2 * 15.5 / 20)
    assert "bc" not in {one.label for one in learning.series}


def test_bins_end_at_whole_widths_and_leave_out_the_untrained_policy() -> None:
    curve = {0: 99.0, 1: 1.0, 10: 3.0, 11: 5.0, 15: 7.0}
    assert curves.binned(curve) == {10: 2.0, 15: 6.0}  # the run ended at 15


def test_variability_is_the_mean_change_in_the_second_half() -> None:
    assert curves.variability({10: 0.0, 20: 100.0, 30: 104.0, 40: 98.0}) == 5.0
    assert curves.variability({10: 1.0}) is None
    assert curves.variability({}) is None


def test_a_best_policy_from_the_beginning_of_its_run_is_noted() -> None:
    row = {"group": "", "task": TASK, "setting": "gail", "seed": 0, "is_fresh": True}
    early = row | {"run_dir": "a", "iteration": 10, "num_episodes": 50}
    other = row | {"run_dir": "b", "seed": 1, "iteration": 12, "num_episodes": 150}
    assert rows.notes_on([early, other], {"a": 75, "b": 75}) == [
        "Hopper-v4, gail: its best policies are of iterations 10 of 75, 12 of 75",
        "numbers of fresh episodes: 50 in 1 runs, 150 in 1 runs",
    ]
    assert rows.notes_on([early], {"a": 30}) == []


def test_a_run_of_the_rule_stands_in_its_tier_and_in_the_ablation() -> None:
    found = [place for run in on_hopper("recipe", 1) for place in recipe.places(run)]
    by_tier: dict[str, set[str]] = {}
    for tier, setting in found:
        by_tier.setdefault(tier, set()).add(setting)
    methods = {"spacil", "gail-like", "gail"}
    ablation = {"neither", "policy only", "cost only", "both"}
    assert by_tier == {
        "whole": methods,
        "every-20th": methods,
        "one-trajectory": methods,
        "ablation-whole": ablation,
        "ablation-every-20th": ablation,
    }


def test_each_tier_is_a_table_with_ratios_to_its_own_baseline() -> None:
    def run(group: str, setting: str, seed: int, j: float) -> dict[str, Any]:
        place = {"group": group, "task": TASK, "setting": setting, "seed": seed, "which": "last"}
        return place | {"G": 3000.0, "J": j + 0.1 * seed, "best": {"G": 3600.0}}

    js = {("whole", "spacil"): 0.6, ("whole", "gail-like"): 2.0, ("ablation-whole", "neither"): 4.0}
    js["ablation-whole", "both"] = 0.6
    found = [run(*place, seed, j) for place, j in js.items() for seed in (0, 1)]
    page = recipe.page_of({"runs": found, "demonstrators": {}})
    tier, ablation = page.tables
    # Welch on the logarithm: relative variances of the means 5.92e-3 and 5.95e-4, so t of 1.2
    # degrees of freedom, 8.71, times 0.0807 above and below the logarithm.
    assert tier.rows[0][8] == f"{0.65 / 2.05:.2f} (0.16 to 0.64)"
    assert ablation.rows[1][8].startswith(f"{0.65 / 4.05:.2f} ")
    assert tier.rows[0][5] == "3600 ± 0"
    assert [panel.title for panel in page.panels] == [
        "Hopper-v4, whole",
        "Hopper-v4, ablation-whole",
    ]


def row(setting: str, seed: int, j: float, **more: Any) -> dict[str, Any]:
    place = {"group": "whole", "task": TASK, "setting": setting, "seed": seed, "which": "best"}
    numbers = {"G": 3600.0 + seed, "J": j, "share": 0.975, "action_change": j / 2}
    return place | numbers | {"iteration": 300 + seed, "commit": "c" * 40} | more


def test_p_values_are_corrected_for_their_number() -> None:
    assert rows.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert rows.holm([0.6, 0.7]) == [1.0, 1.0] and rows.holm([]) == []


def test_rivals_under_one_controller_are_tested_against_the_exact_penalty() -> None:
    js = {"exact": 0.5, "frobenius": 0.6, "caps": 0.5, "gail-like": 2.5}
    found = [row(name, seed, j + 0.01 * seed) for name, j in js.items() for seed in range(5)]
    found[6]["share"] = 0.9
    (table,) = front_equal.page_of({"runs": found}).tables
    cells = {line[1]: dict(zip(table.header, line, strict=True)) for line in table.rows}
    # Complete separation of five from five, twice the smaller p of two rivals; equal means.
    assert cells["frobenius"]["p of J"] == f"{2 * 2 / 252:.4g}"
    assert cells["caps"]["p of J"] == "1" and cells["gail-like"]["p of J"] == "-"
    assert cells["frobenius"]["kept"] == "4 of 5" and cells["exact"]["kept"] == "5 of 5"
    assert cells["exact"]["iterations"] == "300 to 304"
    assert cells["exact"]["J / GAIL's"].startswith(f"{0.52 / 2.52:.2f} (")


@pytest.mark.parametrize(
    ("script", "names"),
    [
        (controls, {*controls.ORDER, "bc exact=0.01", "bc exact=0.03", "bc exact=0.1"}),
        (front_equal, {"exact", "exact + cats", "l2c2", "gail-like", "spacil, reads no return"}),
        (held_out, {"bc", "gail-like", "spacil"}),
        (printed, {"gail", "spacil paper-sum", "gail from log std -1, R1"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_run_of_a_plan_has_a_place_of_its_own(script: Any, names: set[str]) -> None:
    plan = plan_named(script.__name__)
    found = [(run.task, run.seed, *place) for run in plan for place in script.places(run)]
    assert len(set(found)) == len(plan)
    assert names <= {setting for *_, setting in found}


def test_a_script_writes_document_page_and_figure_from_the_runs_of_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_sweep(tmp_path, [Grid(("gail",), (TASK,), (0,))], fresh_episodes=0)
    for run in plan_named("mixing")[:-1]:
        write_run(tmp_path / run.name, run.algorithm, run.task, run.seed)
    results = tmp_path / "results"
    monkeypatch.setattr("sys.argv", ["mixing.py", str(tmp_path), "--results", str(results)])
    pages.main("mixing", mixing.page_of, rows.collector("mixing", mixing.places, lambda _: "last"))
    document = json.loads((results / "mixing.json").read_text())
    assert (document["num_runs"], len(document["runs"])) == (11, 11)
    assert document["command"] == f"python mixing.py {tmp_path} --results {results}"
    page = (results / "mixing.md").read_text()
    assert "| Hopper-v4 | interpolate | 3 | 2890 |" in page
    assert ", seed 2: waiting" in page.split("## Missing")[1]
    assert (results / "mixing.png").is_file()
