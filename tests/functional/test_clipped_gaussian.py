"""The likelihood of an action as executed: a density inside the bounds, a mass on each of them."""

import math

import pytest
import torch
from torch import Tensor

from spacil.functional.policy_gradient import clipped_log_prob, log_prob


def on(values: float | list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def log_prob_1d(action: float, mean: float, std: float, low: float, high: float) -> float:
    found = clipped_log_prob(on([[action]]), on([[mean]]), on([std]).log(), on([low]), on([high]))
    return float(found)


def below(z: float) -> float:
    """Probability that a standard normal is below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (0.5, math.log(math.exp(-0.5 * 0.25**2) / (2 * math.sqrt(2 * math.pi)))),
        (-1.0, math.log(below(-0.5))),  # the mean 0 is half a spread above the low bound
        (2.0, math.log(below(-1.0))),  # and one spread below the high one
    ],
)
def test_density_inside_and_mass_on_the_bounds(action: float, expected: float) -> None:
    assert log_prob_1d(action, 0.0, 2.0, -1.0, 2.0) == pytest.approx(expected, rel=1e-12)


def test_what_lies_beyond_a_bound_is_on_it() -> None:
    assert log_prob_1d(-7.0, 0.0, 2.0, -1.0, 2.0) == log_prob_1d(-1.0, 0.0, 2.0, -1.0, 2.0)
    assert log_prob_1d(7.0, 0.0, 2.0, -1.0, 2.0) == log_prob_1d(2.0, 0.0, 2.0, -1.0, 2.0)


@pytest.mark.parametrize("mean", [-3.0, -0.2, 0.0, 1.7])
@pytest.mark.parametrize("std", [0.2, 1.0, 3.0])
def test_density_and_masses_add_up_to_one(mean: float, std: float) -> None:
    low, high, size = -1.0, 1.5, 20_001
    inside = torch.linspace(low, high, size + 2, dtype=torch.float64)[1:-1].unsqueeze(-1)
    bounds, log_std = (on([low]), on([high])), on([std]).log()
    density = clipped_log_prob(inside, on([[mean]]), log_std, *bounds).exp()
    width = (high - low) / (size + 1)
    masses = clipped_log_prob(on([[low], [high]]), on([[mean]]), log_std, *bounds).exp()
    assert float(density.sum() * width + masses.sum()) == pytest.approx(1, abs=2e-4)


def test_without_bounds_it_is_the_gaussian() -> None:
    generator = torch.Generator().manual_seed(0)
    actions, mean = torch.randn(2, 40, 3, generator=generator, dtype=torch.float64)
    log_std = on([-0.5, 0.0, 0.7])
    open_bounds = (torch.full((3,), -torch.inf), torch.full((3,), torch.inf))
    found = clipped_log_prob(actions, mean, log_std, *open_bounds)
    torch.testing.assert_close(found, log_prob(actions, mean, log_std))


def test_dims_are_independent() -> None:
    low, high, log_std = on([-1.0, -1.0]), on([1.0, 1.0]), on([0.0, -1.0])
    mean, action = on([[0.3, 0.2]]), on([[1.0, 0.5]])
    apart = [
        clipped_log_prob(action[:, [i]], mean[:, [i]], log_std[[i]], low[[i]], high[[i]])
        for i in (0, 1)
    ]
    together = clipped_log_prob(action, mean, log_std, low, high)
    torch.testing.assert_close(together, apart[0] + apart[1])


def test_far_beyond_a_bound_it_stays_finite_also_in_single_precision() -> None:
    mean = torch.tensor([[50.0]])
    found = clipped_log_prob(-torch.ones(1, 1), mean, torch.zeros(1), -torch.ones(1), torch.ones(1))
    assert -1400 < float(found) < -1300  # about -51^2 / 2 - log 51
    assert bool(found.isfinite())
