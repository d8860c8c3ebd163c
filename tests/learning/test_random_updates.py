"""Random trust-region updates, the degenerate ones among them: the bound holds, nothing breaks."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from figures import record_figure
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from spacil.config.settings import PolicyStepConfig
from spacil.engine.device import Recorder
from spacil.functional import policy_gradient
from spacil.functional.policy_gradient import kl_old_new, log_prob
from spacil.learning import policy_step
from spacil.learning.policy_step import PolicyLoss, SurrogateLoss
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.policy_terms import random_subset


def worsening(loss: PolicyLoss) -> PolicyLoss:
    """A loss that is higher wherever else it is asked: every step must be taken back."""
    calls = Counter[str]()

    def worse(mean: Tensor, log_std: Tensor) -> dict[str, Tensor]:
        calls["all"] += 1
        return {**loss(mean, log_std), "wall": torch.tensor(1e38 if calls["all"] > 1 else 0.0)}

    return worse


@st.composite
def advantages_of(draw: st.DrawFn, size: int, generator: torch.Generator) -> Tensor:
    scale = draw(st.sampled_from([1e-30, 1e-12, 1.0, 1e6, 1e15]))
    match draw(st.sampled_from(["random", "equal", "zero", "one", "opposite"])):
        case "random":
            return scale * torch.randn(size, generator=generator)
        case "equal":
            return torch.full((size,), scale)
        case "zero":
            return torch.zeros(size)
        case "one":
            return scale * torch.eye(1, size).flatten()
        case _:
            return scale * torch.arange(size).remainder(2).mul(2).sub(1).float()


def random_update(draw: Any) -> str:
    """One update that hypothesis draws; how its line search ended."""
    seed = draw(st.integers(0, 2**31), label="seed")
    generator = torch.Generator().manual_seed(seed)
    num_states, num_actions = draw(st.sampled_from([(1, 1), (4, 2), (11, 3)]), label="sizes")
    bounds = [1.0] * num_actions
    policy = GaussianPolicy(num_states, [-1.0] * num_actions, bounds, (12, 9), generator=generator)
    size = draw(st.sampled_from([1, 2, 37, 200]), label="batch")
    scale = draw(st.sampled_from([0.0, 1e-6, 1.0, 10.0, 1e4, 1e18]), label="size of states")
    states = scale * torch.randn(size, num_states, generator=generator)
    noise = torch.randn(size, num_actions, generator=generator)
    with torch.no_grad():
        log_std = draw(st.sampled_from([-8.0, -0.5, 3.0]), label="log std")
        policy.log_std.normal_(log_std, 0.3, generator=generator)
        old_mean, old_log_std = policy.mean_of_normalized(states), policy.log_std.clone()
        actions = old_mean + old_log_std.exp() * noise
    config = replace(
        PolicyStepConfig(),
        max_kl=draw(st.sampled_from([1e-6, 1e-4, 0.01, 0.5]), label="max KL"),
        cg_steps=draw(st.sampled_from([1, 10, 50]), label="solver steps"),
        fisher_state_fraction=draw(st.sampled_from([0.1, 1.0]), label="share of states"),
    )
    # No setting allows it; it makes the curvature of the solver indefinite, as rounding might.
    damping = draw(st.sampled_from([0.0, 0.01, 1.0, -0.01, -1.0, -100.0]), label="damping")
    object.__setattr__(config, "cg_damping", damping)
    advantages = draw(advantages_of(size, generator), label="advantages")
    loss = SurrogateLoss(actions, advantages, log_prob(actions, old_mean, old_log_std))
    is_walled = draw(st.booleans(), label="never improves")
    before = policy_gradient.flatten(policy.update_parameters()).detach().clone()

    fisher_rows = random_subset(size, config.fisher_state_fraction, generator)
    old = policy_step.OldPolicy(policy, states, config, fisher_rows)
    tried = worsening(loss) if is_walled else loss
    direction = policy_step.find_direction(policy, tried, old, config)
    report = policy_step.follow(policy, direction, config, Recorder())

    after = policy_gradient.flatten(policy.update_parameters()).detach()
    assert torch.isfinite(after).all()
    with torch.no_grad():
        mean = policy.mean_of_normalized(states)
        kl = float(kl_old_new(old_mean, old_log_std, mean, policy.log_std).mean())
    assert kl <= config.max_kl * (1 + 1e-6)
    assert not (report.is_accepted and is_walled)
    assert report.is_accepted or torch.equal(before, after)
    return report.line_search_reason


@pytest.mark.parametrize("num_updates", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_updates_keep_the_bound_revert_bitwise_and_end_in_every_way(num_updates: int) -> None:
    reasons: Counter[str] = Counter()

    @settings(max_examples=num_updates, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def update(data: st.DataObject) -> None:
        reasons[random_update(data.draw)] += 1

    update()
    assert reasons.total() >= num_updates
    assert {"accepted", "no direction", "no improvement"} <= reasons.keys()
    record_figure("updates", {"updates": reasons.total(), "ended": dict(sorted(reasons.items()))})
