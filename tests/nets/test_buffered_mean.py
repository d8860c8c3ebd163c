import torch

from spacil.nets.policy import BufferedMean, GaussianPolicy


def test_it_equals_the_policys_mean_bit_for_bit_also_after_the_policy_has_moved() -> None:
    generator = torch.Generator().manual_seed(0)
    policy = GaussianPolicy(5, [-1.0] * 3, [1.0] * 3, (40, 30), generator=generator)
    mean = BufferedMean(policy, 7)
    for _ in range(2):
        states = 3 * torch.randn(7, 5, generator=generator)
        with torch.no_grad():
            assert torch.equal(mean(states), policy.mean(states))
            policy.mean_net.weights_and_biases[0][0].add_(0.1)
        policy.normalizer.merge(states)
