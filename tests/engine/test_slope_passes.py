"""Slopes of a tanh MLP and their gradient, beside autograd's."""

import torch

from spacil.engine.mlp_passes import forward_trace
from spacil.engine.slope_passes import add_slope_gradient, input_jacobian
from spacil.nets.mlp import MLP


def case() -> tuple[MLP, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    net = MLP([4, 7, 5, 3], generator=generator).double()
    with torch.no_grad():
        net.layers[-1].weight.mul_(20)
    return net, torch.randn(6, 4, generator=generator, dtype=torch.float64)


def test_the_input_jacobian_is_that_of_autograd() -> None:
    net, points = case()
    with torch.no_grad():
        found = input_jacobian(net.tanh_layers, forward_trace(net.tanh_layers, points))
    rows = [torch.autograd.functional.jacobian(net, point) for point in points]
    torch.testing.assert_close(found, torch.stack(rows))


def test_the_gradient_of_the_largest_slopes_is_that_of_autograd() -> None:
    net, points = case()
    jacobians = torch.stack(
        [torch.autograd.functional.jacobian(net, point, create_graph=True) for point in points]
    )
    largest = torch.linalg.matrix_norm(jacobians, ord=2)
    parameters = list(net.parameters())
    expected = torch.autograd.grad(largest.sum(), parameters, materialize_grads=True)

    left, _, right = torch.linalg.svd(jacobians.detach())
    found = [torch.zeros_like(parameter) for parameter in parameters]
    with torch.no_grad():
        trace = forward_trace(net.tanh_layers, points)
        pairs = list(zip(found[::2], found[1::2], strict=True))
        add_slope_gradient(net.tanh_layers, trace, left[:, :, 0], right[:, 0], pairs)
    for by_hand, by_graph in zip(found, expected, strict=True):
        torch.testing.assert_close(by_hand, by_graph)
