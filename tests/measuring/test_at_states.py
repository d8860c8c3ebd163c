"""How a policy is looked at: its constants in every frame."""

import pytest
import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.measuring.at_states import ball_estimates, cost_summaries
from spacil.measuring.frames import local_j
from spacil.policies.policy import OwnFrame, Policy

SLOPES = torch.linspace(1, 5, 5)
FRAME = CommonFrame(torch.ones(len(SLOPES), dtype=torch.float64), "ones")


@pytest.mark.parametrize("has_gradients", [True, False])
def test_j_of_a_diagonal_policy_is_its_largest_slope(has_gradients: bool) -> None:
    policy = Policy("plain", "callable", lambda s: s * SLOPES, has_gradients=has_gradients)
    found = local_j(policy, torch.zeros(2, len(SLOPES)), FRAME)
    assert found["own"].tolist() == pytest.approx([5.0, 5.0], rel=1e-3)


def test_without_bounds_nothing_is_known_of_what_passes_them() -> None:
    policy = Policy("plain", "callable", lambda states: states * SLOPES)
    states, ones = torch.zeros(2, len(SLOPES)), SLOPES / SLOPES
    assert local_j(policy, states, FRAME)["effective"] is None
    assert local_j(policy, states, FRAME, (-ones, ones))["effective"] is not None


def test_slopes_of_a_linear_cost_by_hand_in_every_frame() -> None:
    # cost = 3 x + 4 y + 2 a with a = 6 x; a common unit is 2 units of the own frame in x and y.
    def cost(states: Tensor, actions: Tensor) -> Tensor:
        return states @ torch.tensor([3.0, 4.0, 50.0]) + 2 * actions.squeeze(-1)

    def mean(states: Tensor) -> Tensor:
        return 6 * states[:, :1]

    own = OwnFrame(lambda states: states, mean, torch.tensor([2.0, 0.5, 0.0]), 10.0)
    frame = CommonFrame(torch.tensor([1.0, 4.0, 7.0], dtype=torch.float64), "a test")
    states = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    found = cost_summaries(cost, Policy("linear", "callable", mean, own=own), states, frame)
    means = {"in_state": 5, "in_action": 2, "response": 12}
    means |= {"in_state_common": 10, "response_common": 24}
    assert found.pop("num_states") == 7
    assert {name: each.mean for name, each in found.items()} == pytest.approx(means)
    assert {name: each.max for name, each in found.items()} == pytest.approx(means)


def test_ball_estimates_of_a_linear_policy_are_means_near_its_slope() -> None:
    """Ascent from a sphere of radius 0.1: power iteration finds the slope 5, the others less."""
    slopes, ones = torch.tensor([1.0, 2.0, 5.0]), torch.ones(3)
    policy = Policy("linear", "callable", lambda states: states * slopes, std=0.5 * ones)
    draws = torch.Generator().manual_seed(0)
    found = ball_estimates(policy.with_derivatives(ones), torch.zeros(20, 3), draws, radius=0.1)
    assert (found["num_states"], found["exact"]) == (20, pytest.approx(5))
    assert found["power"] == pytest.approx(5, rel=1e-2)
    assert 1 < found["raw"] <= 5 and 1 < found["normalized"] <= 5
    assert found["jeffreys"] == pytest.approx((0.1 * 5) ** 2 / 2, rel=2e-2)
    assert found["jeffreys_policy_std"] == pytest.approx(4 * found["jeffreys"], rel=1e-3)
