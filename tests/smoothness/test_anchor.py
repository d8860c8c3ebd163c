"""The anchor: what the mean action misses of the demonstrated ones, by hand-worked numbers."""

import pytest
import torch

from spacil.config.defaults import default_config
from spacil.config.settings import CostPenaltyConfig
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.cost import cost_weight
from spacil.smoothness.policy_penalty import missed_actions
from spacil.smoothness.policy_terms import MAX_ROWS, Anchor, DrawnTerms, build_terms
from spacil.types import ExpertBatch


def constant_policy(*action: float) -> GaussianPolicy:
    """Mean action `action` everywhere, bounds -1 and 1."""
    size = len(action)
    policy = GaussianPolicy(1, [-1.0] * size, [1.0] * size, (2,))
    weight, bias = policy.mean_net.weights_and_biases[-1]
    with torch.no_grad():
        weight.zero_()
        bias.copy_(torch.tensor(action))
    return policy


def expert(actions: torch.Tensor) -> ExpertBatch:
    states = torch.zeros(len(actions), 1)
    return ExpertBatch(states, actions, states, torch.zeros(len(actions), dtype=torch.bool))


def missed(mean: float, action: float) -> float:
    states, actions = torch.zeros(1, 1), torch.tensor([[action]])
    return float(missed_actions(constant_policy(mean), states, actions).detach())


@pytest.mark.parametrize(
    ("mean", "action", "squared"),
    [
        (0.5, 0.2, 0.09),
        (1.5, 0.9, 0.36),
        (1.5, 1.0, 0.0),  # at the bound and beyond it: the same executed action
        (-3.0, -1.0, 0.0),
        (0.5, 1.0, 0.25),
        (-1.5, 1.0, 6.25),
    ],
)
def test_beyond_a_bound_that_was_executed_nothing_is_missed(
    mean: float, action: float, squared: float
) -> None:
    assert missed(mean, action) == pytest.approx(squared)


def test_the_term_is_beta_times_the_missed_fraction_of_the_variance() -> None:
    actions = torch.tensor([[-0.5, 0.0], [0.5, 0.0]])  # variance 1/4 in all
    policy = constant_policy(0.0, 0.0)  # misses all of it
    drawn = Anchor(expert(actions), policy, beta=45.0, seed=0).draw(policy)
    config = default_config("spacil", "Reacher-v4")
    (penalty,) = build_terms(policy, drawn, config).values()
    assert drawn.names == ("anchor",)
    beta = 45 * 2 / 300  # two pairs hold little
    assert drawn.weights[0] * float(penalty().detach()) == pytest.approx(beta)


def test_raw_actions_are_read_as_executed() -> None:
    anchor = Anchor(expert(torch.tensor([[5.0], [-0.5]])), constant_policy(0.0), 0.3, 0)
    assert anchor.actions.tolist() == [[1.0], [-0.5]]


def test_pairs_are_drawn_anew_and_no_more_than_needed() -> None:
    actions = torch.linspace(-1, 1, 2 * MAX_ROWS).unsqueeze(1)
    policy = constant_policy(0.0)
    anchor = Anchor(expert(actions), policy, 0.3, 0)
    first, second = (anchor.draw(policy).rows[0].actions for _ in range(2))
    assert first is not None and second is not None
    assert len(first) == MAX_ROWS
    assert not torch.equal(first, second)


def test_without_weight_nothing_is_drawn() -> None:
    policy = constant_policy(0.0)
    anchor = Anchor(expert(torch.tensor([[0.1], [0.3]])), policy, 0.0, 0)
    before = anchor.generator.get_state()
    assert anchor.draw(policy) == DrawnTerms()
    assert torch.equal(anchor.generator.get_state(), before)


@pytest.mark.parametrize(("pairs", "weight"), [(50, 0.05), (150, 0.15), (300, 0.3), (6_000, 0.3)])
def test_few_pairs_hold_less(pairs: int, weight: float) -> None:
    actions = torch.linspace(-1, 1, pairs).unsqueeze(1)
    assert Anchor(expert(actions), constant_policy(0.0), 0.3, 0).beta == pytest.approx(weight)


@pytest.mark.parametrize(
    ("pairs", "weight"), [(10, 0.3), (100, 0.2372), (300, 0.1040), (10_000, 0.0075)]
)
def test_the_cost_penalty_falls_as_pairs_grow_in_number(pairs: int, weight: float) -> None:
    settings = CostPenaltyConfig(lambda_cost=0.3, cost_weight="by-pairs")
    assert cost_weight(settings, pairs) == pytest.approx(weight, rel=1e-3)
    assert cost_weight(CostPenaltyConfig(lambda_cost=0.3), pairs) == 0.3
