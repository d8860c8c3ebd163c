import pytest
import torch
from torch import Tensor

from spacil.smoothness.policy_penalty import (
    caps_penalty,
    cats_penalty,
    l2c2_penalty,
    rows_with_successor,
)

STATES = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
NEXT = torch.tensor([[1.0, 0.0], [1.0, 3.0]])
NOISE = torch.tensor([[0.5, 0.0], [0.0, -1.0]])


def policy(states: Tensor) -> Tensor:
    """mu(s) = (2 s_0, s_0 + s_1)"""
    return torch.stack([2 * states[:, 0], states.sum(-1)], dim=-1)


def test_cats_is_the_mean_squared_change_of_the_action() -> None:
    # (0, 0) -> (1, 0) changes mu by (2, 1): 5. (1, 1) -> (1, 3) changes it by (0, 2): 4.
    assert float(cats_penalty(policy, STATES, NEXT)()) == 4.5


def test_caps_adds_the_change_under_noise() -> None:
    # Noise changes mu by (1, 0.5): 1.25, and by (0, -1): 1; their mean is 1.125.
    value = float(caps_penalty(policy, STATES, NEXT, NOISE)())
    assert value == pytest.approx(0.1 * 4.5 + 0.5 * 1.125)
    temporal_only = caps_penalty(policy, STATES, NEXT, NOISE, 1.0, 0.0)
    assert float(temporal_only()) == 4.5


def test_caps_looks_where_the_noise_points_and_not_behind() -> None:
    # s^2 changes from 1 by 0.75 toward 0.5 and by 1.25 toward 1.5.
    states, noise = torch.tensor([[1.0]]), torch.tensor([[-0.5]])
    penalty = caps_penalty(torch.square, states, states, noise, 0.0, 1.0)
    assert float(penalty()) == pytest.approx(0.75**2)


def test_l2c2_goes_some_of_the_way_to_the_next_state_in_each_dim() -> None:
    # The quantile of 0.6744898 is 3/4, which is 1/2 of U(-1, 1), so the twins are (0.5, 0) and
    # (1, 0): mu changes by (1, 0.5) and by (0, -1), over mean squares of 0.125 and of 0.5.
    noise = 0.6744897501960817 * torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    value = float(l2c2_penalty(policy, STATES, NEXT, noise)())
    assert value == pytest.approx((0.625 / 0.125 + 0.5 / 0.5) / 2)


def test_l2c2_of_a_noisy_twin_does_not_look_at_the_next_state() -> None:
    # mu changes by (1, 0.5) and (0, -1) for noise of mean squares 0.125 and 0.5: any spread.
    for spread in (0.1, 0.5):
        penalty = l2c2_penalty(policy, STATES, STATES.roll(1, 0), NOISE, "noisy", spread)
        assert float(penalty()) == pytest.approx((0.625 / 0.125 + 0.5 / 0.5) / 2, rel=1e-4)


def test_l2c2_of_a_state_that_stays_is_nothing() -> None:
    assert float(l2c2_penalty(policy, STATES, STATES, NOISE)()) == 0


def test_a_batch_without_successors_has_no_penalty() -> None:
    assert float(cats_penalty(policy, STATES[:0], NEXT[:0])()) == 0


def test_pairs_never_cross_an_episodes_end_and_stop_at_the_end_of_the_batch() -> None:
    # Three steps of two envs, rows 0..5; env 0 ends after its first step, env 1 after its last.
    is_cut = torch.tensor([[True, False], [False, False], [False, True]])
    assert rows_with_successor(is_cut).tolist() == [1, 2, 3]
    assert rows_with_successor(is_cut[:1]).tolist() == []
