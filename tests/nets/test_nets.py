import math

import numpy as np
import pytest
import torch

from spacil.errors import DataError
from spacil.nets.discriminator import Discriminator
from spacil.nets.mlp import MLP
from spacil.nets.policy import GaussianPolicy, RunningNormalizer


def make_policy(num_states: int = 4, num_actions: int = 2, seed: int = 0) -> GaussianPolicy:
    bounds = np.ones(num_actions, dtype=np.float32)
    generator = torch.Generator().manual_seed(seed)
    return GaussianPolicy(num_states, -bounds, bounds, (16, 8), generator=generator)


def test_the_start_is_uniform_in_the_fan_in_with_a_small_last_layer() -> None:
    net = MLP([100, 50, 3], generator=torch.Generator().manual_seed(0))
    (first, first_bias), (last, last_bias) = net.requires_grad_(False).weights_and_biases
    assert 0.9 / math.sqrt(100) < float(first.abs().max()) < 1.0001 / math.sqrt(100)
    assert float(first_bias.abs().max()) > 0
    assert 0.8 * 0.1 / math.sqrt(50) < float(last.abs().max()) < 0.10001 / math.sqrt(50)
    assert float(last_bias.abs().max()) == 0


def test_the_literal_reading_of_the_papers_start_is_an_option() -> None:
    net = MLP([100, 50, 3], init="paper-numel", generator=torch.Generator().manual_seed(0))
    assert float(net.weights_and_biases[0][0].detach().abs().max()) <= 1 / math.sqrt(100 * 50)


def test_the_normalizer_is_the_identity_before_the_first_batch() -> None:
    states = torch.tensor([[1.0, -2.0, 3.0]])
    assert torch.equal(RunningNormalizer(3)(states), states)


def test_merging_batches_equals_the_statistics_of_all_of_them() -> None:
    generator = torch.Generator().manual_seed(0)
    batches = [5 + 3 * torch.randn(n, 4, generator=generator) for n in (7, 200, 33)]
    normalizer = RunningNormalizer(4)
    for batch in batches:
        normalizer.merge(batch)
    everything = torch.cat(batches).double()
    assert torch.allclose(normalizer.mean, everything.mean(0), atol=1e-12)
    assert torch.allclose(normalizer.std, everything.std(0, correction=0), atol=1e-12)
    assert float(normalizer.count) == 240


def test_constant_dims_are_masked_until_they_move_and_then_stay_live() -> None:
    normalizer = RunningNormalizer(3)
    states = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    states[:, 1] = 7.0
    normalizer.merge(states)
    assert normalizer.live_mask.tolist() == [True, False, True]
    assert normalizer(torch.full((1, 3), 1e6))[0, 1] == 0
    states[:, 1] = torch.linspace(-1, 1, 100)
    normalizer.merge(states)
    assert normalizer.live_mask.tolist() == [True, True, True]
    for _ in range(2000):
        states[:, 1] = 7.0
        normalizer.merge(states)
    assert normalizer.live_mask.tolist() == [True, True, True]


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_a_dim_lives_that_moves_by_more_than_rounding(unit: float) -> None:
    normalizer = RunningNormalizer(4)
    # Of a float32 near 7, of the largest dim in float64, and two dims that move.
    moves = unit * torch.tensor([4e-6, 2e-13, 1e-9, 1.0], dtype=torch.float64)
    rests = unit * torch.tensor([7.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    normalizer.merge(torch.stack([rests + moves, rests - moves]))
    assert normalizer.live_mask.tolist() == [False, False, True, True]
    seen = normalizer((rests + moves).float().unsqueeze(0))
    assert seen[0].tolist() == pytest.approx([0, 0, 1, 1], abs=1e-5)


def test_huge_observations_stay_finite() -> None:
    normalizer = RunningNormalizer(2)
    normalizer.merge(torch.tensor([[1e30, 0.0], [-1e30, 1.0]]))
    assert torch.isfinite(normalizer(torch.tensor([[3e38, -3e38]]))).all()


def test_a_perturbation_of_a_masked_dim_does_not_reach_the_mean() -> None:
    policy = make_policy()
    states = torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
    states[:, 2] = 0.5
    policy.normalizer.merge(states)
    normalized = policy.normalize(states)
    moved = normalized.clone()
    moved[:, 2] += 5
    assert torch.equal(policy.mean_of_normalized(normalized), policy.mean_of_normalized(moved))


def test_predict_takes_one_observation_or_a_batch_and_stays_within_bounds() -> None:
    policy = make_policy()
    with torch.no_grad():
        policy.mean_net.weights_and_biases[-1][1].fill_(3.0)
    single = policy.predict(np.zeros(4))
    batch = policy.predict(np.zeros((5, 4)))
    assert single.shape == (2,) and batch.shape == (5, 2)
    assert single.dtype == np.float32
    assert (batch == 1).all()
    with pytest.raises(DataError, match=r"shape \(3,\).*\(4,\) or \(batch, 4\)"):
        policy.predict(np.zeros(3))


def test_sampled_actions_follow_the_generator() -> None:
    policy = make_policy()
    draws = [
        policy.predict(np.zeros(4), deterministic=False, generator=torch.Generator().manual_seed(s))
        for s in (0, 0, 1)
    ]
    assert (draws[0] == draws[1]).all() and (draws[0] != draws[2]).any()


def test_the_discriminator_reads_both_sides_alike() -> None:
    generator = torch.Generator().manual_seed(0)
    net = Discriminator(3, 2, (8, 8), generator=generator)
    net.read_actions_clipped(-torch.ones(2), torch.ones(2))
    raw = 3 * torch.randn(20, 2, generator=generator)
    net.read_actions_standardized(raw)
    states = torch.randn(20, 3, generator=generator)
    executed = raw.clamp(-1, 1)
    assert torch.equal(
        net.logits_agent_is_high(states, raw), net.logits_agent_is_high(states, executed)
    )
    assert torch.allclose(net.action_mean, executed.mean(0))
    assert (net.cost(states, raw) <= 0).all()
