import torch
from torch.distributions import Independent, Normal, kl_divergence

from spacil.functional.policy_gradient import jeffreys_divergence, kl_old_new, log_prob


def _draw(seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)

    def sample(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return sample(7, 3), sample(7, 3), sample(3), sample(3), sample(7, 3)


def test_log_prob_and_kl_equal_the_reference_distributions() -> None:
    mean, other_mean, log_std, other_log_std, actions = _draw(0)
    old = Independent(Normal(mean, log_std.exp()), 1)
    new = Independent(Normal(other_mean, other_log_std.exp()), 1)
    assert torch.allclose(log_prob(actions, mean, log_std), old.log_prob(actions), atol=1e-12)
    ours = kl_old_new(mean, log_std, other_mean, other_log_std)
    assert torch.allclose(ours, kl_divergence(old, new), atol=1e-12)


def test_kl_of_equal_gaussians_is_exactly_zero_in_float32() -> None:
    mean, _, log_std, _, _ = (tensor.float() for tensor in _draw(1))
    assert kl_old_new(mean, log_std, mean, log_std).abs().max() == 0


def test_jeffreys_is_the_mean_of_both_kls() -> None:
    mean, other_mean, log_std, _, _ = _draw(2)
    both = kl_old_new(mean, log_std, other_mean, log_std)
    both = (both + kl_old_new(other_mean, log_std, mean, log_std)) / 2
    ours = jeffreys_divergence(mean, other_mean, log_std.exp())
    assert torch.allclose(ours, both, atol=1e-12)
