"""What the policy is paid: forms of one logit, with D high on the agent."""

import math

import pytest
import torch

from spacil.learning.adversary import RewardForm, imitation_reward

LOG_3 = math.log(3)
"""The logit of D = 3/4: the discriminator is rather sure that it sees the agent."""


@pytest.mark.parametrize(
    ("form", "logit", "reward"),
    [
        ("positive", LOG_3, math.log(4 / 3)),  # -log 3/4
        ("positive", -LOG_3, math.log(4)),  # -log 1/4
        ("positive", 0.0, math.log(2)),
        ("negative", LOG_3, -math.log(4)),  # log 1/4
        ("negative", -LOG_3, -math.log(4 / 3)),  # log 3/4
        ("negative", 0.0, -math.log(2)),
        ("logit", LOG_3, -LOG_3),
        ("logit", -LOG_3, LOG_3),
        ("logit", 0.0, 0.0),
    ],
)
def test_each_form_by_hand(form: RewardForm, logit: float, reward: float) -> None:
    found = imitation_reward(form, torch.tensor([logit], dtype=torch.float64))
    assert float(found) == pytest.approx(reward, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("form", ["positive", "negative", "logit"])
def test_a_saturated_discriminator_pays_finite_rewards(form: RewardForm) -> None:
    rewards = imitation_reward(form, torch.tensor([-1e4, 1e4]))
    assert bool(rewards.isfinite().all())


def test_a_reward_has_no_graph() -> None:
    logits = torch.zeros(3, requires_grad=True)
    assert not imitation_reward("positive", logits).requires_grad
