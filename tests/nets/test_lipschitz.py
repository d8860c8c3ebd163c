"""A network that is kept within a Lipschitz constant by its layers' spectral norms."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from spacil.functional.spectral import (
    batch_jacobian,
    spectral_norm,
    with_clipped_singular_values,
)
from spacil.nets.lipschitz import common_cap, keep_lipschitz
from spacil.nets.mlp import MLP


def network(scale: float = 3.0) -> MLP:
    found = MLP([5, 32, 24, 3], generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight, _ in found.weights_and_biases:
            weight.mul_(scale)
    return found


def norms(of: MLP) -> list[float]:
    return [float(torch.linalg.matrix_norm(w.detach(), ord=2)) for w, _ in of.weights_and_biases]


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_only_singular_values_above_the_bound_are_cut(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    before = torch.linalg.svdvals(matrix)
    bound = float(before[1:3].mean())
    clipped = with_clipped_singular_values(matrix, bound)
    kept = before.clamp_max(bound)
    assert torch.linalg.svdvals(clipped).tolist() == pytest.approx(kept.tolist(), rel=1e-5)
    # The nearest such matrix: the distance is what the singular values lost.
    lost = (before - kept).norm()
    assert float((clipped - matrix).norm()) == pytest.approx(float(lost), rel=1e-4)
    assert float(spectral_norm(clipped)) == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize(
    ("of", "product", "cap"),
    [
        ((8.0, 2.0, 1.0), 8.0, 4.0),  # the largest alone gives way
        ((8.0, 2.0, 1.0), 1.0, 1.0),  # all are cut to what the smallest has
        ((8.0, 2.0, 1.0), 0.125, 0.5),
        ((2.0, 2.0), 1.0, 1.0),
        ((8.0, 2.0, 1.0), 16.0, math.inf),
        ((8.0, 0.0), 1.0, math.inf),
    ],
)
def test_the_largest_layers_give_way_first(
    of: tuple[float, ...], product: float, cap: float
) -> None:
    assert common_cap(of, product) == pytest.approx(cap)
    assert math.prod(min(norm, cap) for norm in of) <= product * (1 + 1e-12)


@pytest.mark.parametrize("constant", [0.1, 1.0, 3.0])
def test_no_jacobian_exceeds_the_constant_and_no_pair_does(constant: float) -> None:
    bounded = network()
    assert math.prod(norms(bounded)) > 3.0
    keep_lipschitz(bounded, constant)
    assert math.prod(norms(bounded)) == pytest.approx(constant, rel=1e-5)
    states = 3 * torch.randn(500, 5, generator=torch.Generator().manual_seed(2))
    sigma_max = torch.linalg.matrix_norm(batch_jacobian(bounded, states), ord=2)
    assert 0 < float(sigma_max.max()) <= constant * (1 + 1e-5)
    for one, other in pairwise(states.split(100)):
        with torch.no_grad():
            moved = (bounded(one) - bounded(other)).norm(dim=-1)
        assert bool((moved <= constant * (1 + 1e-5) * (one - other).norm(dim=-1)).all())


def test_a_network_within_its_bound_is_left_alone_bit_for_bit() -> None:
    free, same = network(), network()
    keep_lipschitz(same, 2 * math.prod(norms(same)))

    def parameters(of: MLP) -> list[Tensor]:
        return [tensor for pair in of.weights_and_biases for tensor in pair]

    assert all(map(torch.equal, parameters(free), parameters(same)))
    keep_lipschitz(same, 1.0)
    once = [tensor.clone() for tensor in parameters(same)]
    keep_lipschitz(same, 1.0 + 1e-5)
    assert all(map(torch.equal, once, parameters(same)))
