import pytest
import torch

from spacil.functional.sensitivity import batch_jacobian, difference_jacobian, differentiable
from spacil.nets.mlp import MLP


def make_net() -> MLP:
    return MLP([4, 16, 3], generator=torch.Generator().manual_seed(0)).double()


def make_states(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(7, 4, generator=torch.Generator().manual_seed(1), dtype=dtype)


def test_central_differences_agree_with_automatic_ones() -> None:
    net, states = make_net(), make_states()
    by_differences = difference_jacobian(net, states, torch.full((4,), 1e-5))
    assert torch.allclose(by_differences, batch_jacobian(net, states), atol=1e-9)


def test_a_linear_function_is_exact_also_in_float32() -> None:
    matrix = torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    states = make_states(torch.float32) * 100  # where s + h rounds to something else than asked
    jacobian = difference_jacobian(lambda s: s @ matrix.T, states, torch.full((4,), 5e-3))
    assert torch.allclose(jacobian[:, 0], matrix.expand(7, 4), rtol=0.05)


def test_a_function_without_gradients_gets_them() -> None:
    net, states = make_net(), make_states()

    def opaque(points: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return net(points)

    function = differentiable(opaque, torch.full((4,), 1e-5))
    assert torch.equal(function(states), net(states))
    assert torch.allclose(batch_jacobian(function, states), batch_jacobian(net, states), atol=1e-9)


def test_one_jacobian_serves_all_of_its_rows() -> None:
    calls = 0

    def counted(points: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return points @ torch.ones(4, 3, dtype=points.dtype)

    batch_jacobian(differentiable(counted, torch.full((4,), 1e-3)), make_states())
    assert calls == 1 + 2 * 4  # forward, and two per state dim, whatever the number of actions


def test_there_is_no_second_derivative() -> None:
    function = differentiable(make_net(), torch.full((4,), 1e-5))
    states = make_states().requires_grad_()
    (first,) = torch.autograd.grad(function(states).sum(), states, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(first.sum(), states)
