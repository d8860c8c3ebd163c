"""Which runs a named experiment asks for."""

from collections import Counter
from pathlib import Path

import pytest

from spacil.errors import ConfigError
from spacil.experiments.named import recipe
from spacil.experiments.named.paper import returns
from spacil.experiments.named.plan import Arm, Scope, Setting, narrowed
from spacil.experiments.named.table import NAMED, named_experiment
from spacil.sweeps.plan import planned_runs

SCARCE = Setting("scarce", "gail", {"demo_every": 20}, from_seed=("demo_offset",))


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("is_quick", [False, True])
def test_every_run_of_every_experiment_is_one_that_train_accepts(
    name: str, is_quick: bool, tmp_path: Path
) -> None:
    stages = named_experiment(name).stages[:1]  # later ones need the runs of the first
    arms = [arm for stage in stages for arm in stage(Scope(is_quick=is_quick), tmp_path)]
    runs = planned_runs(grid for arm in arms for grid in arm.grids())
    assert {run for arm in arms for run in arm.runs()} == set(runs)
    assert bool(runs) == bool(stages)


def test_the_seed_chooses_the_data_where_a_setting_says_so() -> None:
    first, second = Arm(SCARCE, "Hopper-v4", (0, 3)).runs()
    assert first.choices == (("demo_every", 20), ("demo_offset", 0))
    assert second.choices == (("demo_every", 20), ("demo_offset", 3))
    assert second.seed == 3


def test_returns_has_the_seeds_that_each_method_and_task_are_due(tmp_path: Path) -> None:
    arms = returns.arms(Scope(), tmp_path)
    seeds = {(arm.task, arm.label): len(arm.seeds) for arm in arms}
    assert len(arms) == 5 * 6 + 3
    assert seeds["Hopper-v4", "gail"] == seeds["Walker2d-v4", "spacil"] == 5
    assert seeds["Hopper-v4", "gail paper-mean"] == seeds["Ant-v4", "spacil"] == 3
    ant = {arm.label: arm.setting.choices.get("iterations") for arm in arms if arm.task == "Ant-v4"}
    assert (ant["gail"], ant["spacil paper-sum"], ant["spacil"]) == (75, 75, 100)
    assert (ant["gail, longer"], seeds["Ant-v4", "gail, longer"]) == (300, 1)
    assert ("Hopper-v4", "gail, longer") not in seeds


def test_experiments_share_the_runs_they_both_need(tmp_path: Path) -> None:
    of_returns = {run.name for arm in returns.arms(Scope(), tmp_path) for run in arm.runs()}
    whole = recipe.arms(Scope(groups=("whole",)), tmp_path)
    shared = {run.name for arm in whole if arm.label != "gail-like" for run in arm.runs()}
    assert shared <= of_returns


def test_the_ablation_differs_from_the_rule_in_its_two_penalties_only(tmp_path: Path) -> None:
    arms = recipe.arms(Scope(groups=("ablation-every-20th",), tasks=("Hopper-v4",)), tmp_path)
    weights = {}
    for arm in arms:
        config = arm.runs()[0].config()
        weight = config.policy_penalty.first_weight
        weights[arm.label] = (weight, config.cost_penalty.lambda_cost)
        assert config.fidelity.anchor_weight == 0.3
        assert config.warm_start.warm_start_steps == 1_500
    assert weights == {
        "neither": (0.0, 0.0),
        "policy only": (0.1, 0.0),
        "cost only": (0.0, 0.4),
        "both": (0.1, 0.4),
    }


def test_a_scope_narrows_tasks_seeds_and_groups(tmp_path: Path) -> None:
    scope = Scope(tasks=("Hopper-v4",), seeds=(7,), groups=("every-20th",))
    arms = recipe.arms(scope, tmp_path)
    assert Counter(arm.label for arm in arms) == {"spacil": 1, "gail-like": 1, "gail": 1}
    assert [run.seed for arm in arms for run in arm.runs()] == [7, 7, 7]


def test_an_unknown_group_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'whole', 'every-20th'"):
        recipe.arms(Scope(groups=("everything",)), tmp_path)


def test_a_scope_narrows_to_methods_by_the_labels_of_the_table(tmp_path: Path) -> None:
    scope = Scope(tasks=("Hopper-v4",), methods=("gail", "spacil paper-sum"))
    assert [arm.label for arm in returns.arms(scope, tmp_path)] == ["gail", "spacil paper-sum"]
    with pytest.raises(ConfigError, match=r"--methods 'sac': this experiment has 'bc', 'gail'"):
        returns.arms(Scope(methods=("sac",)), tmp_path)


def test_changes_reach_the_runs_that_read_them() -> None:
    arms = [Arm(Setting("bc", "bc"), "Hopper-v4", (0,)), Arm(SCARCE, "Hopper-v4", (0,))]
    bc, gail = narrowed(arms, Scope(changes=(("max_kl", 0.02),)))
    assert "max_kl" not in bc.setting.choices
    assert gail.setting.choices["max_kl"] == 0.02


def test_what_an_experiment_varies_cannot_be_changed() -> None:
    with pytest.raises(ConfigError, match="'scarce' of this experiment sets it"):
        narrowed([Arm(SCARCE, "Hopper-v4", (0,))], Scope(changes=(("demo_every", 5),)))
