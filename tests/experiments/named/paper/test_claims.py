"""Answers to the paper's claims, from documents with known numbers."""

from typing import Any

import pytest

from spacil.experiments.named.experiment import Gathered
from spacil.experiments.named.paper import claims, evidence

OURS, GAIL = "spacil", "gail"


def run_row(task: str, setting: str, seed: int, **numbers: float | None) -> dict[str, Any]:
    known = {"G": 1.0, "J": 1.0, "share": 1.0, "steps_to_95": 1.0} | numbers
    return {"task": task, "setting": setting, "seed": seed, **known}


def results(**columns: tuple[list[float | None], list[float | None]]) -> evidence.Results:
    """Hopper and Ant with the same numbers of ours and of GAIL, over seeds."""
    rows = []
    for task in ("Hopper-v4", "Ant-v4"):
        for which, setting in enumerate((OURS, GAIL)):
            count = len(next(iter(columns.values()))[which])
            for seed in range(count):
                numbers = {key: pair[which][seed] for key, pair in columns.items()}
                rows.append(run_row(task, setting, seed, **numbers))
    return {"returns": {"runs": rows, "demonstrators": {"Hopper-v4": {"average_return": 100.0}}}}


def test_without_results_nothing_is_claimed() -> None:
    found = claims.answers({})
    assert {one.answer for one in found} == {"not measured"}
    assert len(found) == 3 * len(claims.PER_PAIR) + len(claims.ONCE) + len(claims.OF_ABLATION)
    outcome = claims.analyse(Gathered(()))
    assert outcome.notes[0] == "not there yet: returns.json"


@pytest.mark.parametrize(
    ("holds", "words"),
    [
        ({}, "not measured"),
        ({"a": True, "b": True}, "holds (2 of 2 tasks)"),
        ({"a": False, "b": False}, "does not hold (0 of 2 tasks)"),
        ({"a": False, "b": True}, "holds on 1 of 2 tasks"),
    ],
)
def test_a_verdict_says_where_it_holds(holds: dict[str, bool], words: str) -> None:
    assert evidence.verdict(holds) == words


def test_a_better_return_is_one_of_means_with_its_probability() -> None:
    answer, words = evidence.better_return(results(G=([90.0, 110.0], [80.0, 100.0])), OURS, GAIL)
    assert answer == "holds (2 of 2 tasks)"
    assert "Hopper 100 vs 90 (n 2, 2)" in words
    assert "P(better): Hopper 0.75" in words  # 90 > 80, 110 > both; 90 < 100


@pytest.mark.parametrize(
    ("ours", "answer"),
    [
        (0.5, "holds (1 of 1 data sets)"),
        (1.5, "does not hold (0 of 1 data sets)"),  # smoother than GAIL, not than who was imitated
    ],
)
def test_smooth_means_smoother_than_the_demonstrator_and_than_gail(
    ours: float, answer: str
) -> None:
    place = {"task": "Hopper-v4", "group": "from the smooth demonstrator"}
    arms = [
        {**place, "setting": setting, "J": [j, j], "demonstrator_J": 1.0}
        for setting, j in ((OURS, ours), (GAIL, 2.0))
    ]
    teacher = {**place, "group": "", "setting": "teacher", "J": [1.0], "demonstrator_J": None}
    found = {"demonstrators": {"arms": [teacher, *arms]}}
    told, words = evidence.smooth_whatever_the_demonstrator(found)
    assert told == answer
    assert words.endswith(f"demonstrator {ours} vs 1 and 2 (n 2, 2)")


def test_only_the_named_tasks_count_against_the_demonstrator() -> None:
    found = evidence.above_demonstrator(results(G=([99.0], [1.0])), OURS, GAIL)
    words = "mean G vs demonstrator: Hopper 99 vs 100 (n 1)"
    assert found == ("does not hold (0 of 1 tasks)", words)


def test_a_spread_needs_two_seeds() -> None:
    assert evidence.lower_spread("J")(results(J=([1.0], [2.0])), OURS, GAIL)[0] == "not measured"
    found = results(J=([1.0, 1.0], [1.0, 3.0]))
    assert evidence.lower_spread("J")(found, OURS, GAIL)[0] == "holds (2 of 2 tasks)"


def test_a_run_that_never_gets_there_is_slower_than_any() -> None:
    found = results(steps_to_95=([900.0, 950.0], [100.0, None]))
    answer, words = evidence.faster(found, OURS, GAIL)
    assert answer == "does not hold (0 of 2 tasks)"  # 2 of 4 pairs: no better than a coin
    assert "Hopper 925 vs 100 (1 of 2 never) (n 2, 2), P(faster) 0.50" in words
    found = results(steps_to_95=([90.0, 950.0], [100.0, None]))
    assert evidence.faster(found, OURS, GAIL)[0] == "holds (2 of 2 tasks)"


def test_where_nobody_gets_there_nobody_is_slower() -> None:
    found = results(steps_to_95=([None, None], [None, None]))
    for row in found["returns"]["runs"]:
        if row["task"] == "Hopper-v4":
            row["steps_to_95"] = {OURS: 10.0, GAIL: 20.0}[row["setting"]]
    answer, words = evidence.faster(found, OURS, GAIL)
    assert answer == "holds (1 of 1 tasks)"
    assert words.endswith("Ant never (n 2, 2)")


def test_a_task_that_gail_has_not_learned_is_left_out_of_every_claim_but_named() -> None:
    found = results(share=([1.0], [0.9]), J=([1.0], [0.3]), G=([10.0], [5.0]))
    for row in found["returns"]["runs"]:
        if (row["task"], row["setting"]) == ("Ant-v4", GAIL):
            row["share"] = 0.13
    curves = [
        {"task": task, "setting": setting, "late_variability": {"learning": [1.0]}}
        for task in ("Hopper-v4", "Ant-v4")
        for setting in (OURS, GAIL)
    ]
    told = claims.answers({**found, "curves": {"variability": curves}})
    of_pair = [one for one in told if one.setting == "our default" and one.claim in claims.PER_PAIR]
    beyond = "better than the demonstrator on Hopper, Walker2d, HalfCheetah"  # whatever GAIL does
    measured = [one for one in of_pair if one.evidence and one.claim != beyond]
    assert {one.claim for one in measured} >= {
        "SPaCIL is smoother than GAIL on all tasks",
        "GAIL's rough policies have more variable training curves",
    }
    assert all(one.evidence.endswith("; GAIL has not learned Ant (13 %)") for one in measured)
    assert all(one.evidence.count("Ant") == 1 for one in measured)


def test_the_gain_is_asked_of_the_task_with_most_dimensions() -> None:
    document = results(share=([1.0], [0.9]))
    gain = evidence.larger_gain_in_high_dimensions
    assert gain(document, OURS, GAIL)[0] == "does not hold"  # the same on both
    for row in document["returns"]["runs"]:
        if (row["task"], row["setting"]) == ("Ant-v4", GAIL):
            row["share"] = 0.5
    answer, words = gain(document, OURS, GAIL)
    gains = "Hopper +10.0 (n 1, 1); Ant +50.0 (n 1, 1)"
    assert (answer, words.split(": ")[1]) == ("holds", gains)


def test_noise_is_judged_on_negative_returns_too() -> None:
    def level(task: str, g: float, j: float) -> dict[str, Any]:
        scaled, drawn = {"G": g, "J": j, "J_fixed": 1.0}, {"mean": 3 * j, "low": 3 * j - 0.15}
        return {"task": task, "noise_std": 0.001, "draws": 10, "scaled": scaled, "J": drawn}

    document = {
        "perturbation": {"levels": [level("Reacher-v4", 1.2, 1.1), level("Ant-v4", 0.99, 0.9)]}
    }
    answer, words = evidence.robust_to_small_noise(document)
    assert (answer, "10 draws" in words) == ("holds on 1 of 2 tasks", True)
    assert evidence.j_scaled(0.001, 1.0)(document, "", "")[0] == "holds on 1 of 2 tasks"
    assert evidence.j_scaled(0.1, 2.0)(document, "", "")[0] == "not measured"
    by_chance = {"perturbation": {"levels": [level("Reacher-v4", 1.0, 1.04)]}}  # from 0.99 on
    assert evidence.j_scaled(0.001, 1.0)(by_chance, "", "")[0] == "does not hold (0 of 1 tasks)"


def summary(group: str, setting: str, g: float, j: float) -> dict[str, Any]:
    numbers = {"G": {"mean": g}, "J": {"mean": j}}
    return {"group": group, "task": "Hopper-v4", "setting": setting, "numbers": numbers}


def test_cost_only_must_be_the_best_and_rougher_than_gail() -> None:
    def ask(best_g: float, j: float) -> str:
        rows = [summary("printed", "(0, 0)", 10, 5), summary("printed", "(0, 1)", 20, j)]
        rows.append(summary("printed", "(0.001, 1)", best_g, 1))
        document = {"lambda-grid": {"summaries": rows}}
        return evidence.cost_only_is_best_and_rough("printed")(document, "", "")[0]

    assert ask(15, 6) == "holds"
    assert ask(30, 6) == "does not hold: highest return at (0.001, 1), rougher than GAIL"
    assert ask(15, 4) == "does not hold: highest return at (0, 1), not rougher than GAIL"


def test_both_are_needed_where_neither_alone_does() -> None:
    rows = [
        summary("ablation-every-20th", "neither", 28, 3.1),
        summary("ablation-every-20th", "policy only", 10, 1),
        summary("ablation-every-20th", "cost only", 30, 3),
        summary("ablation-every-20th", "both", 29, 1.1),
        summary("ablation-whole", "neither", 29, 3),
        summary("ablation-whole", "policy only", 30, 1),
        summary("ablation-whole", "cost only", 30, 3),
        summary("ablation-whole", "both", 29, 1),
        summary("ablation-one-trajectory", "both", 29, 1),
        summary("whole", "both", 0, 9),
    ]
    document = {"recipe": {"summaries": rows}}
    answer, words = evidence.in_ablation(evidence.are_both_needed)(document, "", "")
    assert answer == "holds on 1 of 2 data sets"
    assert "policy only 10 / 1, cost only 30 / 3, both 29 / 1.1" in words
    assert words.startswith("G / J: Hopper every-20th: neither 28 / 3.1, ")
    answer, _ = evidence.in_ablation(evidence.is_cost_only_best_and_rough)(document, "", "")
    assert answer == "holds on 1 of 2 data sets"  # whole; the other is smoother than without


def recorded_run(setting: str, seed: int, g: float, curve: list[float]) -> dict[str, Any]:
    evaluations = [[10 * (i + 1), g_at, 1.0, 0.5, 0.2, None, 0.1] for i, g_at in enumerate(curve)]
    return {
        "task": "Hopper-v4", "data": "whole", "setting": setting, "seed": seed,
        "last": {"average_return": g, "smoothness_j": 0.5}, "evaluations": evaluations,
    }  # fmt: skip


def test_the_recorded_runs_of_the_recipe_answer_for_the_default() -> None:
    runs = [
        recorded_run("default", 0, 3700.0, [100.0, 3600.0, 3700.0, 3700.0]),
        recorded_run("default", 1, 3600.0, [3600.0, 3600.0, 3610.0, 3600.0]),
        recorded_run("gail-like", 0, 3500.0, [100.0, 100.0, 3600.0, 3500.0]),
        {**recorded_run("gail-like", 1, 0.0, []), "data": "every 20th step"},
    ]
    document = {"tier_1": {"runs": runs, "random_returns": {"Hopper-v4": 20.0}}}
    asked = claims.answers({"recipe.json": document})
    found = {one.claim: one for one in asked if one.setting == claims.BESIDE}
    better = found["SPaCIL's return is better than GAIL's on all tasks"]
    assert better.answer == "holds (1 of 1 tasks)"
    assert "Hopper 3650 vs 3500 (n 2, 1)" in better.evidence
    # 95 % of 3690 first at iterations 20, 10 and 30 of 6,000 steps each.
    assert "Hopper 90000 vs 180000 (n 2, 1), P(faster) 1.00" in found["faster learning"].evidence
    steady = found["GAIL's rough policies have more variable training curves"]
    assert steady.evidence.startswith("mean change between points of the evaluation curve")
    assert steady.answer == "holds (1 of 1 tasks)"


def test_recorded_ablations_answer_where_the_experiment_was_not_run() -> None:
    settings = ("default", "neither penalty", "policy penalty only", "cost penalty only")
    returns = (3_600.0, 3_500.0, 3_400.0, 3_700.0)
    default, *others = (recorded_run(s, 0, g, []) for s, g in zip(settings, returns, strict=True))
    document = {
        "tier_1": {"runs": [default], "random_returns": {"Hopper-v4": 20.0}},
        "tier_2": {"runs": others},
    }
    found = {one.claim: one for one in claims.answers({"recipe.json": document})}
    assert found["both penalties are needed"].answer == "does not hold (0 of 1 data sets)"
    best = found["cost smoothing alone has the highest return and is rough (the rule)"]
    assert best.answer == "holds (1 of 1 data sets)"
    assert "cost only 3700 / 0.5" in best.evidence
