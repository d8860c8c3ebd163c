"""The paper's tables as data: whole, and one with the numbers that settings rest on."""

import pytest

from published import NOISE, PERTURBATIONS, REGULARIZATION
from spacil import paper
from spacil.comparison.published import (
    RETURNS,
    SMOOTHNESS,
    Printed,
    published_return,
    published_smoothness,
)


@pytest.mark.parametrize("task", paper.TASKS)
def test_the_tables_agree_with_each_other_where_the_paper_does(task: str) -> None:
    column, printed = paper.TASKS[task], RETURNS[task]
    found = [printed[name].mean for name in ("trpo", "gail", "spacil")]
    assert found == [column.expert_return, column.gail_return, column.spacil_return]
    returns, smoothness = PERTURBATIONS[task]
    assert NOISE[0] == 0
    if task == "Reacher-v4":  # a slip, kept as printed
        assert Printed(*returns[0]) == printed["trpo"]
    else:  # an unperturbed policy is the published one
        assert Printed(*returns[0]) == printed["spacil"]
        assert smoothness[0][0] == SMOOTHNESS[task]["spacil"].mean


def test_single_numbers_are_those_of_the_text_slips_included() -> None:
    assert published_return("Hopper-v4", "gail") == Printed(3326.43, 872.42)
    assert published_smoothness("Walker2d-v5", "gail") == Printed(117.31, 6.65)
    returns, smoothness = PERTURBATIONS["Ant-v4"]
    assert smoothness[NOISE.index(0.1)] == (186.91, 74.77)
    assert returns[NOISE.index(0.001)] == (4628.54, 893.13)
    assert smoothness[NOISE.index(0.001)] == (0.97, 0.04)
    assert [j for _, j in REGULARIZATION["Hopper-v4"].values()] == [9.556, 68.67]
    assert PERTURBATIONS["Walker2d-v4"][1][0] == (35.61, 0.067)
    assert SMOOTHNESS["Walker2d-v4"]["spacil"].std == 0.47
    assert published_return("Swimmer-v4", "gail") is None
    assert published_smoothness("Hopper-v4", "airl") is None
