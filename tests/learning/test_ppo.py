"""The PPO step: its clipped surrogate, its stop, its memory, and penalties composed onto it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from stream_positions import positions
from tiny_runs import tiny
from torch import Tensor

import spacil
from spacil import paper
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.config.penalty_terms import parse_terms
from spacil.config.train_config import TrainConfig
from spacil.engine.device import Recorder
from spacil.errors import DivergedError
from spacil.functional.policy_gradient import kl_old_new, log_prob
from spacil.functional.sensitivity import batch_jacobian, top_singular
from spacil.learning.policy_step import ClippedStep, PolicyBatch, PPOReport, SurrogateLoss
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import DrawnTerms, PenaltyRows, draw_terms

PPO = {"policy_step": "ppo", "ppo_epochs": 3, "ppo_minibatch": 100}


def config_of(**settings: Any) -> TrainConfig:
    return with_settings(default_config("trpo", "Reacher-v4"), {**PPO, **settings})


def make_policy(seed: int = 0, scale: float = 1.0) -> GaussianPolicy:
    generator = torch.Generator().manual_seed(seed)
    policy = GaussianPolicy(4, [-1.0] * 2, [1.0] * 2, (12, 9), generator=generator)
    with torch.no_grad():
        policy.log_std.normal_(-0.5, 0.3, generator=generator)
        for parameter in policy.mean_net.parameters():
            parameter *= scale
    return policy


def make_batch(policy: GaussianPolicy, size: int = 300, seed: int = 1) -> PolicyBatch:
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(size, 4, generator=generator)
    noise = torch.randn(size, 2, generator=generator)
    with torch.no_grad():
        actions = policy.mean_of_normalized(states) + policy.log_std.exp() * noise
    return PolicyBatch(states, actions, torch.randn(size, generator=generator))


def without_penalty() -> DrawnTerms:
    return DrawnTerms()


def penalties(
    policy: GaussianPolicy, batch: PolicyBatch, config: TrainConfig, streams: Streams, words: str
) -> Callable[[], DrawnTerms]:
    rows = PenaltyRows(batch.states, batch.actions, successors=batch.states.roll(1, 0))
    terms = parse_terms(tuple(words.split()))
    return lambda: draw_terms(terms, lambda kind: rows, policy, config, streams)


def take(
    policy: GaussianPolicy, batch: PolicyBatch, config: TrainConfig, words: str = ""
) -> PPOReport:
    streams = Streams.from_seed(0)
    draw = penalties(policy, batch, config, streams, words) if words else without_penalty
    return ClippedStep(policy, config).take(batch, draw, streams, Recorder())


def flat(policy: GaussianPolicy) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in policy.parameters()])


def mean_squared_slope(policy: GaussianPolicy, states: Tensor) -> float:
    """E[sigma_max^2]"""
    sigma = top_singular(batch_jacobian(policy.mean_of_normalized, states))
    return float(sigma.square().mean())


@pytest.mark.parametrize(
    ("ratio", "advantage", "gained"),
    [
        (1.0, 2.0, 2.0),  # inside: ratio * advantage
        (1.1, 2.0, 2.2),
        (1.5, 2.0, 2.4),  # better than 1 + clip: no more is gained
        (2.7, 2.0, 2.4),  # however much better: nothing pulls
        (0.5, 2.0, 1.0),  # worse than 1 - clip: the loss counts in full
        (0.5, -2.0, -1.6),  # less of what was bad: no more is gained
        (1.5, -2.0, -3.0),  # more of what was bad: it counts in full
    ],
)
def test_the_ratio_is_clipped_where_that_lowers_what_is_gained(
    ratio: float, advantage: float, gained: float
) -> None:
    actions, mean, log_std = torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1)
    old_log_probs = log_prob(actions, mean, log_std) - torch.tensor(ratio).log()
    loss = SurrogateLoss(actions, torch.tensor([advantage]), old_log_probs, clip=0.2)
    assert float(loss(mean, log_std)["surrogate"]) == pytest.approx(-gained, rel=1e-6)


def test_wide_open_and_in_one_minibatch_its_gradient_is_the_surrogate_s() -> None:
    policy = make_policy()
    batch = make_batch(policy)
    config = config_of(ppo_clip=0.999, ppo_epochs=1, ppo_minibatch=300)
    with torch.no_grad():
        old_mean = policy.mean_of_normalized(batch.states)
    old = log_prob(batch.actions, old_mean, policy.log_std.detach())
    surrogate = SurrogateLoss(batch.actions, batch.advantages, old)
    loss = surrogate(policy.mean_of_normalized(batch.states), policy.log_std)["surrogate"]
    expected = torch.autograd.grad(loss, list(policy.parameters()))
    step = ClippedStep(policy, config)
    step.take(batch, without_penalty, Streams.from_seed(0), Recorder())
    for found, wanted in zip(step.optimizer.gradients, expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)


def test_the_report_tells_kl_epochs_and_the_fraction_of_ratios_outside_the_range() -> None:
    policy, config = make_policy(), config_of(ppo_learning_rate=1e-2, ppo_target_kl=100.0)
    batch = make_batch(policy)
    with torch.no_grad():
        old = policy.mean_of_normalized(batch.states), policy.log_std.clone()
    report = take(policy, batch, config)
    with torch.no_grad():
        new = policy.mean_of_normalized(batch.states), policy.log_std
        kl = float(kl_old_new(*old, *new).mean())
        ratio = (log_prob(batch.actions, *new) - log_prob(batch.actions, *old)).exp()
    assert report.kl == pytest.approx(kl, rel=1e-4) and kl > 0
    assert (report.ppo_epochs_done, report.refusal, set(report.summands)) == (3, "", {"surrogate"})
    clip = config.policy_step.ppo_clip
    is_outside = (ratio < 1 - clip) | (ratio > 1 + clip)
    assert report.clipped_fraction == pytest.approx(float(is_outside.float().mean()), abs=1e-6)
    assert 0.05 < report.clipped_fraction < 0.95


def test_no_further_epoch_once_the_kl_has_passed_its_target() -> None:
    policy = make_policy()
    batch = make_batch(policy)
    start = flat(policy)
    report = take(policy, batch, config_of(ppo_epochs=50, ppo_target_kl=1e-3))
    assert 1 < report.ppo_epochs_done < 50
    assert report.kl > 1e-3
    fewer = make_policy()
    earlier = take(fewer, batch, config_of(ppo_epochs=report.ppo_epochs_done - 1))
    assert earlier.kl <= 1e-3
    assert not torch.equal(flat(fewer), start)


@pytest.mark.parametrize("words", ["exact=3", "pgd=3", "frobenius=3", "lcp=1", "cats=3", "caps=9"])
def test_a_penalty_lowers_the_slope_where_ppo_alone_does_not(words: str) -> None:
    config = config_of(ppo_epochs=10, ppo_learning_rate=3e-3, ppo_target_kl=100.0)
    plain, smooth = make_policy(scale=2.0), make_policy(scale=2.0)
    batch = make_batch(plain)
    before = mean_squared_slope(plain, batch.states)
    take(plain, batch, config)
    report = take(smooth, batch, config, words)
    after = mean_squared_slope(smooth, batch.states)
    assert after < 0.7 * before
    assert after < 0.7 * mean_squared_slope(plain, batch.states)
    assert set(report.summands) == {"surrogate", f"penalty_{words.partition('=')[0]}"}


def test_several_penalties_are_reported_each_by_name_and_weight() -> None:
    policy = make_policy(scale=2.0)
    batch = make_batch(policy)
    config = config_of(ppo_epochs=1, ppo_minibatch=300, penalty_state_fraction=1.0)
    slope = mean_squared_slope(policy, batch.states)
    with torch.no_grad():
        mean = policy.mean_of_normalized(batch.states)
    change = float((mean - mean.roll(1, 0)).square().sum(-1).mean())
    report = take(policy, batch, config, "exact=0.5 cats=2")
    assert report.summands["penalty_exact"] == pytest.approx(0.5 * slope, rel=1e-4)
    assert report.summands["penalty_cats"] == pytest.approx(2 * change, rel=1e-4)


@pytest.mark.parametrize("minibatch", [300, 100, 30])
def test_a_printed_sum_does_not_depend_on_the_number_of_minibatches(minibatch: int) -> None:
    policy = make_policy(scale=2.0)
    batch = make_batch(policy)
    scale = {"penalty_state_fraction": 1.0, "penalty": ()}
    config = config_of(ppo_epochs=1, ppo_learning_rate=1e-9, ppo_minibatch=minibatch, **scale)
    expected = 300 * paper.PENALTY_RADIUS**2 * mean_squared_slope(policy, batch.states)
    report = take(policy, batch, config, "pgd=1:scale=paper-sum:steps=30")
    assert report.summands["penalty_pgd"] == pytest.approx(expected, rel=0.01)


def test_fewer_rows_with_penalty_than_minibatches_are_used_again() -> None:
    policy = make_policy(scale=2.0)
    batch = make_batch(policy)
    config = config_of(ppo_epochs=1, ppo_minibatch=10, penalty_state_fraction=0.02)
    report = take(policy, batch, config, "exact=1 cats=1")
    assert report.summands["penalty_exact"] > 0
    assert report.summands["penalty_cats"] > 0


def test_a_step_without_penalties_draws_its_orders_and_nothing_else() -> None:
    policy, streams = make_policy(), Streams.from_seed(0)
    step, batch = ClippedStep(policy, config_of()), make_batch(policy)
    step.take(batch, without_penalty, streams, Recorder())
    fresh = positions(Streams.from_seed(0))
    moved = {
        name for name, state in positions(streams).items() if not torch.equal(state, fresh[name])
    }
    assert moved == {"minibatch"}


@pytest.mark.parametrize("spoiled", ["advantages", "rate"])
def test_a_step_that_diverges_ends_in_words(spoiled: str) -> None:
    policy = make_policy()
    batch = make_batch(policy)
    rate = 1e30 if spoiled == "rate" else 1e-3
    if spoiled == "advantages":
        batch = PolicyBatch(batch.states, batch.actions, batch.advantages * float("inf"))
    with pytest.raises(DivergedError, match=r"not finite in epoch .*--ppo-learning-rate"):
        take(policy, batch, config_of(ppo_learning_rate=rate, ppo_target_kl=1e30))


def test_a_clone_that_waits_keeps_still_and_then_moves_by_ppo() -> None:
    settings = tiny(**PPO, warm_start_epochs=2, warm_start_iterations=1)
    agent = spacil.GAIL("Reacher-v4", **settings)
    rows: list[dict[str, Any]] = []
    agent.learn(2, callback=lambda agent, metrics: rows.append(metrics))
    agent.close()
    assert [row["ppo_epochs_done"] for row in rows] == [0, 3]
    assert rows[0]["kl"] == 0 < rows[1]["kl"]
