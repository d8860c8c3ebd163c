"""The cost's penalty as settings ask for it: forms, units, subsets, and how actions are read."""

from typing import Any

import pytest
import torch
from penalty_cases import assert_unbiased, make_config, make_policy, make_rows
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.nets.discriminator import Discriminator
from spacil.seeding import Streams
from spacil.smoothness.cost import cost_penalty, draw_pairs


def drawn_cost_penalty(sides: dict[str, Any], config: TrainConfig, seed: int = 0) -> Tensor:
    nets = (sides["discriminator"], sides["policy"])
    drawn = draw_pairs(*nets, sides["agent"], sides["expert"], config, Streams.from_seed(seed))
    return cost_penalty(*nets, drawn, config).detach()


def make_sides() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    discriminator = Discriminator(4, 2, (16,), "tanh", generator=generator).double()
    discriminator.read_actions_clipped(-torch.ones(2), torch.ones(2))
    rows, expert = make_rows(), make_rows(40)
    assert rows.actions is not None
    return {
        "discriminator": discriminator,
        "policy": make_policy(),
        "agent": (rows.states, 2 * rows.actions),
        "expert": (expert.states + 1, expert.states[:, :2].clamp(-1, 1)),
    }


def cost_values(num_seeds: int, **settings: Any) -> Tensor:
    config, sides = make_config(**settings), make_sides()
    return torch.stack([drawn_cost_penalty(sides, config, seed) for seed in range(num_seeds)])


def cost_value(**settings: Any) -> float:
    return float(cost_values(1, **settings))


@pytest.mark.parametrize("form", ["response", "both", "state", "gp", "r1"])
def test_a_subset_of_the_cost_penalty_is_unbiased(form: str) -> None:
    settings = {"cost_penalty_form": form if form == "r1" else f"{form}:mixing=none"}
    truth = cost_value(penalty_state_fraction=1.0, **settings)
    assert_unbiased(cost_values(100, penalty_state_fraction=0.25, **settings), truth)


@pytest.mark.parametrize("form", ["response", "both", "state"])
def test_ascent_and_gradient_norm_agree_in_every_form_and_scale(form: str) -> None:
    def value(arguments: str) -> float:
        return cost_value(cost_penalty_form=form + arguments, penalty_state_fraction=0.5)

    exact = value("")
    for scale, factor in (("lipschitz", 1.0), ("paper-mean", 0.01), ("paper-sum", 0.01 * 60)):
        ascent = value(f":scale={scale}:estimator=pgd:steps=30")
        assert ascent == pytest.approx(factor * exact, rel=0.05)


def test_gradient_penalties_see_actions_as_the_discriminator_reads_them() -> None:
    # Beyond the bounds it reads a constant; on the bound it still has a slope.
    sides = make_sides()
    config = make_config(cost_penalty_form="gp:mixing=none")
    inside = drawn_cost_penalty(sides, config)
    states, actions = sides["agent"]
    again = drawn_cost_penalty(sides | {"agent": (states, actions.clamp(-1, 1))}, config)
    assert torch.equal(inside, again)
