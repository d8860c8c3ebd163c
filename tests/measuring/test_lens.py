"""How a policy is looked at: which way its Jacobian is found, and its constants in every frame."""

import pytest
import torch
from torch import Tensor

from spacil.measuring.lens import Lens, ball_estimates, cost_summaries
from spacil.smoothness.metric import MAX_DENSE_ACTIONS, Frames

SLOPES = torch.linspace(1, 5, MAX_DENSE_ACTIONS + 1)


def lens_of(*, is_exact: bool, has_bounds: bool = True) -> Lens:
    """Many actions, each a multiple of a state of its own."""
    ones = torch.ones(len(SLOPES))
    frames = Frames(ones, ones, -ones, ones, state_clip=10.0)

    def mean(states: Tensor) -> Tensor:
        return states * SLOPES

    return Lens(lambda states: states, mean, frames, has_bounds, is_exact)


@pytest.mark.parametrize(
    ("is_exact", "unused"), [(True, "batch_jacobian"), (False, "power_singular")]
)
def test_power_iteration_is_for_exact_gradients_only(
    is_exact: bool, unused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It differentiates twice, which gradients by differences do not survive."""
    monkeypatch.setattr(f"spacil.smoothness.metric.{unused}", None)
    found = lens_of(is_exact=is_exact).constants(torch.zeros(2, len(SLOPES)))
    assert found.own.tolist() == pytest.approx([5.0, 5.0], rel=1e-3)


def test_without_bounds_nothing_is_known_of_what_passes_them() -> None:
    states = torch.zeros(2, len(SLOPES))
    assert lens_of(is_exact=True, has_bounds=False).constants(states).effective is None
    assert lens_of(is_exact=True).constants(states).effective is not None


def test_slopes_of_a_linear_cost_by_hand_in_every_frame() -> None:
    # cost = 3 x + 4 y + 2 a with a = 6 x; a common unit is 2 units of the own frame in x and y.
    def cost(states: Tensor, actions: Tensor) -> Tensor:
        return states @ torch.tensor([3.0, 4.0, 50.0]) + 2 * actions.squeeze(-1)

    def mean(states: Tensor) -> Tensor:
        return 6 * states[:, :1]

    own_scale, common_std = torch.tensor([2.0, 0.5, 0.0]), torch.tensor([1.0, 4.0, 7.0])
    frames = Frames(own_scale, common_std, torch.tensor([-9.0]), torch.tensor([9.0]), 10.0)
    lens = Lens(lambda states: states, mean, frames, has_bounds=True, is_exact=True)
    found = cost_summaries(
        cost, lens, torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    )
    assert found.num_states == 7
    assert found.in_state_common is not None and found.response_common is not None
    summaries = (found.in_state, found.in_action, found.response)
    assert [each.mean for each in summaries] == pytest.approx([5, 2, 12])
    assert [each.max for each in summaries] == pytest.approx([5, 2, 12])
    assert found.in_state_common.mean == pytest.approx(10)
    assert found.response_common.mean == pytest.approx(24)


def test_ball_estimates_of_a_linear_policy_are_means_near_its_slope() -> None:
    """Ascent from a sphere of radius 0.1: power iteration finds the slope 5, the others less."""
    slopes, ones = torch.tensor([1.0, 2.0, 5.0]), torch.ones(3)
    frames = Frames(ones, None, -ones, ones, 10.0)
    lens = Lens(lambda s: s, lambda s: s * slopes, frames, has_bounds=True, is_exact=True)
    draws = torch.Generator().manual_seed(0)
    found = ball_estimates(lens, torch.zeros(20, 3), 0.5 * ones, draws, radius=0.1)
    assert (found.num_states, found.exact) == (20, pytest.approx(5))
    assert found.power == pytest.approx(5, rel=1e-2)
    assert 1 < found.raw <= 5 and 1 < found.normalized <= 5
    assert found.jeffreys == pytest.approx((0.1 * 5) ** 2 / 2, rel=2e-2)
    assert found.jeffreys_policy_std == pytest.approx(4 * found.jeffreys, rel=1e-3)
