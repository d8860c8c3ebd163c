"""The tiers of the recipe, from run folders with known numbers."""

from pathlib import Path

import pytest
from generated_arms import gathered_from

from spacil.experiments.named import recipe
from spacil.experiments.named.plan import Arm, Scope
from spacil.sweeps.plan import PlannedRun

RESULTS = {"spacil": (3600.0, 0.6), "gail-like": (3000.0, 2.0), "gail": (2500.0, 3.0)}
RESULTS |= {"neither": (2000.0, 4.0), "both": (3600.0, 0.6)}
RESULTS |= {"policy only": (2500.0, 1.0), "cost only": (3400.0, 3.0)}


def test_each_tier_is_a_table_with_ratios_to_its_own_baseline(tmp_path: Path) -> None:
    scope = Scope(tasks=("Hopper-v4",), seeds=(0, 1), groups=("every-20th", "ablation-every-20th"))

    def results(arm: Arm, run: PlannedRun) -> tuple[float, float]:
        g, j = RESULTS[arm.label]
        return g, j + 0.1 * run.seed

    outcome = recipe.analyse(gathered_from(tmp_path, recipe.arms(scope, tmp_path), results, scope))
    tier, ablation = outcome.tables
    assert [row[1] for row in tier.rows] == ["spacil", "gail-like", "gail"]
    assert [row[1] for row in ablation.rows] == ["neither", "policy only", "cost only", "both"]
    summaries = {(row["group"], row["setting"]): row for row in outcome.numbers["summaries"]}
    ours = summaries["every-20th", "spacil"]
    assert ours["J_ratio"]["value"] == pytest.approx(0.65 / 2.05)
    # The four resamples of each side: the lowest is 0.6 / 2.1, the highest 0.7 / 2.
    interval = (ours["J_ratio"]["low"], ours["J_ratio"]["high"])
    assert interval[0] < 0.6 / 2.1 < 0.7 / 2.0 < interval[1]
    assert summaries["ablation-every-20th", "both"]["J_ratio"]["value"] == pytest.approx(
        0.65 / 4.05
    )
    assert (ours["which"], ours["numbers"]["G"]["mean"]) == ("last", 3500.0)
    assert ours["other"]["G"]["mean"] == 3600.0
    assert [panel.title for panel in outcome.panels] == [
        "Hopper-v4, every-20th",
        "Hopper-v4, ablation-every-20th",
    ]
    # The rule on scarce Hopper is one run for the tier and for the ablation.
    assert len(outcome.records) == 2 * (3 + 3)
