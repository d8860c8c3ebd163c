"""docs/theory.md in numbers: slopes stay under their bounds, and counter-examples do their work."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pictures import assert_drawn
from torch import Tensor

from spacil.smoothness.cost import exact_cost_penalty, path_of
from theory import (
    COST_LIPSCHITZ,
    GAMMA,
    NUM_SWEEPS,
    TEMPERATURES,
    TRANSITION_LIPSCHITZ,
    gibbs_means,
    greedy_slope,
    measure,
    minimizers,
    solve,
    steepest,
)
from theory_figure import BOUND_COLOUR, MEASURED_COLOUR, main

ROUNDING = 1 + 1e-9
PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


@pytest.fixture(scope="module")
def panels() -> dict[str, list[Any]]:
    return measure()


def test_no_measured_slope_exceeds_its_bound(panels: dict[str, list[Any]]) -> None:
    bounded = [slope for name in ("value", "greedy", "gibbs") for slope in panels[name]]
    assert len(bounded) == 12
    for slope in bounded:
        assert slope.slope <= slope.bound * ROUNDING


def test_the_slopes_are_those_of_the_page(panels: dict[str, list[Any]]) -> None:
    slopes = {name: [slope.slope for slope in rows] for name, rows in panels.items()}
    assert slopes["value"] == pytest.approx([1.220, 1.818, 2.810, 4.310], abs=1e-3)
    assert slopes["steep_value"] == pytest.approx([298, 463, 703, 1032], abs=1)
    assert slopes["greedy"] == pytest.approx([2, 1, 0.5, 0.25], rel=1e-9)
    assert slopes["gibbs"] == pytest.approx([1 / (3 * tau) for tau in TEMPERATURES], rel=1e-3)
    printed = PAGE.read_text()
    for value in ("1.220", "1.818", "2.810", "4.310", "298", "463", "703", "1032", "3.333"):
        assert f"| {value} |" in printed


def test_the_bound_on_the_value_is_sharp_where_it_is_small(panels: dict[str, list[Any]]) -> None:
    for slope in panels["value"][:2]:
        assert slope.slope == pytest.approx(slope.bound, rel=1e-6)


@pytest.mark.parametrize("transition_lipschitz", TRANSITION_LIPSCHITZ)
def test_the_action_value_obeys_the_bound_in_states_and_in_actions(
    transition_lipschitz: float,
) -> None:
    solved = solve(transition_lipschitz, num_states=201, num_actions=51)
    bound = COST_LIPSCHITZ / (1 - GAMMA * transition_lipschitz)
    assert steepest(solved.action_value, solved.states) <= bound * ROUNDING
    assert steepest(solved.action_value.T, solved.actions) <= bound * ROUNDING
    # Theorem 2 (a): neighbouring rows differ by no more than the bound, in the supremum over a.
    gaps = np.abs(np.diff(solved.action_value, axis=0)).max(axis=1)
    assert (gaps <= bound * np.diff(solved.states) * ROUNDING).all()


def test_value_iteration_has_converged() -> None:
    solved = solve(0.8, num_states=201, num_actions=51)
    longer = solve(0.8, num_states=201, num_actions=51, num_sweeps=2 * NUM_SWEEPS)
    assert np.abs(longer.value - solved.value).max() < 1e-8


def test_a_lipschitz_q_may_have_a_greedy_action_that_jumps() -> None:
    for num_states in (100, 1_000):  # even numbers leave out s = 0, where all actions are equal
        states = np.linspace(-1, 1, num_states)
        greedy = minimizers(lambda a, states=states: states + 0 * a)
        assert greedy[states < 0] == pytest.approx(1)
        assert greedy[states > 0] == pytest.approx(-1)
        assert steepest(greedy, states) == pytest.approx(num_states - 1)


def test_equal_minima_do_not_make_equal_functions() -> None:
    states, actions = np.linspace(-1, 1, 201), np.linspace(-1, 1, 201)
    action_value = (actions - states[:, None]) ** 2
    assert np.abs(action_value.min(axis=1)).max() < 1e-12
    assert np.abs(action_value[0] - action_value[-1]).max() == pytest.approx(4)


def test_the_cost_penalty_as_printed_does_not_see_how_steep_a_cost_is_in_the_state() -> None:
    states = torch.linspace(-1, 1, 9)[:, None]
    for steepness in (1.0, 100.0):

        def cost(s: Tensor, a: Tensor, k: float = steepness) -> Tensor:
            return k * s[:, 0] + 0 * a[:, 0]

        response, both = (
            exact_cost_penalty(cost, path_of(form, torch.sin, states, states), states)
            for form in ("response", "both")
        )
        assert float(response) == 0.0
        assert float(both) == pytest.approx(steepness)


def test_strong_convexity_alone_gives_no_more_than_a_square_root() -> None:
    """Q = a^2/2 + 2 max(0, s - a sqrt(s)) on [0, 1]^2: 2-Lipschitz in s, minimiser sqrt(s)."""
    states, actions = np.linspace(0, 1, 2_001), np.linspace(0, 1, 2_001)
    s = states[:, None]
    action_value = actions**2 / 2 + 2 * np.maximum(0, s - actions * np.sqrt(s))
    assert steepest(action_value, states) <= 2 * ROUNDING
    greedy = actions[action_value.argmin(axis=1)]
    assert greedy == pytest.approx(np.sqrt(states), abs=1e-3)
    # The Hölder bound sqrt(2 L_Q |ds| / m) with L_Q = 2 and m = 1, from s = 0 on.
    assert (greedy <= np.sqrt(2 * 2 * states / 1) + 1e-3).all()


def test_a_curved_strongly_convex_q_stays_under_the_greedy_bound() -> None:
    states = np.linspace(-1, 1, 401)
    greedy = minimizers(lambda a: states + 2 * a + a**3)
    assert steepest(greedy, states) <= 1 / 2 * ROUNDING
    assert greedy_slope(2.0).slope == pytest.approx(0.5)


def test_a_gibbs_mean_stays_under_its_bound_where_q_is_rough() -> None:
    states = np.linspace(-1, 1, 401)
    for tau in TEMPERATURES:
        mean = gibbs_means(lambda s, a: np.abs(s - a) + 0.1 * np.sin(20 * a), states, tau)
        assert steepest(mean, states) <= 1 / tau  # |Q| has slope 1 in s


def test_the_script_prints_the_numbers_and_draws_the_figure(
    tmp_path: Path, panels: dict[str, list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    figure, numbers = tmp_path / "theory.png", tmp_path / "theory.json"
    main(figure, numbers)
    found = json.loads(numbers.read_text())["panels"]["value"]
    assert [row["slope"] for row in found] == [slope.slope for slope in panels["value"]]
    assert_drawn(figure, (MEASURED_COLOUR, BOUND_COLOUR))
    assert "slope of" in capsys.readouterr().out
