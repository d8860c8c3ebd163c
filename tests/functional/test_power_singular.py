import torch

from spacil.functional.spectral import batch_jacobian, power_singular
from spacil.nets.mlp import MLP


def make_net(num_actions: int) -> MLP:
    return MLP([9, 30, num_actions], generator=torch.Generator().manual_seed(0)).double()


def make_states() -> torch.Tensor:
    return torch.randn(12, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_power_iteration_agrees_with_the_dense_norm() -> None:
    net, states = make_net(40), make_states()
    dense = torch.linalg.matrix_norm(batch_jacobian(net, states), ord=2)
    power = power_singular(net, states, tolerance=1e-13, max_steps=5_000)
    assert torch.allclose(power, dense, rtol=1e-9)
    assert bool((power_singular(net, states) <= dense * (1 + 1e-12)).all())


def test_it_sees_through_scaled_columns_and_masked_rows() -> None:
    net, states = make_net(3), make_states()
    columns = torch.linspace(0, 2, 9, dtype=torch.float64)
    rows = torch.rand(12, 3, generator=torch.Generator().manual_seed(2)) > 0.4
    seen = batch_jacobian(net, states) * columns * rows.unsqueeze(-1)
    dense = torch.linalg.matrix_norm(seen, ord=2)
    power = power_singular(net, states, columns, rows, tolerance=1e-13, max_steps=5_000)
    assert torch.allclose(power, dense, atol=1e-9)


def test_constant_and_dead_functions_have_norm_zero() -> None:
    states = make_states()
    assert power_singular(lambda s: torch.ones(len(s), 40), states).abs().max() == 0
    assert power_singular(lambda s: 0 * s, states).abs().max() == 0
