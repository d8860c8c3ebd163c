import itertools

import torch

from spacil.functional.sensitivity import batch_jacobian, power_singular
from spacil.nets.mlp import MLP


def make_net(num_actions: int) -> MLP:
    return MLP([9, 30, num_actions], generator=torch.Generator().manual_seed(0)).double()


def make_states() -> torch.Tensor:
    return torch.randn(12, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_power_iteration_agrees_with_the_dense_norm() -> None:
    net, states = make_net(40), make_states()
    dense = torch.linalg.matrix_norm(batch_jacobian(net, states), ord=2)
    assert torch.allclose(power_singular(net, states), dense, rtol=1e-9)


def test_few_steps_find_less_and_never_more() -> None:
    net, states = make_net(40), make_states()
    dense = torch.linalg.matrix_norm(batch_jacobian(net, states), ord=2)
    found = [power_singular(net, states, num_steps=steps) for steps in (1, 2, 4, 9)]
    for fewer, more in itertools.pairwise(found):
        assert bool((fewer <= more * (1 + 1e-12)).all())
    assert bool((found[-1] <= dense * (1 + 1e-12)).all())
    assert found[0].mean() < 0.9 * dense.mean()


def test_a_wide_float32_network_is_measured_to_a_millionth_on_average() -> None:
    generator = torch.Generator().manual_seed(0)
    net = MLP([111, 100, 80, 64], generator=generator).requires_grad_(False)
    states = torch.randn(100, 111, generator=generator)
    dense = torch.linalg.matrix_norm(batch_jacobian(net, states), ord=2)
    ratio = power_singular(net, states) / dense
    assert ratio.mean() > 1 - 1e-5 and ratio.min() > 0.999


def test_it_sees_through_scaled_columns_and_masked_rows() -> None:
    net, states = make_net(3), make_states()
    columns = torch.linspace(0, 2, 9, dtype=torch.float64)
    rows = torch.rand(12, 3, generator=torch.Generator().manual_seed(2)) > 0.4
    seen = batch_jacobian(net, states) * columns * rows.unsqueeze(-1)
    dense = torch.linalg.matrix_norm(seen, ord=2)
    power = power_singular(net, states, columns, rows)
    assert torch.allclose(power, dense, atol=1e-9)


def test_constant_and_dead_functions_have_norm_zero() -> None:
    states = make_states()
    assert power_singular(lambda s: torch.ones(len(s), 40), states).abs().max() == 0
    assert power_singular(lambda s: 0 * s, states).abs().max() == 0
