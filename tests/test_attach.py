"""The penalty's gradient arrives in other people's optimizers, and nothing else changes."""

from typing import Any

import numpy as np
import point_mass
import pytest
import torch
from torch import Tensor, nn

import spacil
from spacil.errors import ConfigError
from spacil.smoothness.metric import local_lipschitz


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))


def states(num: int = 40) -> Tensor:
    return torch.randn(num, 3, generator=torch.Generator().manual_seed(1))


def gradients(module: nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])


def test_a_linear_policy_gets_the_gradient_of_its_squared_norm() -> None:
    layer = nn.Linear(3, 1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    attached = spacil.attach_penalty(optimizer, layer, states(), weight=0.5)
    weight = layer.weight.detach().clone()
    layer.weight.grad = torch.ones_like(weight)
    optimizer.step()
    # sigma_max^2 of one row is |w|^2, its gradient 2 w.
    assert torch.allclose(layer.weight.detach(), weight - (1 + 0.5 * 2 * weight), atol=1e-5)
    assert attached.value == pytest.approx(weight.square().sum().item(), rel=1e-5)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_steps_with_it_make_a_network_smoother(kind: Any) -> None:
    module = network()
    before = float(local_lipschitz(module, states()).mean())
    optimizer = kind(module.parameters(), lr=0.01)
    spacil.attach_penalty(optimizer, module, states, weight=1.0)
    for _ in range(40):
        optimizer.zero_grad()
        optimizer.step()
    assert float(local_lipschitz(module, states()).mean()) < 0.9 * before


def test_removed_weightless_or_without_states_it_does_nothing() -> None:
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    start = [parameter.detach().clone() for parameter in module.parameters()]
    removed = spacil.attach_penalty(optimizer, module, states, weight=1.0)
    removed.remove()
    spacil.attach_penalty(optimizer, module, states, weight=0.0)
    spacil.attach_penalty(optimizer, module, lambda: None, weight=1.0)
    optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(start, module.parameters(), strict=True))
    assert removed.value is None


def test_parameters_of_other_optimizers_are_left_alone() -> None:
    body, head = nn.Linear(3, 4), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    spacil.attach_penalty(optimizer, nn.Sequential(body, head), states, weight=1.0)
    optimizer.step()
    assert body.weight.grad is None
    assert head.weight.grad is not None


def test_what_cannot_be_penalised_is_refused() -> None:
    module, other = network(), network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with pytest.raises(ConfigError, match="weight is -1"):
        spacil.attach_penalty(optimizer, module, states, weight=-1)
    foreign = spacil.attach_penalty(optimizer, other, states, weight=1.0)
    with pytest.raises(ConfigError, match="does not depend on any parameter"):
        optimizer.step()
    foreign.remove()
    flat = spacil.attach_penalty(optimizer, module, lambda: states().flatten(), weight=1.0)
    with pytest.raises(ConfigError, match=r"states have shape \(120,\)"):
        optimizer.step()
    flat.remove()
    spacil.attach_penalty(optimizer, module, states, weight=1.0)
    with pytest.raises(ConfigError, match="with a closure"):
        optimizer.step(lambda: 0.0)


# --- Stable-Baselines3, the real one


def trained(algorithm: str, weight: float, **settings: Any) -> Any:
    library = pytest.importorskip("stable_baselines3")
    model = getattr(library, algorithm)(
        "MlpPolicy",
        point_mass.make_point_mass(),
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": [16, 16]},
        **settings,
    )
    if weight >= 0:
        model.penalty = spacil.attach_to_sb3(model, weight=weight, num_states=32)
    model.learn(200)
    return model


def slope(model: Any) -> float:
    probe = np.random.default_rng(0).uniform(-1, 1, (100, 2)).astype(np.float32)
    report = spacil.measure_smoothness(model, probe)
    return report.smoothness_j_own


PPO = {"n_steps": 100, "batch_size": 50, "n_epochs": 5, "learning_rate": 0.003}
OFF_POLICY = {
    "learning_starts": 50,
    "batch_size": 32,
    "buffer_size": 300,
    "learning_rate": 0.003,
}


@pytest.mark.parametrize(
    ("algorithm", "settings"), [("PPO", PPO), ("SAC", OFF_POLICY), ("TD3", OFF_POLICY)]
)
def test_a_stable_baselines_policy_comes_out_smoother(
    algorithm: str, settings: dict[str, Any]
) -> None:
    plain, penalised = trained(algorithm, -1, **settings), trained(algorithm, 5.0, **settings)
    assert penalised.penalty.value is not None
    assert slope(penalised) < 0.8 * slope(plain)


def test_without_weight_a_stable_baselines_run_is_the_same_bit_for_bit() -> None:
    plain, attached = trained("PPO", -1, **PPO), trained("PPO", 0.0, **PPO)
    ours, theirs = plain.policy.state_dict(), attached.policy.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_a_model_without_a_buffer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"only observations of shape \(n,\)"):
        spacil.attach_to_sb3(network(), weight=1.0)
    model = trained("PPO", -1, **PPO)
    model.rollout_buffer = None
    with pytest.raises(ConfigError, match="a rollout buffer"):
        spacil.attach_to_sb3(model, weight=1.0)
    with pytest.raises(ConfigError, match="num_states is 0"):
        spacil.attach_to_sb3(model, weight=1.0, num_states=0)
