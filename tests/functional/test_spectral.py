import pytest
import torch

from spacil.functional.sensitivity import batch_jacobian, top_left_vector, top_singular
from spacil.nets.mlp import MLP


@pytest.mark.parametrize("num_actions", [1, 3, 8])
def test_exact_equals_svdvals_of_the_dense_jacobian_to_1e9(num_actions: int) -> None:
    generator = torch.Generator().manual_seed(num_actions)
    net = MLP([6, 20, 10, num_actions], generator=generator).double()
    states = torch.randn(9, 6, generator=generator, dtype=torch.float64)
    jacobian = batch_jacobian(net, states)
    top = top_singular(jacobian)
    for i in range(9):
        dense = torch.autograd.functional.jacobian(lambda s: net(s[None])[0], states[i])
        assert torch.allclose(jacobian[i], dense, atol=1e-12)
        assert abs(float(torch.linalg.svdvals(dense)[0] - top[i])) < 1e-9


def test_a_constant_function_has_a_zero_jacobian() -> None:
    jacobian = batch_jacobian(lambda s: torch.ones(len(s), 2), torch.randn(3, 4))
    assert jacobian.shape == (3, 2, 4)
    assert top_singular(jacobian).abs().max() == 0


@pytest.mark.parametrize("num_outputs", [1, 3, 8])
def test_the_top_left_vector_reaches_the_largest_singular_value(num_outputs: int) -> None:
    generator = torch.Generator().manual_seed(num_outputs)
    jacobians = torch.randn(500, num_outputs, 11, generator=generator)
    left = top_left_vector(jacobians)
    reached = torch.linalg.vector_norm((left.unsqueeze(1) @ jacobians).squeeze(1), dim=-1)
    assert torch.allclose(left.norm(dim=-1), torch.ones(500), atol=1e-5)
    assert torch.allclose(reached, top_singular(jacobians), rtol=1e-5)


def test_equal_singular_values_and_none_at_all_have_a_top_left_vector_too() -> None:
    jacobians = torch.stack([torch.eye(3), torch.zeros(3, 3), 1e-12 * torch.eye(3)])
    left = top_left_vector(jacobians)
    assert torch.allclose(left.norm(dim=-1), torch.tensor([1.0, 0.0, 1.0]))
