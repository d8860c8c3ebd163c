"""Both penalties: values on maps whose answer is known, and gradients by finite differences."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from spacil.functional import policy_gradient
from spacil.functional.sensitivity import batch_jacobian, random_offset, top_singular
from spacil.nets.discriminator import Discriminator
from spacil.nets.mlp import MLP
from spacil.smoothness.cost import (
    exact_cost_penalty,
    gradient_penalty,
    mix,
    path_of,
    pgd_cost_penalty,
    r1_penalty,
)
from spacil.smoothness.policy_penalty import (
    Penalty,
    caps_penalty,
    cats_penalty,
    exact_policy_penalty,
    frobenius_policy_penalty,
    l2c2_penalty,
    lcp_policy_penalty,
    linear_policy_penalty,
    pgd_policy_penalty,
)


def make_net(seed: int = 0, scale: float = 30.0) -> MLP:
    """A tanh policy; the last layer is enlarged so that its Jacobian is of order one."""
    net = MLP([5, 16, 12, 3], generator=torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        net.weights_and_biases[-1][0].mul_(scale)
    return net


def make_rows(size: int = 30, width: int = 5, seed: int = 7) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, width, generator=generator, dtype=torch.float64)


def start(states: Tensor, radius: float = 0.01) -> Tensor:
    return random_offset(states, radius, "sphere", torch.Generator().manual_seed(0))


def value_of(penalty: Penalty) -> float:
    with torch.no_grad():
        return float(penalty())


def assert_gradient_is_the_slope_of(
    gradient: Tensor, value: Callable[[], float], parameters: list[Tensor]
) -> None:
    """Along random directions, against central differences of `value()`."""
    theta = policy_gradient.flatten(parameters).detach().clone()
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        direction = torch.randn(theta.numel(), generator=generator, dtype=torch.float64)
        step, ends = 1e-6, []
        for sign in (1, -1):
            policy_gradient.assign(parameters, theta + sign * step * direction)
            ends.append(value())
        policy_gradient.assign(parameters, theta)
        difference = (ends[0] - ends[1]) / (2 * step)
        assert float(gradient @ direction) == pytest.approx(difference, rel=1e-5)


def flat_gradient(value: Tensor, parameters: list[Tensor]) -> Tensor:
    return policy_gradient.flatten(torch.autograd.grad(value, parameters, materialize_grads=True))


def test_the_exact_and_the_frobenius_penalty_are_mean_squared_norms_of_the_jacobian() -> None:
    net, states = make_net(), make_rows()
    jacobian = batch_jacobian(net, states)
    sigma = torch.linalg.svdvals(jacobian)[:, 0]
    for build, squared in (
        (exact_policy_penalty, sigma.square()),
        (frobenius_policy_penalty, jacobian.square().sum((1, 2))),
    ):
        value = value_of(build(net, states))
        assert value == pytest.approx(float(squared.mean()), rel=1e-12)


def test_the_exact_gradient_equals_finite_differences_of_the_true_spectral_norm() -> None:
    net, states = make_net(), make_rows()
    parameters = list(net.parameters())
    gradient = flat_gradient(exact_policy_penalty(net, states)(), parameters)
    assert_gradient_is_the_slope_of(
        gradient,
        lambda: float(top_singular(batch_jacobian(net, states)).square().mean()),
        parameters,
    )


def frozen_penalties(net: MLP) -> dict[str, Penalty]:
    """Every estimator whose value is a smooth function of the parameters once it is built."""
    states, later, noise = make_rows(), make_rows(seed=8), 0.2 * make_rows(seed=9)
    actions, offset = make_rows(width=3, seed=10), start(states)
    return {
        "pgd": pgd_policy_penalty(net, states, offset, 0.01, 5),
        "pgd-sum": pgd_policy_penalty(net, states, offset, 0.01, 5, scale="paper-sum"),
        "frobenius": frobenius_policy_penalty(net, states),
        "lcp": lcp_policy_penalty(net, states, actions),
        "cats": cats_penalty(net, states, later),
        "caps": caps_penalty(net, states, later, noise),
        "l2c2": l2c2_penalty(net, states, later, noise),
        "l2c2-noisy": l2c2_penalty(net, states, later, noise, "noisy"),
    }


@pytest.mark.parametrize(
    "name",
    ["pgd", "pgd-sum", "frobenius", "lcp", "cats", "caps", "l2c2", "l2c2-noisy"],
)
def test_every_estimators_gradient_equals_finite_differences(name: str) -> None:
    net = make_net()
    penalty, parameters = frozen_penalties(net)[name], list(net.parameters())
    gradient = flat_gradient(penalty(), parameters)
    assert_gradient_is_the_slope_of(gradient, lambda: value_of(penalty), parameters)


def test_a_constant_policy_has_no_penalty() -> None:
    states, cost = make_rows(), make_cost().cost
    bias = torch.zeros(3, dtype=torch.float64, requires_grad=True)

    def constant(states: Tensor) -> Tensor:
        return torch.ones(len(states), 3, dtype=torch.float64)

    def only_bias(states: Tensor) -> Tensor:
        return constant(states) + bias

    assert value_of(exact_policy_penalty(constant, states)) == 0
    for policy in (constant, only_bias):
        assert value_of(frobenius_policy_penalty(policy, states)) == 0
        along = path_of("response", policy, states, states)
        assert value_of(lambda path=along: exact_cost_penalty(cost, path, states).detach()) == 0


def test_frozen_directions_never_overstate_the_penalty_elsewhere() -> None:
    net, states = make_net(), make_rows()
    penalty = exact_policy_penalty(net, states)
    generator = torch.Generator().manual_seed(3)
    for _ in range(10):
        with torch.no_grad():
            for parameter in net.parameters():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.add_(0.05 * noise)
        truth = top_singular(batch_jacobian(net, states)).square().mean()
        assert value_of(penalty) <= float(truth) * (1 + 1e-12)


def test_lcp_is_the_frobenius_penalty_on_average_over_actions() -> None:
    """Exactly: the squared gradient is quadratic in the noise, so its mean over the 2 A points
    +-sqrt(A) e_k, which have mean 0 and covariance I, is its mean over the Gaussian.
    """
    net, states = make_net(), make_rows()
    points = torch.cat([torch.eye(3), -torch.eye(3)]).double() * 3**0.5
    with torch.no_grad():
        mean = net(states)
    values = [value_of(lcp_policy_penalty(net, states, mean + noise)) for noise in points]
    frobenius = value_of(frobenius_policy_penalty(net, states))
    assert sum(values) / len(points) == pytest.approx(frobenius, rel=1e-9)


def make_cost(seed: int = 0) -> Discriminator:
    generator = torch.Generator().manual_seed(seed)
    net = Discriminator(5, 3, (16, 16), "tanh", generator=generator).double()
    with torch.no_grad():
        net.net.weights_and_biases[-1][0].mul_(30)
    return net


FORMS = ["response", "both", "state"]


@pytest.mark.parametrize("form", FORMS)
def test_the_exact_cost_penalty_is_the_gradient_norm_along_its_path(form: str) -> None:
    policy, cost = make_net(), make_cost()
    states, actions = make_rows(8), make_rows(8, 3)
    total = 0.0
    for state, action in zip(states, actions, strict=True):
        path = path_of(form, policy, state[None], action[None])
        gradient = torch.autograd.functional.jacobian(
            lambda s, path=path: cost.cost(*path(s[None])).sum(), state
        )
        total += float(gradient.norm())
    path = path_of(form, policy, states, actions)
    value = exact_cost_penalty(cost.cost, path, states)
    assert float(value.detach()) == pytest.approx(total / len(states), rel=1e-9)


@pytest.mark.parametrize("form", [*FORMS, "gp", "r1"])
def test_the_gradient_goes_to_the_cost_alone_and_equals_finite_differences(form: str) -> None:
    policy, cost = make_net(), make_cost()
    states, actions = make_rows(20), make_rows(20, 3)

    def penalty() -> Tensor:
        if form == "gp":
            return gradient_penalty(cost.logits_agent_is_high, states, actions)
        if form == "r1":
            return r1_penalty(cost.logits_agent_is_high, states, actions)
        return exact_cost_penalty(cost.cost, path_of(form, policy, states, actions), states)

    penalty().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is None for p in policy.parameters())
    parameters = list(cost.net.parameters())
    gradient = flat_gradient(penalty(), parameters)
    assert float(gradient.norm()) > 0
    assert_gradient_is_the_slope_of(gradient, lambda: float(penalty().detach()), parameters)


@pytest.mark.parametrize("form", FORMS)
def test_ascent_on_the_cost_reaches_the_exact_value(form: str) -> None:
    policy, cost = make_net(), make_cost()
    states, actions = make_rows(100), make_rows(100, 3)
    path = path_of(form, policy, states, actions)
    exact = float(exact_cost_penalty(cost.cost, path, states).detach())
    offset = start(states, 1e-4)
    pgd = float(pgd_cost_penalty(cost.cost, path, states, offset, 1e-4, 20, "power").detach())
    assert pgd == pytest.approx(exact, rel=0.02)


def test_gradient_penalties_of_a_linear_logit_are_those_of_its_slope() -> None:
    slope = torch.tensor([3.0, 0.0, 4.0], dtype=torch.float64)  # of length 5, in (s, a)

    def logits(states: Tensor, actions: Tensor) -> Tensor:
        return torch.cat([states, actions], -1) @ slope

    states, actions = make_rows(6, 2), make_rows(6, 1)
    assert float(r1_penalty(logits, states, actions)) == pytest.approx(25)
    assert float(gradient_penalty(logits, states, actions)) == pytest.approx(16)


def test_a_logit_that_reads_nothing_has_a_finite_gradient_penalty() -> None:
    offset = torch.zeros((), dtype=torch.float64, requires_grad=True)
    value = gradient_penalty(lambda s, a: s[:, 0] * 0 + offset, make_rows(4), make_rows(4, 3))
    assert float(value.detach()) == pytest.approx(1)
    (gradient,) = torch.autograd.grad(value, offset, materialize_grads=True)
    assert math.isfinite(float(gradient))


def mixed(mixing: str, seed: int = 0, size: int = 400) -> list[Tensor]:
    """The agent sits at 0, the demonstrator at 1: what comes out is zeta."""
    agent, expert = (
        (torch.zeros(size, 2), torch.zeros(size, 1)),
        (torch.ones(5, 2), torch.ones(5, 1)),
    )
    return mix(agent, expert, mixing, torch.Generator().manual_seed(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize("mixing", ["interpolate", "per_batch", "bernoulli", "none"])
def test_states_and_actions_are_mixed_alike_and_lie_between_their_parents(mixing: str) -> None:
    states, actions = mixed(mixing)
    assert states.shape == (400, 2) and actions.shape == (400, 1)
    assert torch.equal(states, actions.expand(400, 2))
    assert (states >= 0).all() and (states <= 1).all()


@pytest.mark.parametrize("mixing", ["interpolate", "per_batch", "bernoulli"])
def test_zeta_is_uniform(mixing: str) -> None:
    batches = [mixed(mixing, seed)[1] for seed in range(300)]
    assert all(
        len(zeta.unique()) > 390
        if mixing == "interpolate"  # a zeta for each pair
        else len(zeta.unique()) == 1
        if mixing == "per_batch"
        else set(zeta.unique().tolist()) <= {0.0, 1.0}  # whole rows
        for zeta in batches
    )
    zetas = batches[0] if mixing == "interpolate" else torch.stack([z.mean() for z in batches])
    assert 0.45 < float(zetas.mean()) < 0.55 and 0.26 < float(zetas.std()) < 0.32


def linear_of(matrix: Tensor, size: int) -> Tensor:
    return linear_policy_penalty(lambda s: s @ matrix.T, torch.zeros(size, 2))()


def test_linear_is_a_linear_policys_largest_singular_value_and_its_gradient() -> None:
    matrix = torch.tensor([[3.0, 0.0], [0.0, -4.0]], requires_grad=True)
    value = linear_of(matrix, 5)
    (slope,) = torch.autograd.grad(value, matrix)
    assert float(value.detach()) == pytest.approx(4.0)
    assert torch.allclose(slope, torch.tensor([[0.0, 0.0], [0.0, -1.0]]), atol=1e-6)


def test_linear_of_a_constant_policy_is_none_without_a_broken_gradient() -> None:
    matrix = torch.zeros(2, 2, requires_grad=True)
    penalty = linear_of(matrix, 3)
    (slope,) = torch.autograd.grad(penalty, matrix)
    assert float(penalty.detach()) < 1e-15
    assert bool(torch.isfinite(slope).all())
