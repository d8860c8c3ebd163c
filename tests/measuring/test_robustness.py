from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from spacil.envs.episodes import Actor, play
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.measuring.robustness import (
    measure_robustness,
    with_action_delay,
    with_attack,
    with_noise,
    with_observation_delay,
    worst_offset,
)
from spacil.nets.mlp import MLP
from spacil.seeding import stream


@pytest.fixture
def reacher() -> Iterator[VectorEnv]:
    env = make_vector_env("Reacher-v4", 2, ResetSeeds(0, "test"))
    yield env
    env.close()


def identity(states: Tensor) -> Tensor:
    return states


def make_policy() -> MLP:
    return MLP([11, 16, 2], generator=torch.Generator().manual_seed(0)).requires_grad_(False)


def test_noise_is_uniform_within_its_half_widths() -> None:
    half_width = torch.tensor([0.5, 0.0, 2.0])
    disturbed = with_noise(identity, half_width, torch.Generator().manual_seed(0))
    seen = torch.cat([disturbed(torch.zeros(100, 3)) for _ in range(100)])
    assert bool((seen.abs() <= half_width).all())
    assert torch.allclose(seen.std(0), half_width / 3**0.5, atol=0.02)
    assert seen[:, 1].abs().max() == 0


@pytest.mark.parametrize(
    ("delay", "executed"),
    [(with_observation_delay, [10, 10, 10, 11, 12]), (with_action_delay, [0, 0, 10, 11, 12])],
)
def test_a_delay_is_of_steps(delay: Callable[[Actor, int], Actor], executed: list[float]) -> None:
    delayed = delay(lambda states: states + 10, 2)
    assert [float(delayed(torch.tensor([[float(t)]]))) for t in range(5)] == executed


def test_the_attack_finds_the_worst_corner_of_a_linear_policy() -> None:
    """max |W d| over |d_i| <= r_i is at d = r sign(w), for one action."""
    weight = torch.tensor([[3.0, -2.0, 0.5]])
    radius = torch.tensor([0.1, 0.2, 0.3])
    states = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    offset = worst_offset(lambda s: s @ weight.T, states, radius, torch.Generator().manual_seed(1))
    assert torch.allclose(offset.abs(), radius.expand(20, 3))
    reached = (offset @ weight.T).abs().squeeze(-1)
    assert torch.allclose(reached, (weight.abs() @ radius).expand(20), atol=1e-6)


def test_the_attack_goes_on_from_its_corner_as_far_as_the_action_changes() -> None:
    """Half of the directions change nothing: max(0, x + 2 y). A corner that changes something
    leads to the one that changes most, and its opposite is no way there."""
    states, radius = torch.zeros(64, 2), torch.tensor([0.1, 0.1])
    slopes = torch.tensor([[1.0], [2.0]])
    draws = torch.Generator().manual_seed(0)
    offset = worst_offset(lambda s: (s @ slopes).relu(), states, radius, draws)
    reached = (offset @ slopes).relu().squeeze(-1)
    is_moved = reached > 0
    assert 16 < int(is_moved.sum()) < 48
    assert torch.allclose(reached[is_moved], torch.tensor(0.3))


# The first action is far beyond its bound: only the second one can change, most at x = -y. The
# unclipped actions change most at x = y.
SLOPES = torch.tensor([[5.0, 4.5], [0.5, -0.4]])


def half_saturated(states: Tensor) -> Tensor:
    return states[:, :2] @ SLOPES.T + torch.tensor([20.0, 0.0])


def half_saturated_executed(states: Tensor) -> Tensor:
    return half_saturated(states).clamp(-1, 1)


def test_the_attack_spends_nothing_on_what_the_bounds_cut_off() -> None:
    states, radius = torch.zeros(8, 2), torch.tensor([0.2, 0.2])

    def change_by(attacked: Actor) -> Tensor:
        offset = worst_offset(attacked, states, radius, torch.Generator().manual_seed(0))
        return half_saturated_executed(offset)[:, 1].abs()

    assert torch.allclose(change_by(half_saturated_executed), torch.full((8,), 0.9 * 0.2))
    assert torch.allclose(change_by(half_saturated), torch.full((8,), 0.1 * 0.2))


def test_measuring_attacks_the_action_that_the_env_executes(reacher: VectorEnv) -> None:
    def average_return(attacked: Actor) -> float:
        actor = with_attack(half_saturated, attacked, 0.2 * torch.ones(11), stream(0, "attack"))
        return float(np.mean([t.total_return for t in play(reacher, lambda: actor, 2)]))

    found = measure_robustness(
        reacher, half_saturated, half_saturated, torch.ones(11), 0.2, 2, seed=0
    )
    measured = found["action_difference_attack"]["average_return"]
    assert measured == pytest.approx(average_return(half_saturated_executed))
    assert measured != pytest.approx(average_return(half_saturated))


def test_a_constant_policy_cannot_be_attacked() -> None:
    offset = worst_offset(
        lambda s: torch.ones(len(s), 2),
        torch.zeros(4, 3),
        torch.ones(3),
        torch.Generator().manual_seed(0),
    )
    assert bool((offset.abs() <= 1).all())


def test_all_disturbances_are_measured_and_none_is_free(reacher: VectorEnv) -> None:
    policy = make_policy()
    std = torch.ones(11)
    found = measure_robustness(reacher, policy, policy, std, 0.2, 2, seed=0)
    assert [point["level"] for point in found["observation_noise"]] == [0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert [point["level"] for point in found["observation_delay"]] == [1, 2, 3]
    assert [point["level"] for point in found["action_delay"]] == [1, 2, 3]
    clean = np.mean([t.total_return for t in play(reacher, lambda: policy, 2)])
    assert found["observation_noise"][0]["average_return"] == pytest.approx(clean)
    others = [
        *found["observation_noise"][1:],
        found["action_difference_attack"],
        *found["action_delay"],
    ]
    assert all(point["average_return"] != pytest.approx(clean, abs=1e-9) for point in others)
    again = measure_robustness(reacher, policy, policy, std, 0.2, 2, seed=0)
    assert again == found
