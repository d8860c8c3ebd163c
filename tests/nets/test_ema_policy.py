"""The mean over iterations: hand-worked numbers, and what it does not touch."""

import pytest
import torch

from spacil.nets.policy import EmaPolicy, GaussianPolicy


def policy_of(value: float) -> GaussianPolicy:
    policy = GaussianPolicy(2, [-1.0], [1.0], (3,))
    for parameter in policy.parameters():
        torch.nn.init.constant_(parameter, value)
    return policy


def values(policy: GaussianPolicy) -> set[float]:
    return {
        round(float(x), 6)
        for parameter in policy.parameters()
        for x in parameter.detach().flatten()
    }


@pytest.mark.parametrize(
    ("num_moves", "kept"), [(0, 0), (1, 0), (2, 2 / 3), (3, 3 / 4), (19, 0.95), (400, 0.95)]
)
def test_the_mean_keeps_more_of_itself_up_to_its_decay(num_moves: int, kept: float) -> None:
    ema, newest = EmaPolicy(policy_of(1.0), 0.95), policy_of(0.0)
    ema.update(newest, num_moves)
    assert values(ema.policy) == {round(kept, 6)} and values(newest) == {0}


def test_the_mean_is_of_what_policies_did_under_the_normalisers_of_their_time() -> None:
    policy = GaussianPolicy(3, [-1.0], [1.0], (), generator=torch.Generator().manual_seed(0))
    states = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    states[:, 2] = 1.0  # a dim that moves later
    policy.normalizer.merge(states)
    ema = EmaPolicy(policy, 0.95)
    ema.update(policy, 1)
    before = policy.mean(states)
    moved = 3.0 * states + torch.tensor([0.5, -2.0, 0.0])
    moved[:, 2] += torch.linspace(0, 1, 20)
    policy.normalizer.merge(moved)
    ema.update(policy, 3)  # linear policies: the mean of parameters is that of actions
    torch.testing.assert_close(ema.policy.mean(states), 0.75 * before + 0.25 * policy.mean(states))


def test_the_normaliser_is_the_newest_one() -> None:
    ema, newest = EmaPolicy(policy_of(0.0), 0.95), policy_of(1.0)
    newest.normalizer.merge(torch.tensor([[0.0, 10.0], [2.0, 30.0]]))
    ema.update(newest, 3)
    states = torch.tensor([[1.0, 40.0]])
    assert torch.equal(ema.policy.normalize(states), newest.normalize(states))
