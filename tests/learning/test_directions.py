"""Both adversaries learn the right way round: whom they pay, what they report, what is smoothed.

The agent's actions lie around +0.5, the demonstrator's around -0.5, so what is right is known.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from spacil.config.defaults import default_config
from spacil.config.flat import with_settings
from spacil.engine.device import Recorder
from spacil.errors import ConfigError
from spacil.learning.adversary import Adversary, AgentBatch, AirlAdversary, GailAdversary
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.cost import cost_constants
from spacil.types import ExpertBatch

SETTINGS: dict[str, Any] = {
    "discriminator_hidden": (16,),
    "discriminator_activation": "tanh",
    "discriminator_learning_rate": 0.01,
    "standardize_actions": False,
    "penalty_state_fraction": 1.0,
}
KINDS = {"spacil": GailAdversary, "airl": AirlAdversary}


def states_and_actions(side: float, size: int, seed: int) -> tuple[Tensor, Tensor]:
    draws = torch.Generator().manual_seed(seed)
    states = torch.randn(size, 3, generator=draws)
    return states, side + 0.2 * torch.randn(size, 2, generator=draws)


def agent_batch(size: int = 80) -> AgentBatch:
    states, actions = states_and_actions(0.5, size, 0)
    return AgentBatch(states, actions, states.roll(1, 0), torch.zeros(size, dtype=torch.bool))


def expert_batch(size: int = 50) -> ExpertBatch:
    states, actions = states_and_actions(-0.5, size, 1)
    return ExpertBatch(states, actions, states.roll(1, 0), torch.zeros(size, dtype=torch.bool))


def as_agent(expert: ExpertBatch) -> AgentBatch:
    return AgentBatch(expert.states, expert.actions, expert.next_states, expert.terminated)


def make(algorithm: str, **changes: Any) -> Adversary:
    without_penalty = {} if algorithm == "airl" else {"lambda_cost": 0.0}
    settings = SETTINGS | without_penalty | changes
    preset = "plain" if algorithm == "spacil" else "none"  # a weight of our own, as given
    config = with_settings(default_config(algorithm, "Reacher-v4", preset), settings)
    draws = torch.Generator().manual_seed(2)
    policy = GaussianPolicy(3, [-1.0] * 2, [1.0] * 2, (8,), generator=draws)
    return KINDS[algorithm](config, policy, expert_batch(), draws)


def train(adversary: Adversary, num_steps: int) -> Any:
    return adversary.train(agent_batch(), num_steps, Streams.from_seed(0), Recorder())


@pytest.mark.parametrize("algorithm", KINDS)
def test_the_loss_falls_and_d_goes_to_one_on_the_agent(algorithm: str) -> None:
    adversary = make(algorithm)
    first = train(adversary, 100)
    last = train(adversary, 0)
    assert last.disc_loss < 0.5 * first.disc_loss
    assert last.disc_acc_agent > 0.9 and last.disc_acc_expert > 0.9
    assert float(adversary.logits_agent_is_high(agent_batch()).mean()) > 1
    assert float(adversary.logits_agent_is_high(as_agent(expert_batch())).mean()) < -1


@pytest.mark.parametrize(
    "inputs",
    [("states",), ("states", "next_states"), ("actions", "next_states", "states")],
    ids=str,
)
def test_a_discriminator_reads_what_it_is_told_to(inputs: tuple[str, ...]) -> None:
    adversary = make("spacil", discriminator_inputs=inputs)
    batch = agent_batch()
    before = adversary.logits_agent_is_high(batch)
    assert (adversary.cost is None) is ("next_states" in inputs)
    for name, field in (("actions", batch.actions), ("next_states", batch.next_states)):
        assert field is not None
        changed = replace(batch, **{name: field.flip(0)})
        is_same = torch.equal(adversary.logits_agent_is_high(changed), before)
        assert is_same is (name not in inputs)
    first, last = train(adversary, 60), train(adversary, 0)
    assert last.disc_loss < first.disc_loss


def test_after_a_termination_the_next_state_is_not_read() -> None:
    adversary = make("spacil", discriminator_inputs=("states", "next_states"))
    batch = replace(agent_batch(), terminated=torch.ones(80, dtype=torch.bool))
    assert batch.next_states is not None
    elsewhere = replace(batch, next_states=batch.next_states + 7)
    ours, theirs = (adversary.logits_agent_is_high(each) for each in (batch, elsewhere))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"discriminator_inputs": ()}, "one or more of states, actions or changes"),
        ({"discriminator_inputs": ("states", "rewards")}, "each once"),
        (
            {"discriminator_inputs": ("states", "next_states"), "lambda_cost": 1.0},
            "give --lambda-cost 0",
        ),
    ],
)
def test_inputs_that_cannot_be_read_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_settings(default_config("spacil", "Reacher-v4"), settings)


def smoothed(form: str, weight: float) -> GailAdversary:
    adversary = make("spacil", cost_penalty_form=form, lambda_cost=weight)
    train(adversary, 200)
    assert isinstance(adversary, GailAdversary)
    return adversary


@pytest.mark.parametrize(
    ("form", "slope"),
    [
        ("response", "cost_lipschitz_response"),
        ("both", "cost_lipschitz_state"),
        ("state", "cost_lipschitz_state"),
    ],
)
def test_a_cost_penalty_lowers_the_slope_it_names(form: str, slope: str) -> None:
    plain, smooth = (
        cost_constants(each.cost, each.policy.mean_of_normalized, expert_batch().states)
        for each in (smoothed(form, 0.0), smoothed(form, 10.0))
    )
    assert smooth[slope] < 0.5 * plain[slope]


@pytest.mark.parametrize("form", ["gp", "r1"])
def test_a_gradient_penalty_flattens_the_logits_at_the_demonstrations(form: str) -> None:
    def slope(adversary: GailAdversary) -> float:
        pairs = [each.requires_grad_() for each in states_and_actions(-0.5, 50, 1)]
        logits = adversary.network.logits_agent_is_high(*pairs)
        slopes = torch.cat(torch.autograd.grad(logits.sum(), pairs), dim=-1)
        return float(slopes.norm(dim=-1).mean())

    assert slope(smoothed(form, 10.0)) < 0.5 * slope(smoothed(form, 0.0))


def test_twice_the_weight_is_twice_the_reported_penalty() -> None:
    reports = [train(make("spacil", lambda_cost=weight), 1) for weight in (1.0, 2.0)]
    assert reports[1].cost_penalty == pytest.approx(2 * reports[0].cost_penalty, rel=1e-5)
    assert reports[0].cost_penalty > 0
