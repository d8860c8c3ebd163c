"""J from below, by the paper's ascent, and from above, against the exact constant."""

import pytest
import torch
from torch import Tensor

from spacil.functional.sensitivity import random_offset
from spacil.nets.mlp import MLP, Activation
from spacil.smoothness.bounds import ascend_in_ball, eclipse_fast_bound, layer_product_bound
from spacil.smoothness.metric import local_lipschitz

RADIUS = 0.01


def make_net(gain: float = 1.0) -> MLP:
    net = MLP([11, 60, 40, 3], generator=torch.Generator().manual_seed(0)).double()
    with torch.no_grad():
        net.weights_and_biases[-1][0].mul_(gain)
    return net.requires_grad_(False)


def make_states(num: int = 200) -> Tensor:
    return torch.randn(num, 11, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def start_for(states: Tensor, start: str = "sphere") -> Tensor:
    return random_offset(states, RADIUS, start, torch.Generator().manual_seed(2))  # type: ignore[arg-type]


def net_with_norm(sigma: float) -> tuple[MLP, Tensor]:
    """A net whose mean local constant is `sigma`."""
    net, states = make_net(), make_states()
    return make_net(sigma / float(local_lipschitz(net, states).mean())), states


def test_power_ascent_with_20_steps_reaches_99_percent_of_exact_and_no_more() -> None:
    net, states = net_with_norm(2.0)
    exact = local_lipschitz(net, states)
    power = ascend_in_ball(net, states, start_for(states), RADIUS, 20, "power").ratio
    assert power.mean() >= 0.99 * exact.mean()
    assert bool((power <= exact * (1 + RADIUS)).all())


def test_the_papers_step_under_measures_a_smooth_policy() -> None:
    net, states = net_with_norm(0.5)
    exact = local_lipschitz(net, states).mean()
    raw = ascend_in_ball(net, states, start_for(states, "gauss"), RADIUS, 20, "raw")
    assert raw.ratio.mean() < 0.7 * exact
    # It never leaves the neighbourhood of its start, so dividing by the radius would be worse yet.
    assert raw.offset_length.max() < 0.1 * RADIUS


def test_ratios_are_divided_by_the_length_the_offset_has() -> None:
    matrix = torch.tensor([[3.0, 0.0], [0.0, 4.0]], dtype=torch.float64)
    states = torch.zeros(1, 2, dtype=torch.float64)
    start = torch.tensor([[0.001, 0.0]], dtype=torch.float64)
    found = ascend_in_ball(lambda s: s @ matrix.T, states, start, RADIUS, 1, "raw", 1e-9)
    assert float(found.offset_length) == pytest.approx(0.001, rel=1e-6)
    assert float(found.ratio) == pytest.approx(3.0)
    assert float(found.divergence) == pytest.approx(0.5 * 0.003**2, rel=1e-6)


def test_no_offset_has_the_ratio_0_and_not_nan() -> None:
    states = torch.zeros(2, 3)
    found = ascend_in_ball(lambda s: s, states, torch.zeros_like(states), RADIUS, 1, "power")
    assert found.ratio.tolist() == found.offset_length.tolist() == [0, 0]


def test_a_raw_step_is_the_papers_fiftieth_of_the_gradient() -> None:
    # |M o|^2 has the gradient 2 M^T M o, here 18 o: a step adds 0.02 * 18 of the start.
    matrix = torch.diag(torch.tensor([3.0, 4.0], dtype=torch.float64))
    start = torch.tensor([[0.001, 0.0]], dtype=torch.float64)
    found = ascend_in_ball(lambda s: s @ matrix, torch.zeros_like(start), start, RADIUS, 1, "raw")
    assert float(found.offset_length) == pytest.approx(0.001 * 1.36)


@pytest.mark.parametrize("num_steps", [1, 5, 10])
def test_no_rule_exceeds_the_exact_constant_by_more_than_curvature(num_steps: int) -> None:
    net, states = net_with_norm(2.0)
    exact = local_lipschitz(net, states)
    for rule in ("raw", "normalized", "power"):
        found = ascend_in_ball(net, states, start_for(states), RADIUS, num_steps, rule)  # type: ignore[arg-type]
        assert bool((found.ratio <= exact * (1 + RADIUS)).all())
        assert bool((found.offset_length <= RADIUS * (1 + 1e-12)).all())


def test_the_largest_jeffreys_divergence_tends_to_half_epsilon_squared_sigma_squared() -> None:
    net, states = net_with_norm(2.0)
    sigma = local_lipschitz(net, states)
    errors = []
    for radius in (1e-2, 1e-3):
        start = random_offset(states, radius, "sphere", torch.Generator().manual_seed(2))
        found = ascend_in_ball(net, states, start, radius, 200, "power").divergence
        limit = radius**2 / 2 * sigma**2
        errors.append(float((found / limit - 1).abs().max()))
    assert errors[0] < 0.02 and errors[1] < 0.002


def make_steep(seed: int, activation: Activation = "tanh") -> MLP:
    net = MLP([7, 40, 30, 3], activation, generator=torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        for weight, _ in net.weights_and_biases:
            weight.mul_(3.0)
    return net.requires_grad_(False)


def weights_of(net: MLP) -> list[torch.Tensor]:
    return [weight for weight, _ in net.weights_and_biases]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_no_local_constant_breaks_the_bound(seed: int, activation: Activation) -> None:
    net = make_steep(seed, activation)
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
    weights = weights_of(make_steep(seed))
    assert eclipse_fast_bound(weights) < layer_product_bound(weights)


def test_with_one_hidden_unit_both_bounds_are_equal() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(1, 5, generator=generator), torch.randn(4, 1, generator=generator)]
    bound = eclipse_fast_bound(weights)
    assert bound == pytest.approx(layer_product_bound(weights), rel=1e-12)
    assert bound == pytest.approx(float(weights[0].norm() * weights[1].norm()), rel=1e-6)


@pytest.mark.parametrize("factor", [1e-3, 0.1, 30.0])
def test_a_layer_times_a_factor_multiplies_the_bound_by_it(factor: float) -> None:
    first, *others = weights_of(make_steep(0))
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
