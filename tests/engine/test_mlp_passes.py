import pytest
import torch
from torch.func import functional_call, vjp

from spacil.engine import mlp_passes
from spacil.engine.mlp_passes import ParameterJacobian, forward
from spacil.functional.policy_gradient import flatten
from spacil.nets.mlp import MLP

ROWS = 11


def _setup() -> tuple[MLP, torch.Tensor, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    net = MLP([5, 8, 7, 6, 2], generator=generator).double()
    x = torch.randn(ROWS, 5, generator=generator, dtype=torch.float64)
    parameters = dict(net.named_parameters())
    direction = {
        name: torch.randn(p.shape, generator=generator, dtype=torch.float64)
        for name, p in parameters.items()
    }
    return net, x, parameters, direction


def test_the_forward_pass_ends_in_the_networks_output() -> None:
    net, x, _, _ = _setup()
    assert torch.allclose(forward(net.weights_and_biases, x), net(x), atol=1e-14)
    jacobian = ParameterJacobian(net.weights_and_biases, x, keeps_sensitivities=False)
    assert torch.allclose(jacobian.outputs, net(x), atol=1e-14)


@pytest.mark.parametrize("keeps_sensitivities", [True, False])
@pytest.mark.parametrize("rows_per_block", [4, ROWS])
def test_the_products_equal_autodiff(
    keeps_sensitivities: bool, rows_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlp_passes, "ROWS_PER_BLOCK", rows_per_block)
    net, x, parameters, direction = _setup()

    def output(named: dict[str, torch.Tensor]) -> torch.Tensor:
        return functional_call(net, named, (x,))

    layers = net.weights_and_biases
    jacobian = ParameterJacobian(layers, x, keeps_sensitivities=keeps_sensitivities)
    value, pullback = vjp(output, parameters)
    cotangent = torch.linspace(-1, 1, value.numel(), dtype=torch.float64).view_as(value)
    pulled = flatten(pullback(cotangent)[0].values())
    assert torch.allclose(jacobian.pull_back(cotangent), pulled, atol=1e-12)
    # J v by central differences along v: tanh is smooth, so the error is O(step^2).
    step = 1e-5
    ahead = output({name: p + step * direction[name] for name, p in parameters.items()})
    behind = output({name: p - step * direction[name] for name, p in parameters.items()})
    weights = torch.tensor([2.0, 3.0], dtype=torch.float64)
    expected = flatten(pullback(weights * (ahead - behind) / (2 * step))[0].values())
    product = jacobian.gauss_newton(flatten(direction.values()), weights)
    assert torch.allclose(product, expected, atol=1e-7)
