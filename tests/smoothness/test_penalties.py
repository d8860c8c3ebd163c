"""Both penalties: values on maps whose answer is known, and gradients by finite differences."""

import pytest
import torch
from torch import Tensor

from spacil.functional import flat_params
from spacil.functional.ball import random_offset
from spacil.functional.spectral import batch_jacobian, top_singular
from spacil.nets.discriminator import Discriminator
from spacil.nets.mlp import MLP
from spacil.smoothness.cost_penalty import exact_cost_penalty, mix_states, pgd_cost_penalty
from spacil.smoothness.policy_penalty import exact_policy_penalty, pgd_policy_penalty


def make_net(seed: int = 0, scale: float = 30.0) -> MLP:
    """A tanh policy; the last layer is enlarged so that its Jacobian is of order one."""
    net = MLP([5, 16, 12, 3], generator=torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        net.weights_and_biases[-1][0].mul_(scale)
    return net


def make_states(size: int = 30) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(size, 5, generator=generator, dtype=torch.float64)


def start(states: Tensor, radius: float = 0.01) -> Tensor:
    return random_offset(states, radius, "sphere", torch.Generator().manual_seed(0))


def test_the_exact_penalty_of_a_linear_policy_is_its_squared_spectral_norm() -> None:
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(3, 5, generator=generator, dtype=torch.float64)
    penalty = exact_policy_penalty(lambda s: s @ matrix.T, make_states())
    assert float(penalty()) == pytest.approx(float(torch.linalg.svdvals(matrix)[0]) ** 2, abs=1e-12)


def test_a_constant_policy_has_no_penalty() -> None:
    penalty = exact_policy_penalty(lambda s: torch.ones(len(s), 2), make_states())
    assert float(penalty()) == 0


def test_the_exact_penalty_equals_the_mean_squared_top_singular_value() -> None:
    net, states = make_net(), make_states()
    sigma = top_singular(batch_jacobian(net, states)).sigma
    assert float(exact_policy_penalty(net, states)()) == pytest.approx(
        float(sigma.square().mean()), rel=1e-12
    )


def test_its_gradient_equals_finite_differences_of_the_true_spectral_norm() -> None:
    net, states = make_net(), make_states()
    parameters = list(net.parameters())
    gradient = flat_params.flatten(
        torch.autograd.grad(exact_policy_penalty(net, states)(), parameters, allow_unused=True)[:-1]
    )
    theta = flat_params.flatten(parameters).detach().clone()
    generator = torch.Generator().manual_seed(1)

    def value(vector: Tensor) -> float:
        flat_params.assign(parameters, vector)
        return float(top_singular(batch_jacobian(net, states)).sigma.square().mean())

    for _ in range(5):
        direction = torch.randn(theta.numel(), generator=generator, dtype=torch.float64)
        direction[-3:] = 0  # the last bias does not move the Jacobian
        step = 1e-6
        difference = (value(theta + step * direction) - value(theta - step * direction)) / (
            2 * step
        )
        assert float(gradient @ direction[:-3]) == pytest.approx(difference, rel=1e-5)


def test_without_a_graph_the_value_is_the_same_and_no_graph_is_kept() -> None:
    net, states = make_net(), make_states()
    penalty = exact_policy_penalty(net, states)
    with torch.no_grad():
        value = penalty()
    assert not value.requires_grad
    assert torch.allclose(value, penalty().detach(), rtol=1e-12)


def test_frozen_directions_never_overstate_the_penalty_elsewhere() -> None:
    net, states = make_net(), make_states()
    penalty = exact_policy_penalty(net, states)
    generator = torch.Generator().manual_seed(3)
    for _ in range(10):
        with torch.no_grad():
            for parameter in net.parameters():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.add_(0.05 * noise)
        truth = top_singular(batch_jacobian(net, states)).sigma.square().mean()
        assert float(penalty().detach()) <= float(truth) * (1 + 1e-12)


def test_the_power_rule_reaches_the_exact_penalty() -> None:
    net, states = make_net(), make_states(200)
    exact = float(exact_policy_penalty(net, states)().detach())
    pgd = pgd_policy_penalty(net, states, start(states), 0.01, 20, "power")
    assert 0.98 * exact <= float(pgd().detach()) <= exact * 1.02


def test_the_printed_scales_equal_lipschitz_units_times_radius_squared_and_count() -> None:
    net, states = make_net(), make_states(50)
    values = {
        scale: float(
            pgd_policy_penalty(
                net, states, start(states), 0.01, 30, "power", 0.02, scale
            )().detach()  # type: ignore[arg-type]
        )
        for scale in ("lipschitz", "paper-mean", "paper-sum")
    }
    assert values["paper-mean"] == pytest.approx(values["lipschitz"] * 0.01**2, rel=1e-6)
    assert values["paper-sum"] == pytest.approx(values["paper-mean"] * 50, rel=1e-12)


def test_the_printed_rule_undermeasures_a_smooth_policy() -> None:
    # sigma_max about 0.5, the paper's raw step from a small start: it barely moves.
    net, states = make_net(), make_states(100)
    sigma = float(top_singular(batch_jacobian(net, states)).sigma.mean())
    with torch.no_grad():
        net.weights_and_biases[-1][0].mul_(0.5 / sigma)
    exact = float(exact_policy_penalty(net, states)().detach())
    small = random_offset(states, 0.01, "gauss", torch.Generator().manual_seed(0))
    raw = float(pgd_policy_penalty(net, states, small, 0.01, 20, "raw")().detach())
    assert raw < 0.75 * exact


def make_cost(seed: int = 0) -> Discriminator:
    generator = torch.Generator().manual_seed(seed)
    net = Discriminator(5, 3, (16, 16), "tanh", generator=generator).double()
    with torch.no_grad():
        net.net.weights_and_biases[-1][0].mul_(30)
    return net


def test_the_exact_cost_penalty_is_the_gradient_norm_along_the_policys_response() -> None:
    policy, cost, states = make_net(), make_cost(), make_states(8)
    total = 0.0
    for state in states:
        gradient = torch.autograd.functional.jacobian(
            lambda s, fixed=state: cost.cost(fixed[None], policy(s[None])).sum(), state
        )
        total += float(gradient.norm())
    value = exact_cost_penalty(cost.cost, policy, states)
    assert float(value.detach()) == pytest.approx(total / len(states), rel=1e-9)


def test_the_cost_penaltys_gradient_goes_to_the_cost_and_equals_finite_differences() -> None:
    policy, cost, states = make_net(), make_cost(), make_states(20)
    parameters = list(cost.net.parameters())
    value = exact_cost_penalty(cost.cost, policy, states)
    value.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is None for p in policy.parameters())
    gradient = flat_params.flatten([p.grad for p in parameters if p.grad is not None])
    theta = flat_params.flatten(parameters).detach().clone()
    direction = torch.randn(
        theta.numel(), generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )

    def value_at(vector: Tensor) -> float:
        flat_params.assign(parameters, vector)
        return float(exact_cost_penalty(cost.cost, policy, states).detach())

    step = 1e-6
    difference = (value_at(theta + step * direction) - value_at(theta - step * direction)) / (
        2 * step
    )
    assert float(gradient @ direction) == pytest.approx(difference, rel=1e-5)


def test_ascent_on_the_cost_reaches_the_exact_value() -> None:
    policy, cost, states = make_net(), make_cost(), make_states(100)
    exact = float(exact_cost_penalty(cost.cost, policy, states).detach())
    offset = start(states, 1e-4)
    pgd = float(pgd_cost_penalty(cost.cost, policy, states, offset, 1e-4, 20, "power").detach())
    assert pgd == pytest.approx(exact, rel=0.02)


def test_mixed_states_lie_between_their_parents() -> None:
    agent, expert = torch.zeros(200, 2), torch.ones(5, 2)
    mixed = mix_states(agent, expert, torch.Generator().manual_seed(0))
    assert mixed.shape == (200, 2)
    assert (mixed >= 0).all() and (mixed < 1).all()
    assert torch.allclose(mixed[:, 0], mixed[:, 1])  # one zeta per pair
    assert 0.4 < float(mixed.mean()) < 0.6
