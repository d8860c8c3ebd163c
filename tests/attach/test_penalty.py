"""The penalty's gradient arrives in other people's optimizers, and nothing else changes."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import spacil
from spacil.attach.penalty import AttachedPenalty
from spacil.errors import ConfigError
from spacil.learning.weight_search import LAWS, TargetSearch
from spacil.smoothness.metric import local_lipschitz


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))


def states(num: int = 40) -> Tensor:
    return torch.randn(num, 3, generator=torch.Generator().manual_seed(1))


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


def followed(target: float, steps: int, **wish: float) -> tuple[AttachedPenalty, nn.Module]:
    """A network that is fitted to a steep function, with a J asked for."""
    module = network()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    batch = states(64)
    wanted = torch.stack([3 * batch[:, 0], torch.sin(4 * batch[:, 1])], dim=1)
    attached = spacil.attach_penalty(optimizer, module, batch, target=target, **wish)
    for _ in range(steps):
        optimizer.zero_grad()
        (module(batch) - wanted).square().mean().backward()
        optimizer.step()
    return attached, module


def test_a_target_is_met_and_not_undercut() -> None:
    attached, module = followed(1.5, 1_500, weight=0.1)
    j = float(local_lipschitz(module, states(64)).mean())
    assert j == pytest.approx(1.5, rel=0.15)
    assert attached.j == pytest.approx(j, rel=0.05)
    assert attached.verdict is not None
    assert attached.verdict.gap == pytest.approx(attached.j / 1.5 - 1)


def test_a_target_far_above_lets_the_weight_fall_and_one_far_below_lets_it_rise() -> None:
    easy, _ = followed(50.0, 100)
    hard, _ = followed(0.01, 100)
    assert easy.weight < 0.01 < hard.weight
    assert easy.verdict is not None and easy.verdict.words == "met"
    assert hard.verdict is not None and not hard.verdict.is_met


def test_the_weight_moves_by_the_law_of_training_once_in_fifty_steps() -> None:
    attached, _ = followed(1.0, 49, weight=0.05)
    assert attached.weight == 0.05
    attached, _ = followed(1.0, 50, weight=0.05)
    assert attached.j is not None
    search = TargetSearch.starting(1.0, 0.05).after_batch(attached.j, LAWS["J"])
    assert attached.weight == pytest.approx(search.applied(LAWS["J"]))


def test_a_fixed_weight_stays_and_has_no_verdict() -> None:
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    attached = spacil.attach_penalty(optimizer, module, states, weight=0.2)
    assert attached.j is None
    for _ in range(120):
        optimizer.step()
    assert attached.weight == 0.2 and attached.verdict is None
    assert attached.j is not None


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({}, "neither weight nor target"),
        ({"target": 0.0}, "target is 0.0, expected a finite number above 0"),
        ({"target": float("nan")}, "target is nan"),
        ({"target": 1.0, "weight": 0.0}, "a target.s search begins"),
        ({"target": 1.0, "weight": -1.0}, "weight is -1.0"),
    ],
)
def test_a_wish_that_cannot_be_followed_is_refused(wish: dict[str, float], words: str) -> None:
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with pytest.raises(ConfigError, match=words):
        spacil.attach_penalty(optimizer, module, states, **wish)
    assert not optimizer._optimizer_step_pre_hooks


def test_a_penalty_that_reads_successors_says_so_where_there_are_none() -> None:
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    attached = spacil.attach_penalty(optimizer, module, states, penalty="cats")
    assert attached.weight == 1.0
    with pytest.raises(ConfigError, match="the states one step later, which are not known"):
        optimizer.step()
    with pytest.raises(ConfigError, match="pgd cannot be attached"):
        spacil.attach_penalty(optimizer, module, states, penalty="pgd")


def test_a_target_of_j_is_followed_by_another_penalty_too() -> None:
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    attached = spacil.attach_penalty(optimizer, module, states, penalty="frobenius", target=1.0)
    optimizer.step()
    before = network()
    assert attached.j == pytest.approx(float(local_lipschitz(before, states()).mean()), rel=1e-5)
