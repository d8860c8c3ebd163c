import torch

from spacil.functional.policy_gradient import explained_variance, gae, standardize


def test_gae_follows_the_hand_worked_recursion() -> None:
    # One env, three steps, no cut: delta = r + 0.5 V' - V, A_t = delta_t + 0.25 A_{t+1}.
    rewards = torch.tensor([[1.0], [2.0], [3.0]])
    values = torch.tensor([[4.0], [6.0], [8.0]])
    next_values = torch.tensor([[6.0], [8.0], [10.0]])
    no_cut = torch.zeros(3, 1, dtype=torch.bool)
    # deltas: 1+3-4=0, 2+4-6=0, 3+5-8=0
    assert gae(rewards, values, next_values, no_cut, 0.5, 0.5).abs().max() == 0
    rewards = rewards + torch.tensor([[1.0], [2.0], [4.0]])  # deltas 1, 2, 4
    advantages = gae(rewards, values, next_values, no_cut, 0.5, 0.5)
    assert advantages.flatten().tolist() == [1 + 0.25 * 3, 2 + 0.25 * 4, 4]


def test_gae_equals_the_recursion_step_by_step() -> None:
    generator = torch.Generator().manual_seed(1)
    shape = (37, 5)
    draws = torch.randn(3, *shape, generator=generator, dtype=torch.float64)
    rewards, values, next_values = draws
    cut = torch.rand(shape, generator=generator) < 0.1
    advantages = gae(rewards, values, next_values, cut, 0.99, 0.95)
    following = torch.zeros(5, dtype=torch.float64)
    for t in range(36, -1, -1):
        residual = rewards[t] + 0.99 * next_values[t] - values[t]
        following = residual + 0.99 * 0.95 * torch.where(cut[t], 0.0, following)
        assert torch.allclose(advantages[t], following, atol=1e-12)


def test_standardize_turns_a_constant_batch_into_zeros() -> None:
    assert standardize(torch.full((5,), 3.0)).abs().max() == 0
    spread = standardize(torch.tensor([1.0, 2.0, 3.0, 6.0]))
    assert abs(float(spread.mean())) < 1e-6
    assert abs(float(spread.square().mean()) - 1) < 1e-6


def test_explained_variance_is_one_for_a_perfect_and_zero_for_a_mean_predictor() -> None:
    targets = torch.tensor([1.0, 2.0, 4.0])
    assert explained_variance(targets, targets) == 1
    assert abs(explained_variance(targets.mean().expand(3), targets)) < 1e-6
    assert explained_variance(torch.tensor([0.0, 1.0]), torch.ones(2)) == 0
