"""The lambda grid and the mixing modes, from run folders with known numbers."""

from pathlib import Path

from generated_arms import gathered_from

from spacil.experiments.named.paper import lambda_grid, mixing
from spacil.experiments.named.plan import Scope


def test_the_grid_holds_the_papers_points_in_both_units(tmp_path: Path) -> None:
    arms = lambda_grid.arms(Scope(), tmp_path)
    printed = {arm.label for arm in arms if arm.group == "printed"}
    assert {"(0, 1)", "(0.001, 1)", "(0.001, 0.001)", "(0, 0)"} <= printed
    (paper_like,) = (a for a in arms if (a.group, a.label) == ("printed", "(0.001, 0.001)"))
    config = paper_like.runs()[0].config()
    assert config.policy_penalty.penalty == ("pgd=0.001",)
    assert config.policy_penalty.policy_penalty_scale == "paper-mean"
    (ours,) = (a for a in arms if (a.group, a.label) == ("lipschitz", "(0.03, 0.01)"))
    config = ours.runs()[0].config()
    assert config.policy_penalty.penalty == ("exact=0.03",)
    assert config.cost_penalty.cost_penalty_scale == "lipschitz"


def test_a_point_stands_beside_the_papers_and_over_its_own_gail(tmp_path: Path) -> None:
    scope = Scope(seeds=(0, 1), groups=("printed",))
    arms = lambda_grid.arms(scope, tmp_path)
    gathered = gathered_from(
        tmp_path, arms, lambda arm, run: (3000.0, 4.0 if arm.label == "(0, 0)" else 1.0), scope
    )
    (table,) = lambda_grid.analyse(gathered).tables
    rows = {row[0]: row for row in table.rows}
    assert rows["(0, 1)"][4] == "0.25"
    assert rows["(0, 1)"][-2:] == ["3715", "68.67"]
    assert rows["(0.1, 1)"][-2:] == ["-", "-"]


def test_mixing_modes_are_compared_with_the_default_one(tmp_path: Path) -> None:
    scope = Scope(seeds=(0,))
    arms = mixing.arms(scope, tmp_path)
    js = {"interpolate": 2.0, "per_batch": 1.0, "bernoulli": 3.0, "none": 2.0}
    gathered = gathered_from(tmp_path, arms, lambda arm, run: (3000.0, js[arm.label]), scope)
    (table,) = mixing.analyse(gathered).tables
    assert [(row[1], row[6]) for row in table.rows] == [
        ("interpolate", "-"), ("per_batch", "0.50"), ("bernoulli", "1.50"), ("none", "1.00"),
    ]  # fmt: skip
    modes = [arm.runs()[0].config().cost_penalty.cost_penalty_mixing for arm in arms]
    assert modes == list(mixing.MODES)
