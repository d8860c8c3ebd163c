import torch
from torch.func import functional_call, vjp

from spacil.functional.mlp_passes import forward_trace, parameter_cotangent, parameter_tangent
from spacil.nets.mlp import MLP


def _setup() -> tuple[MLP, torch.Tensor, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    net = MLP([5, 8, 7, 2], generator=generator).double()
    x = torch.randn(11, 5, generator=generator, dtype=torch.float64)
    parameters = dict(net.named_parameters())
    direction = {
        name: torch.randn(p.shape, generator=generator, dtype=torch.float64)
        for name, p in parameters.items()
    }
    return net, x, parameters, direction


def _pairs(named: dict[str, torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    count = len(named) // 2
    return [(named[f"layers.{i}.weight"], named[f"layers.{i}.bias"]) for i in range(count)]


def test_the_trace_ends_in_the_networks_output() -> None:
    net, x, _, _ = _setup()
    layers = [(w.detach(), b.detach()) for w, b in net.weights_and_biases]
    assert torch.allclose(forward_trace(layers, x).output, net(x), atol=1e-14)


def test_tangent_and_cotangent_equal_autodiff() -> None:
    net, x, parameters, direction = _setup()

    def output(named: dict[str, torch.Tensor]) -> torch.Tensor:
        return functional_call(net, named, (x,))

    layers = [(w.detach(), b.detach()) for w, b in net.weights_and_biases]
    trace = forward_trace(layers, x)
    # J v by central differences along v: tanh is smooth, so the error is O(step^2).
    step = 1e-5
    ahead = output({name: p + step * direction[name] for name, p in parameters.items()})
    behind = output({name: p - step * direction[name] for name, p in parameters.items()})
    expected = (ahead - behind) / (2 * step)
    assert torch.allclose(parameter_tangent(layers, trace, _pairs(direction)), expected, atol=1e-8)
    value, pullback = vjp(output, parameters)
    cotangent = torch.linspace(-1, 1, value.numel(), dtype=torch.float64).view_as(value)
    (gradient,) = pullback(cotangent)
    ours = parameter_cotangent(layers, trace, cotangent.clone())
    for (weight, bias), (expected_weight, expected_bias) in zip(
        ours, _pairs(gradient), strict=True
    ):
        assert torch.allclose(weight, expected_weight, atol=1e-12)
        assert torch.allclose(bias, expected_bias, atol=1e-12)
