import pytest
import torch
from torch import Tensor

from spacil.functional.sensitivity import batch_jacobian
from spacil.nets.discriminator import Discriminator
from spacil.nets.mlp import MLP
from spacil.smoothness.cost import cost_constants, cost_gradients
from spacil.smoothness.metric import local_lipschitz


def test_the_three_constants_of_a_linear_cost_are_known() -> None:
    """c = <p, s> + <q, a>, mu = W s: |p|, |q| and |W^T q|."""
    p = torch.tensor([3.0, 4.0, 0.0], dtype=torch.float64)
    q = torch.tensor([0.0, 2.0], dtype=torch.float64)
    matrix = torch.tensor([[1.0, 1.0, 1.0], [0.0, 3.0, 4.0]], dtype=torch.float64)
    states = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    constants = cost_constants(lambda s, a: s @ p + a @ q, lambda s: s @ matrix.T, states)
    assert constants["cost_lipschitz_state"] == pytest.approx(5.0)
    assert constants["cost_lipschitz_action"] == pytest.approx(2.0)
    assert constants["cost_lipschitz_response"] == pytest.approx(10.0)


def make_pair() -> tuple[Discriminator, MLP, Tensor]:
    generator = torch.Generator().manual_seed(0)
    discriminator = Discriminator(6, 2, (16, 16), generator=generator).double()
    policy = MLP([6, 20, 2], generator=generator).double()
    states = torch.randn(30, 6, generator=generator, dtype=torch.float64)
    return discriminator, policy, states


def test_the_response_is_the_policys_jacobian_applied_to_the_cost() -> None:
    """|grad_s c(s0, mu(s))| = |J^T grad_a c|, what the paper's cost penalty bounds."""
    discriminator, policy, states = make_pair()
    found = cost_gradients(discriminator.cost, policy, states)
    jacobian = batch_jacobian(policy, states)
    expected = torch.einsum("bas,ba->bs", jacobian, found["action"])
    assert torch.allclose(found["response"], expected, rtol=1e-9)
    constants = cost_constants(discriminator.cost, policy, states)
    assert constants["cost_lipschitz_response"] == pytest.approx(
        float(expected.norm(dim=-1).mean())
    )
    bound = found["action"].norm(dim=-1) * local_lipschitz(policy, states)
    assert bool((found["response"].norm(dim=-1) <= bound * (1 + 1e-9)).all())
