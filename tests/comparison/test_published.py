"""The paper's tables as data, and one with the numbers that its own pages show."""

import pytest

from published import NOISE, PERTURBATIONS
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
    returns, smoothness = PERTURBATIONS[task]
    assert NOISE[0] == 0
    if task == "Reacher-v4":  # a slip, kept as printed
        assert Printed(*returns[0]) == RETURNS[task]["trpo"]
    else:  # an unperturbed policy is the published one
        assert Printed(*returns[0]) == RETURNS[task]["spacil"]
        assert smoothness[0][0] == SMOOTHNESS[task]["spacil"].mean


def test_a_task_of_either_version_has_the_numbers_of_the_papers() -> None:
    assert published_return("Hopper-v4", "gail") == Printed(3326.43, 872.42)
    assert published_smoothness("Walker2d-v5", "gail") == Printed(117.31, 6.65)
    assert published_return("Swimmer-v4", "gail") is None
    assert published_smoothness("Hopper-v4", "airl") is None
