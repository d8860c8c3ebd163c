"""The paper's tables as data: whole, and one with the numbers that settings rest on."""

import pytest

from spacil import paper
from spacil.comparison.published import (
    PERTURBATIONS,
    REGULARIZATION,
    RETURNS,
    SMOOTHNESS,
    Printed,
    published_return,
    published_smoothness,
)


def test_every_table_has_the_five_tasks() -> None:
    for table in (RETURNS, SMOOTHNESS, PERTURBATIONS):
        assert set(table) == set(paper.TASKS)


@pytest.mark.parametrize("task", paper.TASKS)
def test_the_returns_are_those_of_the_settings_table(task: str) -> None:
    column, printed = paper.TASKS[task], RETURNS[task]
    found = [printed[name].mean for name in ("trpo", "gail", "spacil")]
    assert found == [column.expert_return, column.gail_return, column.spacil_return]


@pytest.mark.parametrize("task", [task for task in paper.TASKS if task != "Reacher-v4"])
def test_an_unperturbed_policy_is_the_published_one(task: str) -> None:
    first = PERTURBATIONS[task][0]
    assert first.noise_std == 0
    assert first.average_return == RETURNS[task]["spacil"]
    assert first.smoothness_j.mean == SMOOTHNESS[task]["spacil"].mean


def test_the_slips_of_the_paper_are_kept_as_printed() -> None:
    assert PERTURBATIONS["Reacher-v4"][0].average_return == RETURNS["Reacher-v4"]["trpo"]
    assert PERTURBATIONS["Walker2d-v4"][0].smoothness_j.std == 0.067
    assert SMOOTHNESS["Walker2d-v4"]["spacil"].std == 0.47


def test_single_numbers_are_those_of_the_text() -> None:
    assert published_return("Hopper-v4", "gail") == Printed(3326.43, 872.42)
    assert published_smoothness("Walker2d-v5", "gail") == Printed(117.31, 6.65)
    levels = {row.noise_std: row for row in PERTURBATIONS["Ant-v4"]}
    assert levels[0.1].smoothness_j == Printed(186.91, 74.77)
    assert levels[0.001].average_return == Printed(4628.54, 893.13)
    assert levels[0.001].smoothness_j == Printed(0.97, 0.04)
    assert [point.smoothness_j for point in REGULARIZATION["Hopper-v4"]] == [9.556, 68.67]


def test_what_the_paper_does_not_have_is_none() -> None:
    assert published_return("Swimmer-v4", "gail") is None
    assert published_smoothness("Hopper-v4", "airl") is None
