"""E[sigma_max] as a penalty: hand-worked numbers, and that a step lowers it."""

from types import SimpleNamespace

import pytest
import torch

from spacil.smoothness.linear_penalty import linear


def subject(matrix: torch.Tensor) -> SimpleNamespace:
    return SimpleNamespace(mean_in_stds=lambda states: states @ matrix.T)


def rows(count: int, weights: torch.Tensor | None = None) -> SimpleNamespace:
    return SimpleNamespace(states=torch.zeros(count, 2), weights=weights)


def test_a_linear_policy_has_its_largest_singular_value() -> None:
    matrix = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
    assert float(linear(subject(matrix), rows(5), None)()) == pytest.approx(4.0)


def test_weights_count_states() -> None:
    matrix = torch.tensor([[2.0, 0.0]])
    penalty = linear(subject(matrix), rows(2, torch.tensor([0.5, 2.5])), None)
    assert float(penalty()) == pytest.approx(3.0)


def test_the_gradient_is_that_of_the_largest_singular_value() -> None:
    matrix = torch.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    (slope,) = torch.autograd.grad(linear(subject(matrix), rows(3), None)(), matrix)
    assert torch.allclose(slope, torch.tensor([[0.0, 0.0], [0.0, 1.0]]), atol=1e-6)


def test_a_constant_policy_has_none_and_no_broken_gradient() -> None:
    matrix = torch.zeros(2, 2, requires_grad=True)
    penalty = linear(subject(matrix), rows(3), None)()
    (slope,) = torch.autograd.grad(penalty, matrix)
    assert float(penalty.detach()) < 1e-15
    assert bool(torch.isfinite(slope).all())
