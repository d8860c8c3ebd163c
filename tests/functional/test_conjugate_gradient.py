import pytest
import torch

from spacil.functional.policy_gradient import conjugate_gradient


@pytest.mark.parametrize("size", [1, 3, 20])
def test_it_equals_a_dense_solve_after_as_many_steps_as_unknowns(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    root = torch.randn(size, size, generator=generator, dtype=torch.float64)
    matrix = root @ root.T + torch.eye(size, dtype=torch.float64)
    b = torch.randn(size, generator=generator, dtype=torch.float64)
    solution = conjugate_gradient(lambda v: matrix @ v, b, num_steps=2 * size)
    assert torch.allclose(solution.x, torch.linalg.solve(matrix, b), atol=1e-9)
    assert torch.allclose(solution.residual_vector, b - matrix @ solution.x, atol=1e-9)
    assert solution.is_positive


def test_a_zero_right_side_stays_at_zero() -> None:
    solution = conjugate_gradient(lambda v: 2 * v, torch.zeros(4), num_steps=10)
    assert solution.x.abs().max() == 0
    assert (solution.num_steps, solution.residual) == (0, 0.0)


def test_once_solved_it_stays_where_it_is() -> None:
    solution = conjugate_gradient(lambda v: 2 * v, torch.tensor([1.0, -3.0]), num_steps=10)
    assert solution.x.tolist() == [0.5, -1.5]
    assert (solution.num_steps, solution.residual, solution.is_positive) == (1, 0.0, True)


def test_negative_curvature_stops_at_the_last_good_point() -> None:
    diagonal = torch.tensor([2.0, -1.0])
    solution = conjugate_gradient(lambda v: diagonal * v, torch.tensor([1.0, 0.9]), num_steps=10)
    assert not solution.is_positive
    assert torch.isfinite(solution.x).all()


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_non_finite_product_leaves_the_solution_finite(poison: float) -> None:
    solution = conjugate_gradient(lambda v: v * poison, torch.ones(3), num_steps=10)
    assert not solution.is_positive
    assert solution.x.abs().max() == 0


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_the_residual_is_relative_to_the_right_side(length: float) -> None:
    # One step on diag(1, 3) from b = (1, 1): x = b / 2, b - A x = (1/2, -1/2).
    diagonal = torch.tensor([1.0, 3.0], dtype=torch.float64)
    b = length * torch.ones(2, dtype=torch.float64)
    solution = conjugate_gradient(lambda v: diagonal * v, b, num_steps=1)
    assert float(solution.residual) == pytest.approx(0.5)
