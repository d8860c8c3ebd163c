"""Filters on actions, step by step by hand and at the frequencies they are made for."""

import math
from collections.abc import Callable
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


@pytest.mark.parametrize(
    ("filtered", "signal", "expected"),
    [
        (with_moving_average(identity, 0.75), [4, 0, 0, 8], [4, 3, 2.25, 3.6875]),
        (with_moving_average(identity, 0.0), [4, -1, 7], [4, -1, 7]),
        # tan(pi / 4) = 1: no memory of its own output is left, the mean of two actions.
        (with_low_pass(identity, 0.5), [2, 0, 6, 6], [2, 1, 3, 6]),
        # An actor that answers into the same memory.
        (with_low_pass(torch.zeros(1, 1, dtype=torch.float64).copy_, 0.5), [2, 0, 6], [2, 1, 3]),
    ],
)
def test_filters_done_by_hand(filtered: Actor, signal: list[float], expected: list[float]) -> None:
    assert response(filtered, signal) == pytest.approx(expected)


@pytest.mark.parametrize("cutoff", [0.1, 0.25, 0.6])
def test_the_gain_at_the_cutoff_is_one_over_root_two(cutoff: float) -> None:
    signal = [math.cos(math.pi * cutoff * t) for t in range(2_000)]
    settled = response(with_low_pass(identity, cutoff), signal)[1_000:]
    power = sum(value**2 for value in settled) / len(settled)
    assert math.sqrt(2 * power) == pytest.approx(1 / math.sqrt(2), rel=5e-3)


def test_the_fastest_signal_is_stopped_and_a_held_one_passes_from_the_start() -> None:
    make = partial(with_low_pass, identity, 0.3)
    assert response(make(), [5.0] * 4) == pytest.approx([5.0] * 4)
    assert response(make(), [1.0, -1.0] * 100)[-1] == pytest.approx(0.0, abs=1e-9)


def test_every_env_has_a_filter_of_its_own() -> None:
    filtered = with_moving_average(identity, 0.5)
    filtered(torch.tensor([[0.0], [8.0]]))
    assert filtered(torch.tensor([[2.0], [0.0]])).tolist() == [[1.0], [4.0]]


def test_a_new_wave_begins_without_the_memory_of_the_last() -> None:
    """The action is the state over 100: an episode of n steps begins at n / 100, whatever was."""
    make_actor = partial(with_moving_average, lambda states: states / 100, 0.9)
    played = play(countdown(2, longest=9), make_actor, 6)
    firsts = [float(trajectory.actions[0]) for trajectory in played]
    assert firsts == pytest.approx([len(trajectory) / 100 for trajectory in played])


@pytest.mark.parametrize(
    ("make", "values", "message"),
    [
        (with_moving_average, (-0.1, 1.0, math.nan), r"strength is .*, expected 0 to below 1"),
        (with_low_pass, (0.0, 1.0, -0.5, math.nan), "of Nyquist, expected between 0 and 1"),
    ],
)
def test_a_filter_that_filters_nothing_or_everything_is_refused(
    make: Callable[..., Actor], values: tuple[float, ...], message: str
) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=message):
            make(identity, value)
