"""Filters on actions, step by step by hand and at the frequencies they are made for."""

import math
from functools import partial

import pytest
import torch
from countdown import countdown
from torch import Tensor

from spacil.envs.episodes import Actor, play
from spacil.errors import ConfigError
from spacil.measuring.robustness import with_low_pass, with_moving_average


def identity(states: Tensor) -> Tensor:
    return states


def response(filtered: Actor, signal: list[float]) -> list[float]:
    """The actions of an actor that wants `signal`, one step after the other."""
    return [float(filtered(torch.tensor([[value]], dtype=torch.float64))) for value in signal]


def test_the_moving_average_keeps_its_share_of_the_last_action() -> None:
    assert response(with_moving_average(identity, 0.75), [4.0, 0.0, 0.0, 8.0]) == [
        4.0, 3.0, 2.25, 3.6875,
    ]  # fmt: skip


def test_a_moving_average_of_strength_0_changes_nothing() -> None:
    signal = [4.0, -1.0, 7.0]
    assert response(with_moving_average(identity, 0.0), signal) == signal


def test_at_half_nyquist_the_first_order_is_the_mean_of_two_actions() -> None:
    """tan(pi / 4) = 1: no memory of its own output is left."""
    found = response(with_low_pass(identity, 0.5), [2.0, 0.0, 6.0, 6.0])
    assert found == pytest.approx([2.0, 1.0, 3.0, 6.0])


def test_at_half_nyquist_the_second_order_is_as_worked_out_by_hand() -> None:
    """k = 1: (2 + r) a_t = u_t + 2 u_{t-1} + u_{t-2} - (2 - r) a_{t-2}, r = sqrt(2)."""
    r = math.sqrt(2)
    first = 1.0
    second = (0 + 2 + 1 - (2 - r)) / (2 + r)
    third = (0 + 0 + 1 - (2 - r) * first) / (2 + r)
    fourth = (0 + 0 + 0 - (2 - r) * second) / (2 + r)
    found = response(with_low_pass(identity, 0.5, 2), [1.0, 0.0, 0.0, 0.0])
    assert found == pytest.approx([first, second, third, fourth])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cutoff", [0.1, 0.25, 0.6])
def test_the_gain_at_the_cutoff_is_one_over_root_two(cutoff: float, order: int) -> None:
    signal = [math.cos(math.pi * cutoff * t) for t in range(2_000)]
    settled = response(with_low_pass(identity, cutoff, order), signal)[1_000:]  # type: ignore[arg-type]
    power = sum(value**2 for value in settled) / len(settled)
    assert math.sqrt(2 * power) == pytest.approx(1 / math.sqrt(2), rel=5e-3)


@pytest.mark.parametrize("order", [1, 2])
def test_the_fastest_signal_is_stopped_and_a_held_one_passes_from_the_start(order: int) -> None:
    make = partial(with_low_pass, identity, 0.3, order)
    assert response(make(), [5.0] * 4) == pytest.approx([5.0] * 4)
    assert response(make(), [1.0, -1.0] * 100)[-1] == pytest.approx(0.0, abs=1e-9)


def test_every_env_has_a_filter_of_its_own() -> None:
    filtered = with_moving_average(identity, 0.5)
    filtered(torch.tensor([[0.0], [8.0]]))
    assert filtered(torch.tensor([[2.0], [0.0]])).tolist() == [[1.0], [4.0]]


def test_an_actor_that_answers_into_the_same_memory_is_filtered_alike() -> None:
    buffer = torch.zeros(1, 1, dtype=torch.float64)
    found = response(with_low_pass(buffer.copy_, 0.5), [2.0, 0.0, 6.0])
    assert found == pytest.approx([2.0, 1.0, 3.0])


def test_a_new_wave_begins_without_the_memory_of_the_last() -> None:
    """The action is the state over 100: an episode of n steps begins at n / 100, whatever was."""
    make_actor = partial(with_moving_average, lambda states: states / 100, 0.9)
    played = play(countdown(2, longest=9), make_actor, 6)
    firsts = [float(trajectory.actions[0]) for trajectory in played]
    assert firsts == pytest.approx([len(trajectory) / 100 for trajectory in played])


@pytest.mark.parametrize("strength", [-0.1, 1.0, math.nan])
def test_a_strength_that_filters_nothing_or_everything_is_refused(strength: float) -> None:
    with pytest.raises(ConfigError, match=r"strength is .*, expected 0 to below 1"):
        with_moving_average(identity, strength)


@pytest.mark.parametrize("cutoff", [0.0, 1.0, -0.5, math.nan])
def test_a_cutoff_outside_of_the_spectrum_is_refused(cutoff: float) -> None:
    with pytest.raises(ConfigError, match="of Nyquist, expected between 0 and 1"):
        with_low_pass(identity, cutoff)
