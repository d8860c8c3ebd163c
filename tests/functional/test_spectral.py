import pytest
import torch

from spacil.functional.spectral import batch_jacobian, top_singular
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
        assert abs(float(torch.linalg.svdvals(dense)[0] - top.sigma[i])) < 1e-9
        assert abs(float((top.left[i] @ dense).norm() - top.sigma[i])) < 1e-9


def test_a_constant_function_has_a_zero_jacobian() -> None:
    jacobian = batch_jacobian(lambda s: torch.ones(len(s), 2), torch.randn(3, 4))
    assert jacobian.shape == (3, 2, 4)
    assert top_singular(jacobian).sigma.abs().max() == 0
