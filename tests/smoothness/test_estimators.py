"""The paper's ascent against the exact constant."""

import pytest
import torch
from torch import Tensor

from spacil.functional.sensitivity import random_offset
from spacil.nets.mlp import MLP
from spacil.smoothness.bounds import ascend_in_ball
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


# --- the equivalences ---------------------------------------------------------------------------


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
