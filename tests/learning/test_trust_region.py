"""The trust-region step: its curvature, its bound, and that a failed step changes nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from spacil.config.settings import PolicyStepConfig
from spacil.engine.device import Recorder
from spacil.engine.mlp_passes import ParameterJacobian
from spacil.errors import DivergedError
from spacil.functional import policy_gradient
from spacil.functional.policy_gradient import kl_old_new, log_prob
from spacil.learning import policy_step
from spacil.learning.policy_step import PenalizedLoss, PolicyLoss, SurrogateLoss, total
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.policy_penalty import exact_policy_penalty
from spacil.smoothness.policy_terms import random_subset

CONFIG = PolicyStepConfig()


def make_policy(seed: int, num_states: int = 4, num_actions: int = 2) -> GaussianPolicy:
    bounds = np.ones(num_actions, dtype=np.float32)
    generator = torch.Generator().manual_seed(seed)
    policy = GaussianPolicy(num_states, -bounds, bounds, (12, 9), generator=generator)
    with torch.no_grad():
        policy.log_std.normal_(-0.5, 0.3, generator=generator)
    return policy


def make_problem(
    policy: GaussianPolicy, seed: int, size: int, scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    states = scale * torch.randn(size, policy.num_states, generator=generator)
    noise = torch.randn(size, policy.num_actions, generator=generator)
    advantages = torch.randn(size, generator=generator)
    with torch.no_grad():
        actions = policy.mean_of_normalized(states) + policy.log_std.exp() * noise
    return states, actions, advantages


def surrogate(policy: GaussianPolicy, states: Tensor, actions: Tensor, advantages: Tensor):  # type: ignore[no-untyped-def]
    with torch.no_grad():
        old_mean = policy.mean_of_normalized(states)
    old_log_probs = log_prob(actions, old_mean, policy.log_std.detach())
    return SurrogateLoss(actions, advantages, old_log_probs)


def old_policy(
    policy: GaussianPolicy, states: Tensor, config: PolicyStepConfig = CONFIG
) -> policy_step.OldPolicy:
    draws = torch.Generator().manual_seed(0)
    rows = random_subset(len(states), config.fisher_state_fraction, draws)
    return policy_step.OldPolicy(policy, states, config, rows)


def step(
    policy: GaussianPolicy, loss: PolicyLoss, states: Tensor, config: PolicyStepConfig = CONFIG
) -> policy_step.TrustRegionReport:
    old = old_policy(policy, states, config)
    direction = policy_step.find_direction(policy, loss, old, config)
    return policy_step.follow(policy, direction, config, Recorder())


@pytest.mark.parametrize("keeps_sensitivities", [True, False])
def test_the_fisher_product_equals_the_double_backward_hessian_of_the_kl(
    keeps_sensitivities: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_step, "MAX_SENSITIVITY_BYTES", 10**9 * keeps_sensitivities)
    policy = make_policy(0).double()
    states, _, _ = make_problem(policy.float(), 1, 30)
    policy, states = policy.double(), states.double()
    names = [name for name, _ in policy.named_parameters()]
    ordered = policy.update_parameters()
    by_name = dict(policy.named_parameters())
    order = [next(n for n in names if by_name[n] is p) for p in ordered]
    old_mean, old_log_std = policy.mean_of_normalized(states).detach(), policy.log_std.detach()

    def kl(vector: Tensor) -> Tensor:
        named = dict(zip(order, policy_gradient.unflatten(vector, ordered), strict=True))
        net = {n.removeprefix("mean_net."): t for n, t in named.items() if n != "log_std"}
        mean = functional_call(policy.mean_net, net, (states,))
        return kl_old_new(old_mean, old_log_std, mean, named["log_std"]).mean()

    theta = policy_gradient.flatten(ordered).detach()
    hessian = torch.autograd.functional.hessian(kl, theta)
    product = old_policy(policy, states).fisher_product
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        v = torch.randn(theta.numel(), generator=generator, dtype=torch.float64)
        assert torch.allclose(product(v), hessian @ v, atol=1e-12)


def test_an_accepted_step_uses_the_region_and_stays_inside_it() -> None:
    used = []
    for seed in range(20):
        policy = make_policy(seed)
        states, actions, advantages = make_problem(policy, seed, 500)
        loss = surrogate(policy, states, actions, advantages)
        with torch.no_grad():
            old_mean, old_log_std = policy.mean_of_normalized(states), policy.log_std.clone()
        before = float(total(loss(old_mean, old_log_std)))
        report = step(policy, loss, states)
        assert report.is_accepted and report.line_search_reason == "accepted"
        with torch.no_grad():
            mean = policy.mean_of_normalized(states)
            kl = float(kl_old_new(old_mean, old_log_std, mean, policy.log_std).mean())
            after = float(total(loss(mean, policy.log_std)))
        assert kl == report.kl <= CONFIG.max_kl
        assert after < before
        assert report.improvement == pytest.approx(before - after, abs=1e-6)
        used.append(kl / CONFIG.max_kl)
    assert np.mean(used) > 0.9


def test_the_step_is_along_the_natural_gradient() -> None:
    policy = make_policy(5)
    states, actions, advantages = make_problem(policy, 5, 400)
    loss = surrogate(policy, states, actions, advantages)
    parameters = policy.update_parameters()
    old = policy_gradient.flatten(parameters).detach().clone()
    mean = policy.mean_of_normalized(states)
    gradient = torch.autograd.grad(total(loss(mean, policy.log_std)), parameters)
    g = policy_gradient.flatten(gradient).double()
    product = old_policy(policy, states).fisher_product
    fisher = torch.stack([(product(e) + CONFIG.cg_damping * e).double() for e in torch.eye(len(g))])
    config = replace(CONFIG, cg_steps=300)
    step(policy, loss, states, config)
    moved = (policy_gradient.flatten(parameters).detach() - old).double()
    natural = torch.linalg.solve(fisher, -g)
    cosine = moved.dot(natural) / (moved.norm() * natural.norm())
    assert float(cosine) > 0.999


def test_the_line_search_sees_the_penalty() -> None:
    # The penalty alone decides here: the surrogate is flat, so any accepted step is smoother.
    policy = make_policy(1)
    with torch.no_grad():
        policy.mean_net.weights_and_biases[-1][0].mul_(20)
    states, actions, _ = make_problem(policy, 1, 300)
    loss = surrogate(policy, states, actions, torch.zeros(300))
    penalty = exact_policy_penalty(policy.mean_of_normalized, states)
    penalized = PenalizedLoss(loss, {"exact": penalty}, [0.03])
    before = float(penalty().detach())
    report = step(policy, penalized, states)
    assert report.is_accepted
    assert float(penalty().detach()) < before
    assert report.summands["penalty_exact"] == pytest.approx(0.03 * before, rel=1e-5)


@pytest.mark.parametrize("reason", ["no direction", "no improvement"])
def test_a_step_that_is_not_taken_changes_no_bit(reason: str) -> None:
    policy = make_policy(3)
    states, actions, advantages = make_problem(policy, 3, 80)
    is_flat = reason == "no direction"
    base = surrogate(policy, states, actions, advantages * (not is_flat))
    calls = []

    def worse_elsewhere(mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        calls.append(1)
        return {**base(mean, log_std), "wall": torch.tensor(float(len(calls) > 1) * 1e3)}

    before = [p.detach().clone() for p in policy.update_parameters()]
    report = step(policy, base if is_flat else worse_elsewhere, states)
    assert not report.is_accepted and report.line_search_reason == reason
    assert (report.step_fraction, report.kl, report.improvement) == (0, 0, 0)
    assert (report.line_search_tries == 0) is is_flat
    assert all(map(torch.equal, before, policy.update_parameters()))


def test_a_nan_advantage_is_refused_and_nothing_moves() -> None:
    policy = make_policy(4)
    states, actions, advantages = make_problem(policy, 4, 40)
    advantages[7] = torch.nan
    before = [p.detach().clone() for p in policy.update_parameters()]
    with pytest.raises(DivergedError, match="policy step: loss is nan"):
        step(policy, surrogate(policy, states, actions, advantages), states)
    assert all(map(torch.equal, before, policy.update_parameters()))


@pytest.mark.parametrize(
    ("num_actions", "num_bytes", "pays"),
    [(2, 10**9, True), (5, 10**9, True), (6, 10**9, False), (2, 10, False)],
)
def test_sensitivities_are_kept_for_few_actions_and_what_fits_in_memory(
    num_actions: int, num_bytes: int, pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    class Jacobian(ParameterJacobian):
        def __init__(self, *arguments: Any, keeps_sensitivities: bool) -> None:
            asked.append(keeps_sensitivities)
            super().__init__(*arguments, keeps_sensitivities=keeps_sensitivities)

    monkeypatch.setattr(policy_step, "ParameterJacobian", Jacobian)
    monkeypatch.setattr(policy_step, "MAX_SENSITIVITY_BYTES", num_bytes)
    policy = make_policy(0, num_actions=num_actions)
    policy_step.OldPolicy(policy, torch.zeros(20, policy.num_states), replace(CONFIG, cg_steps=10))
    assert asked == [pays]
