"""The paper's ascent against the exact constant, and the equivalences between penalties."""

import pytest
import torch
from torch import Tensor

from spacil.functional.policy_gradient import jeffreys_divergence, log_prob
from spacil.functional.sensitivity import batch_jacobian, random_offset
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


def test_starts_keep_to_live_dims_without_getting_shorter() -> None:
    states = make_states(50)
    live = torch.tensor([1.0, 0.0] * 5 + [2.0], dtype=torch.float64)
    generator = torch.Generator().manual_seed(3)
    start = random_offset(states, RADIUS, "sphere", generator, live != 0)
    assert start[:, live == 0].abs().max() == 0
    assert torch.allclose(start.norm(dim=-1), torch.full((50,), RADIUS, dtype=torch.float64))


# --- the equivalences ---------------------------------------------------------------------------


def test_lcp_is_the_frobenius_norm_of_the_scaled_jacobian() -> None:
    """E_a |grad_s log pi(a | s)|^2 = |Sigma^{-1/2} J|_F^2.

    Exactly: the squared gradient is quadratic in the noise, so its mean over the 2 A points
    +-sqrt(A) e_k, which have mean 0 and covariance I, is its mean over the Gaussian.
    """
    net, states = net_with_norm(2.0)
    log_std = torch.tensor([-0.5, 0.2, 0.7], dtype=torch.float64)
    jacobian = batch_jacobian(net, states)
    expected = (jacobian / log_std.exp().unsqueeze(-1)).square().sum((-1, -2))
    points = torch.cat([torch.eye(3), -torch.eye(3)]).double() * 3**0.5
    total = torch.zeros(len(states), dtype=torch.float64)
    for noise in points:
        moving = states.clone().requires_grad_()
        actions = net(states) + log_std.exp() * noise
        (score,) = torch.autograd.grad(log_prob(actions, net(moving), log_std).sum(), moving)
        total += score.square().sum(-1)
    assert torch.allclose(total / len(points), expected, rtol=1e-9)


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


def test_wasserstein_2_between_equal_gaussians_is_the_distance_of_their_means() -> None:
    """W2^2 = |dmu|^2 + tr(S1 + S2 - 2 (S1^1/2 S2 S1^1/2)^1/2); the trace is 0 for S1 = S2."""
    generator = torch.Generator().manual_seed(5)
    mean, other = torch.randn(2, 6, 3, generator=generator, dtype=torch.float64)
    variances = torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)
    trace = (
        variances + variances - 2 * (variances.sqrt() * variances * variances.sqrt()).sqrt()
    ).sum()
    squared = (mean - other).square().sum(-1) + trace
    assert torch.allclose(squared.sqrt(), (mean - other).norm(dim=-1))
    # and sqrt(Jeffreys) is that distance over sqrt(2) std, for one std: a metric, as it must be
    assert torch.allclose(
        jeffreys_divergence(mean, other, 0.7).sqrt(), squared.sqrt() / (2**0.5 * 0.7)
    )


def test_norms_keep_their_order() -> None:
    """sigma_max^2 <= |J|_F^2 <= min(A, S) sigma_max^2"""
    net, states = net_with_norm(2.0)
    spectral = local_lipschitz(net, states).square()
    frobenius = batch_jacobian(net, states).square().sum((-1, -2))
    assert bool((spectral <= frobenius * (1 + 1e-12)).all())
    assert bool((frobenius <= 3 * spectral * (1 + 1e-12)).all())
