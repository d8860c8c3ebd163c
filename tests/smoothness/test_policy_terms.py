"""The policy's penalties as settings ask for them: units, subsets, spread, discount, time."""

from typing import Any

import pytest
import torch
from penalty_cases import POLICY_PENALTIES, assert_unbiased, make_config, make_policy, make_rows
from torch import Tensor

from spacil.config import penalty_terms
from spacil.config.train_config import TrainConfig
from spacil.errors import ConfigError
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import Streams
from spacil.smoothness.policy_penalty import Penalty
from spacil.smoothness.policy_terms import (
    DrawnTerms,
    PenaltyRows,
    build_terms,
    draw_terms,
    rows_of_batch,
)
from spacil.types import RolloutBatch


def drawn_penalty(
    policy: GaussianPolicy, rows: PenaltyRows, config: TrainConfig, seed: int = 0
) -> Penalty:
    """The one penalty of the config, on rows drawn with a seed."""
    terms, streams = config.policy_penalty.terms, Streams.from_seed(seed)
    drawn: DrawnTerms = draw_terms(terms, lambda kind: rows, policy, config, streams)
    (penalty,) = build_terms(policy, drawn, config).values()
    return penalty


def value_of(penalty: Penalty) -> float:
    return float(penalty().detach())


def policy_values(num_seeds: int, rows: PenaltyRows | None = None, **settings: Any) -> Tensor:
    """The penalty under as many seeds; on all states unless asked otherwise."""
    config = make_config(**{"penalty_state_fraction": 1.0, **settings})
    policy, rows = make_policy(), rows or make_rows()
    penalties = [drawn_penalty(policy, rows, config, seed) for seed in range(num_seeds)]
    return torch.tensor([value_of(penalty) for penalty in penalties], dtype=torch.float64)


def policy_value(rows: PenaltyRows | None = None, **settings: Any) -> float:
    return float(policy_values(1, rows, **settings))


@pytest.mark.parametrize("scale", ["paper-mean", "paper-sum"])
def test_a_preset_equals_lipschitz_units_times_the_radius_squared_to_first_order(
    scale: str,
) -> None:
    # lambda_L = lambda_1 eps^2, and n times that when summed (app:projection_implementation).
    factor = 60 if scale == "paper-sum" else 1
    lipschitz = policy_value()
    errors = []
    for radius in (1e-2, 1e-3):
        printed = policy_value(penalty=f"pgd:scale={scale}:radius={radius}:steps=60")
        errors.append(abs(printed / (factor * radius**2) / lipschitz - 1))
    assert errors[0] < 0.05
    assert errors[1] < max(0.2 * errors[0], 1e-3)


@pytest.mark.parametrize("name", POLICY_PENALTIES)
def test_a_subset_of_the_states_is_an_unbiased_estimate_of_them_all(name: str) -> None:
    rows = make_rows()
    settings = {"penalty": "caps:spatial=0" if name == "caps" else name}
    truth = policy_value(rows, **settings)
    subsets = policy_values(100, rows, penalty_state_fraction=0.25, **settings)
    assert_unbiased(subsets, truth)


def test_a_subset_of_a_printed_sum_stands_for_the_whole_sum() -> None:
    settings = {"penalty": "pgd:scale=paper-sum"}
    truth = policy_value(**settings)
    assert_unbiased(policy_values(100, penalty_state_fraction=0.25, **settings), truth)


def test_lcp_on_sampled_actions_is_the_frobenius_penalty_under_any_spread() -> None:
    policy = make_policy(initial_log_std=-0.7)
    states = make_rows().states.repeat(300, 1)
    noise = torch.randn(len(states), 2, generator=torch.Generator().manual_seed(2)).double()
    actions = (policy.mean_of_normalized(states) + policy.log_std.exp() * noise).detach()
    rows = PenaltyRows(states, actions)
    lcp, frobenius = (
        value_of(drawn_penalty(policy, rows, make_config(penalty_state_fraction=1.0, penalty=name)))
        for name in ("lcp", "frobenius")
    )
    assert lcp == pytest.approx(frobenius, rel=0.03)


@pytest.mark.parametrize("name", ["exact", "pgd", "frobenius", "lcp", "cats"])
def test_a_unit_of_two_divides_the_penalty_by_four(name: str) -> None:
    config, policy, rows = make_config(penalty=name), make_policy(), make_rows()
    terms = config.policy_penalty.terms
    policy.action_low.fill_(-torch.inf)  # changes along time are of executed actions
    policy.action_high.fill_(torch.inf)
    values = []
    for unit in (1.0, 2.0):
        drawn = draw_terms(terms, lambda kind: rows, policy, config, Streams.from_seed(0))
        units = torch.full((2,), unit, dtype=torch.float64)
        (penalty,) = build_terms(policy, drawn, config, units).values()
        values.append(value_of(penalty))
    assert values[1] == pytest.approx(values[0] / 4, rel=1e-4)


def make_rollout() -> RolloutBatch:
    """Two envs, three steps; env 0 falls after its first step, env 1 is cut after its second."""
    states = torch.arange(24, dtype=torch.float32).view(3, 2, 4)
    terminated = torch.tensor([[True, False], [False, False], [False, False]])
    truncated = torch.tensor([[False, False], [False, True], [False, False]])
    return RolloutBatch(
        states=states,
        actions=torch.zeros(3, 2, 2),
        env_rewards=torch.zeros(3, 2, dtype=torch.float64),
        terminated=terminated,
        truncated=truncated,
        final_states=torch.zeros(1, 4),
        last_states=torch.zeros(2, 4),
    )


def test_temporal_rows_are_paired_with_the_next_state_of_their_env() -> None:
    rollout = make_rollout()
    states = rollout.flat_states
    rows = rows_of_batch(rollout, states, penalty_terms.POLICY_PENALTIES["cats"])
    assert torch.equal(rows.states, states[[1, 2]])
    assert rows.successors is not None and torch.equal(rows.successors, states[[3, 4]])


def test_a_penalty_without_what_it_reads_says_so() -> None:
    for name in ("lcp", "cats", "caps"):
        config = make_config(penalty=name)
        rows = PenaltyRows(make_rows().states)
        with pytest.raises(ConfigError, match=f"--penalty {name} reads"):
            drawn_penalty(make_policy(), rows, config)
