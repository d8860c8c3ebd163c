"""The tables of returns and smoothness, from run folders with known numbers."""

from dataclasses import replace
from pathlib import Path

import pytest
from generated_arms import gathered_from

from spacil.comparison import statistics
from spacil.comparison.demonstrator import demonstrator_of
from spacil.experiments.named.experiment import Gathered
from spacil.experiments.named.outcome import Outcome, markdown
from spacil.experiments.named.paper import curves, returns
from spacil.experiments.named.plan import Arm, Scope
from spacil.sweeps.plan import PlannedRun

TASK = "Hopper-v4"
RESULTS = {"gail": (3000.0, 2.0), "gail paper-mean": (2000.0, 4.0), "spacil": (3300.0, 0.5)}
RESULTS |= {"bc": (1000.0, 1.0), "spacil paper-mean": (2200.0, 5.0)}


def results(arm: Arm, run: PlannedRun) -> tuple[float, float] | None:
    """The middle of each setting, 10 apart between seeds; paper-sum has not run."""
    if arm.label not in RESULTS:
        return None
    g, j = RESULTS[arm.label]
    return g + 10 * run.seed, j


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Gathered:
    scope, folder = Scope(tasks=(TASK,), seeds=(0, 1, 2)), tmp_path_factory.mktemp("sweep")
    return gathered_from(folder, returns.arms(scope, folder), results, scope)


@pytest.fixture(scope="module")
def outcome(gathered: Gathered) -> Outcome:
    return returns.analyse(gathered)


def summary_of(outcome: Outcome, setting: str) -> dict[str, object]:
    (found,) = (row for row in outcome.numbers["summaries"] if row["setting"] == setting)
    return dict(found)


def test_a_row_per_run_says_task_setting_seed_and_what_was_measured(outcome: Outcome) -> None:
    rows = outcome.numbers["runs"]
    assert len(rows) == 5 * 3
    (row,) = (r for r in rows if (r["setting"], r["seed"]) == ("spacil", 2))
    assert (row["task"], row["G"], row["J"], row["J_effective"]) == (TASK, 3220.0, 0.5, 0.25)
    assert (row["action_change"], row["J_ball"], row["J_demo_states"]) == (0.125, 0.45, 1.5)
    assert (row["which"], row["best"]["G"]) == ("last", 3320.0)
    assert row["command"] == "spacil train spacil --task Hopper-v4 --seed 2"
    assert row["commit"] == "c" * 40


def test_ratios_are_to_the_gail_that_each_setting_is_compared_with(outcome: Outcome) -> None:
    ours, printed = summary_of(outcome, "spacil"), summary_of(outcome, "spacil paper-mean")
    assert ours["J_ratio"] == {"value": 0.25, "low": None, "high": None}
    assert printed["J_ratio"] == {"value": 1.25, "low": None, "high": None}
    assert printed["G_ratio"]["value"] == pytest.approx(2210 / 2010)  # type: ignore[index]
    assert summary_of(outcome, "gail")["J_ratio"] is None


def test_a_share_counts_from_random_actions_to_the_demonstrator(outcome: Outcome) -> None:
    known = demonstrator_of(TASK)
    assert known is not None
    share = summary_of(outcome, "gail")["numbers"]["share"]  # type: ignore[index]
    assert share["mean"] == pytest.approx(3010 / known.average_return)  # random actions earn 0


def test_what_has_not_run_is_named_and_left_out(outcome: Outcome) -> None:
    assert list(outcome.problems) == ["Hopper-v4, spacil paper-sum: seeds 0, 1, 2 waiting"]
    table = outcome.tables[0]
    assert [row[1] for row in table.rows] == [
        "demonstrator", "bc", "gail", "gail paper-mean", "spacil paper-mean", "spacil",
    ]  # fmt: skip


def test_the_papers_numbers_stand_in_the_last_column(outcome: Outcome) -> None:
    by_setting = {row[1]: row[-1] for row in outcome.tables[0].rows}
    assert by_setting["gail"] == by_setting["gail paper-mean"] == "3326 ± 872.4"
    assert by_setting["spacil"] == "3663 ± 39.27"
    assert by_setting["bc"] == "-"
    assert outcome.numbers["published"][TASK]["spacil"]["J"] == [7.77, 0.067]


def test_the_page_names_command_commit_and_what_is_missing(outcome: Outcome) -> None:
    page = markdown(outcome, "spacil experiment returns", Path("returns.png"), "returns.json")
    assert page.startswith("# Returns and smoothness on five tasks\n")
    assert "Made by `spacil experiment returns`" in page
    assert "Runs: 15, by commit cccccccccc." in page
    assert "| Hopper-v4 | spacil | 3 | 3210 ± 10 | 3185 to 3235 |" in page
    assert "paper-sum" in page.split("## Missing")[1]


def test_curves_are_means_over_seeds_between_the_lowest_and_the_highest(
    gathered: Gathered,
) -> None:
    outcome = curves.analyse(gathered)
    learning, evaluation, smoothness = outcome.panels
    (ours,) = (one for one in evaluation.series if one.label == "spacil")
    # Returns rose from 0 in equal steps to 3300, 3310, 3320 at iteration 20.
    assert (ours.x[-1], ours.y[-1]) == (20, 3310.0)
    assert ours.low is not None
    assert ours.high is not None
    assert (ours.low[-1], ours.high[-1]) == (3300.0, 3320.0)
    assert smoothness.reference is None
    assert evaluation.reference == pytest.approx(3692, abs=5)
    (noisy,) = (one for one in learning.series if one.label == "spacil")
    # Batches earn half; the mean of iterations 11 to 20 is 15.5 / 20 of the last.
    assert list(noisy.x) == [10, 20]
    assert noisy.y[-1] == pytest.approx(3310 / 2 * 15.5 / 20)
    assert "bc" not in {one.label for one in learning.series}


def test_bins_end_at_whole_widths_and_leave_out_the_untrained_policy() -> None:
    curve = {0: 99.0, 1: 1.0, 10: 3.0, 11: 5.0, 15: 7.0}
    assert curves.binned(curve) == {10: 2.0, 15: 6.0}  # the run ended at 15


def test_variability_is_the_mean_change_in_the_second_half() -> None:
    assert statistics.variability({10: 0.0, 20: 100.0, 30: 104.0, 40: 98.0}) == 5.0
    assert statistics.variability({10: 1.0}) is None
    assert statistics.variability({}) is None


def recorded_run(setting: str, seed: int, j: float) -> dict[str, object]:
    last = {"average_return": 3500.0 + seed, "return_std": 5.0, "smoothness_j": j}
    return {
        "task": TASK,
        "data": "whole",
        "setting": setting,
        "seed": seed,
        "iterations": 20,
        "commit": "abc",
        "last": last | {"action_fluctuation": 0.25},
        "evaluations": [[10, 1000.0, 9.0, 2 * j], [20, 3600.0, 9.0, j]],
    }


@pytest.fixture
def with_recorded(tmp_path: Path) -> Gathered:
    """GAIL has run here; the default and gail-like only in the runs of the recipe."""
    scope = Scope(tasks=(TASK,), seeds=(0, 1), methods=("gail",))
    found = gathered_from(tmp_path, returns.arms(scope, tmp_path), results, scope)
    runs = [recorded_run("default", s, 0.5) for s in (0, 1)]
    runs += [recorded_run("gail-like", s, 4.0) for s in (0, 1, 2)]
    other = recorded_run("default", 7, 9.0) | {"data": "every 20th step"}
    tier = {"runs": [*runs, other], "random_returns": {TASK: 0.0}, "episodes": 50}
    return replace(found, results={"recipe.json": {"tier_1": tier}})


def test_recorded_runs_stand_in_for_settings_that_have_not_run_here(
    with_recorded: Gathered,
) -> None:
    outcome = returns.analyse(with_recorded)
    ours = summary_of(outcome, "spacil")
    assert (ours["seeds"], ours["which"]) == ((0, 1), "last")
    assert ours["J_ratio"]["value"] == 0.25  # type: ignore[index]  # of plain GAIL's 2, not 4
    assert summary_of(outcome, "gail-like")["J_ratio"] is None
    (row,) = (r for r in outcome.numbers["runs"] if (r["setting"], r["seed"]) == ("spacil", 1))
    assert (row["G"], row["action_change"], row["source"]) == (3501.0, 0.25, "recipe.json")
    (panel,) = outcome.panels
    assert [one.label for one in panel.series] == ["gail", "gail-like", "spacil"]


def test_runs_of_its_own_take_the_place_of_recorded_ones(
    gathered: Gathered, with_recorded: Gathered
) -> None:
    outcome = returns.analyse(replace(gathered, results=with_recorded.results))
    assert summary_of(outcome, "spacil")["seeds"] == (0, 1, 2)
    assert all("source" not in row for row in outcome.numbers["runs"] if row["setting"] == "spacil")
    assert summary_of(outcome, "gail-like")["seeds"] == (0, 1, 2)


def test_curves_of_recorded_runs_are_those_of_evaluations(with_recorded: Gathered) -> None:
    outcome = curves.analyse(with_recorded)
    learning, evaluation, smoothness = outcome.panels
    assert "spacil" not in {one.label for one in learning.series}
    (ours,) = (one for one in evaluation.series if one.label == "spacil")
    assert (list(ours.x), list(ours.y)) == ([10, 20], [1000.0, 3600.0])
    (rough,) = (one for one in smoothness.series if one.label == "gail-like")
    assert list(rough.y) == [8.0, 4.0]
    (moved,) = (r for r in outcome.numbers["variability"] if r["setting"] == "spacil")
    assert moved["late_variability"] == {"learning": [], "evaluation": [2600.0, 2600.0]}
