"""Fronts as numbers, worked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacil.experiments.named.front.numbers import Point, hypervolume, not_dominated, smoothest_at

NUMBERS = st.floats(0, 1, allow_nan=False)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)


def test_a_perfect_policy_dominates_everything_and_gail_nothing() -> None:
    assert hypervolume([(0.0, 1.0)]) == 1.0
    assert hypervolume([(1.0, 1.0)]) == 0.0
    assert hypervolume([]) == 0.0


def test_the_area_is_a_sum_of_steps() -> None:
    # From 0.2 to 0.5 at 0.6, from 0.5 to 1 at 0.9; the third point is dominated.
    points = [(0.5, 0.9), (0.2, 0.6), (0.6, 0.8)]
    assert hypervolume(points) == pytest.approx(0.3 * 0.6 + 0.5 * 0.9)
    assert not_dominated(points) == [(0.2, 0.6), (0.5, 0.9)]


def test_points_beyond_the_worst_one_add_nothing() -> None:
    assert hypervolume([(0.5, 0.5), (1.2, 2.0), (0.1, -0.3)]) == 0.25


def test_of_equal_roughness_the_better_return_counts() -> None:
    assert not_dominated([(0.5, 0.2), (0.5, 0.7), (0.5, 0.7)]) == [(0.5, 0.7)]


@given(POINTS, st.tuples(NUMBERS, NUMBERS))
def test_one_more_point_never_makes_the_area_smaller(points: list[Point], more: Point) -> None:
    area, larger = hypervolume(points), hypervolume([*points, more])
    assert area - 1e-12 <= larger <= 1 + 1e-12


@given(POINTS)
def test_the_area_is_that_of_the_points_not_dominated(points: list[Point]) -> None:
    assert hypervolume(not_dominated(points)) == pytest.approx(hypervolume(points), abs=1e-12)


def test_the_smoothest_point_is_one_that_still_does_the_task() -> None:
    points = [(1.0, 1.0), (0.4, 0.98), (0.3, 0.97), (0.1, 0.5)]
    assert smoothest_at(points) == 2
    assert smoothest_at(points, 0.99) == 0
    assert smoothest_at(points, 1.01) is None
    assert smoothest_at([]) is None
