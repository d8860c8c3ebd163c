"""How a policy is looked at: which way its Jacobian is found, and its constants in every frame."""

import pytest
import torch
from torch import Tensor

from spacil.measuring.lens import Lens
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
