"""The search on a one-dimensional model: KL = curvature * fraction^2, loss given by a function."""

import math
from collections.abc import Callable

from spacil.functional.policy_gradient import SearchResult, search


def _search(
    kl_of: Callable[[float], float], loss_of: Callable[[float], float], tries: int = 15
) -> tuple[SearchResult, list[float]]:
    visited: list[float] = []

    def move(fraction: float) -> float:
        visited.append(fraction)
        return kl_of(fraction)

    result = search(move, lambda: loss_of(visited[-1]), 0.0, 0.01, tries, 0.9)
    return result, visited


def test_a_step_on_the_bound_is_taken_at_once() -> None:
    result, visited = _search(lambda f: 0.0099 * f * f, lambda f: -f)
    assert result.is_accepted and visited == [1.0]


def test_a_step_outside_lands_just_inside_the_bound() -> None:
    result, visited = _search(lambda f: 0.04 * f * f, lambda f: -f)
    assert result.is_accepted and len(visited) == 2
    assert 0.97 * 0.01 < result.kl <= 0.01


def test_a_short_step_is_stretched_onto_the_bound() -> None:
    result, _ = _search(lambda f: 0.002 * f * f, lambda f: -f)
    assert result.is_accepted
    assert 0.97 * 0.01 < result.kl <= 0.01


def test_the_accepted_fraction_is_the_last_one_moved_to() -> None:
    result, visited = _search(lambda f: 0.0099 * f * f, lambda f: f - 0.7)
    assert result.is_accepted and result.fraction == visited[-1] < 0.7


def test_no_improvement_is_rejected_with_its_reason() -> None:
    result, visited = _search(lambda f: 0.0099 * f * f, lambda f: 1.0)
    assert not result.is_accepted and result.reason == "no improvement"
    assert len(visited) == 15 and result.fraction == 0


def test_a_kl_that_never_fits_is_rejected_with_its_reason() -> None:
    result, _ = _search(lambda f: 1.0, lambda f: -1.0, tries=5)
    assert not result.is_accepted and result.reason == "kl"


def test_nan_is_never_accepted() -> None:
    for kl, loss in ((math.nan, -1.0), (0.0095, math.nan)):
        result, _ = _search(lambda f, kl=kl: kl, lambda f, loss=loss: loss)  # type: ignore[misc]
        assert not result.is_accepted and result.reason == "nan"


def test_an_equal_loss_is_no_improvement() -> None:
    result, _ = _search(lambda f: 0.0, lambda f: 0.0)
    assert not result.is_accepted
