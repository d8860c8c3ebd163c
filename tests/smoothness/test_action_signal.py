import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spacil.smoothness import action_signal as signal

N = 200


def sine(amplitude: float, bin_number: int, num_steps: int = N) -> Tensor:
    """[T, 1], `bin_number` whole periods: on a bin of the FFT."""
    t = torch.arange(num_steps, dtype=torch.float64)
    return (amplitude * torch.sin(2 * torch.pi * bin_number * t / num_steps)).unsqueeze(-1)


def test_a_constant_signal_is_perfectly_smooth() -> None:
    found = signal.describe(torch.full((N, 3), 0.7), torch.full((3,), 2.0))
    assert found.action_fluctuation == found.action_jerk == found.continuity_cost == 0
    assert found.spectrum_score == pytest.approx(0, abs=1e-12)
    assert found.high_frequency_ratio == 0
    assert found.mean_squared_action == pytest.approx(3 * 0.49)


@pytest.mark.parametrize("bin_number", [1, 7, 40, 99])
@pytest.mark.parametrize("amplitude", [0.1, 1.0, 3.0])
def test_the_spectrum_score_of_a_sine_is_amplitude_times_frequency(
    amplitude: float, bin_number: int
) -> None:
    score = signal.spectrum_score(sine(amplitude, bin_number))
    assert score == pytest.approx(amplitude * bin_number / N, rel=1e-9)


def test_the_spectrum_score_is_a_mean_over_action_dims() -> None:
    both = torch.cat([sine(1.0, 20), torch.zeros(N, 1)], dim=1)
    assert signal.spectrum_score(both) == pytest.approx(0.5 * signal.spectrum_score(sine(1.0, 20)))


@pytest.mark.parametrize(("bin_number", "ratio"), [(1, 0), (24, 0), (26, 1), (90, 1)])
def test_the_high_frequency_ratio_of_a_sine_is_0_or_1(bin_number: int, ratio: float) -> None:
    # 1/4 Nyquist is bin 25 of 200
    assert signal.high_frequency_ratio(sine(0.5, bin_number)) == pytest.approx(ratio, abs=1e-9)


def test_the_high_frequency_ratio_weighs_by_power_and_ignores_the_mean() -> None:
    mixed = 5.0 + sine(3.0, 10) + sine(1.0, 50)
    assert signal.high_frequency_ratio(mixed) == pytest.approx(1 / 10)


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=40), st.integers(1, 3))
def test_the_continuity_cost_lies_between_0_and_100(values: list[float], num_actions: int) -> None:
    actions = torch.tensor(values).unsqueeze(-1).expand(-1, num_actions)
    assert 0 <= signal.continuity_cost(actions, torch.full((num_actions,), 2.0)) <= 100


def test_a_motor_that_jumps_from_bound_to_bound_costs_100() -> None:
    jumps = torch.tensor([[-2.0], [4.0], [-2.0], [4.0]])
    assert signal.continuity_cost(jumps, torch.tensor([6.0])) == pytest.approx(100)


def test_hand_worked_differences() -> None:
    actions = torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [0.0, 0.0]])
    assert signal.action_fluctuation(actions) == pytest.approx((5 + 0 + 5) / 3)
    # third difference: a3 - 3 a2 + 3 a1 - a0 = (0, 0)
    assert signal.action_jerk(actions) == pytest.approx(0)
    assert signal.action_jerk(torch.tensor([[0.0], [0.0], [0.0], [1.0]])) == pytest.approx(1)
    assert signal.mean_squared_action(actions) == pytest.approx(12.5)
    power = signal.mean_absolute_power(actions, torch.tensor([[1.0, 1.0]] * 4))
    assert power == pytest.approx(3.5)


def test_what_an_episode_is_too_short_for_is_unknown_and_not_zero() -> None:
    single = signal.describe(torch.ones(1, 2), torch.full((2,), 2.0))
    assert single.action_fluctuation is not None and math.isnan(single.action_fluctuation)
    assert single.action_jerk is not None and math.isnan(single.action_jerk)
    assert single.spectrum_score is not None and math.isnan(single.spectrum_score)
    longer = signal.describe(torch.zeros(9, 2), torch.full((2,), 2.0))
    mean = signal.mean_signal([single, longer])
    assert mean.action_fluctuation == 0  # of the one episode that has it
    assert signal.mean_signal([single]).action_fluctuation is None


def test_open_bounds_leave_the_continuity_cost_unknown() -> None:
    assert math.isnan(signal.continuity_cost(torch.ones(5, 1), torch.tensor([torch.inf])))


def test_the_arc_length_prefers_one_smooth_movement_to_two_jerky_ones() -> None:
    t = torch.linspace(0, 1, 100, dtype=torch.float64)
    bell = (30 * t**2 * (1 - t) ** 2).clamp_min(0)  # the speed of a minimum-jerk reach
    smooth = signal.spectral_arc_length(bell, dt=0.01)
    two = signal.spectral_arc_length(torch.cat([bell[::2], bell[::2]]), dt=0.01)
    assert two < smooth < -1
    # a longer or faster copy of the same movement is as smooth
    assert signal.spectral_arc_length(5 * bell, dt=0.01) == pytest.approx(smooth, rel=1e-9)
    assert math.isnan(signal.spectral_arc_length(torch.zeros(50), dt=0.01))


def test_float32_actions_are_measured_in_float64() -> None:
    """A small ripple on a large posture: float32 arithmetic would lose most of its digits."""
    generator = torch.Generator().manual_seed(0)
    actions = 1000 + 1e-2 * torch.randn(64, 2, generator=generator)
    velocities = torch.randn(64, 2, generator=generator)
    found = signal.describe(actions, torch.full((2,), 3.0), velocities, 0.02)
    exact = signal.describe(
        actions.double(), torch.full((2,), 3.0).double(), velocities.double(), 0.02
    )
    assert vars(found) == pytest.approx(vars(exact), rel=1e-12)
    amplitudes = signal.amplitude_spectrum(actions)[1]
    assert torch.allclose(amplitudes, signal.amplitude_spectrum(actions.double())[1], rtol=1e-12)
