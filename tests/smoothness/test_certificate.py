import pytest
import torch

from spacil.nets.mlp import MLP, Activation
from spacil.smoothness.bounds import eclipse_fast_bound, layer_product_bound
from spacil.smoothness.metric import local_lipschitz


def make_net(seed: int, activation: Activation = "tanh", gain: float = 3.0) -> MLP:
    net = MLP([7, 40, 30, 3], activation, generator=torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        for weight, _ in net.weights_and_biases:
            weight.mul_(gain)
    return net.requires_grad_(False)


def weights_of(net: MLP) -> list[torch.Tensor]:
    return [weight for weight, _ in net.weights_and_biases]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_no_local_constant_breaks_the_bound(seed: int, activation: Activation) -> None:
    net = make_net(seed, activation)
    generator = torch.Generator().manual_seed(seed)
    # Near the origin a tanh net is steepest: states of all sizes, small ones among them.
    sizes = torch.logspace(-3, 2, 500, dtype=torch.float64).unsqueeze(-1)
    states = torch.randn(500, 7, generator=generator, dtype=torch.float64) * sizes
    bound = eclipse_fast_bound(weights_of(net))
    assert bool((local_lipschitz(net, states) <= bound).all())
    # and no pair of states either: the bound is global
    others = states[torch.randperm(500, generator=generator)]
    slopes = (net(states) - net(others)).norm(dim=-1) / (states - others).norm(dim=-1)
    assert bool((slopes[torch.isfinite(slopes)] <= bound).all())


@pytest.mark.parametrize("seed", range(5))
def test_the_layer_product_is_never_below(seed: int) -> None:
    weights = weights_of(make_net(seed))
    assert eclipse_fast_bound(weights) < layer_product_bound(weights)


def test_with_one_hidden_unit_both_bounds_are_equal() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(1, 5, generator=generator), torch.randn(4, 1, generator=generator)]
    bound = eclipse_fast_bound(weights)
    assert bound == pytest.approx(layer_product_bound(weights), rel=1e-12)
    assert bound == pytest.approx(float(weights[0].norm() * weights[1].norm()), rel=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 0.1, 30.0])
def test_a_layer_times_a_factor_multiplies_the_bound_by_it(factor: float) -> None:
    first, *others = weights_of(make_net(0))
    bound = eclipse_fast_bound([factor * first, *others])
    assert bound == pytest.approx(factor * eclipse_fast_bound([first, *others]), rel=1e-9)


def test_a_linear_policy_is_certified_exactly() -> None:
    matrix = torch.randn(3, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    norm = float(torch.linalg.svdvals(matrix)[0])
    assert eclipse_fast_bound([matrix]) == pytest.approx(norm, rel=1e-12)
    assert layer_product_bound([matrix]) == pytest.approx(norm, rel=1e-12)


def test_a_layer_of_zeros_is_bounded_by_zero() -> None:
    weights = [torch.zeros(4, 3), torch.ones(2, 4)]
    assert eclipse_fast_bound(weights) == 0
    assert layer_product_bound(weights) == 0
