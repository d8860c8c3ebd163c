"""What a motor feels: numbers of the executed actions [T, A] of one episode.

J says how a policy *could* react to a small change of its state; these say how its actions *did*
move. Pure functions of the signal, in float64, one episode each; how episodes are averaged is for
the caller. Where an episode is too short for a number the answer is nan, never 0: 0 is smooth.

Lower is smoother everywhere except `spectral_arc_length`, which is negative and better near 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

SPECTRUM_CONVENTION = "ASAP: 2/n * sum_i |FFT_i| * f_i, f in cycles per step, mean over action dims"
"""Sm has many forms in the literature; numbers compare only within one, and at a similar n."""
QUARTER_NYQUIST = 0.125
"""Cycles per step; 0.5 is the fastest a signal can alternate."""

_SPARC_CUTOFF_HZ = 10.0
_SPARC_THRESHOLD = 0.05
_SPARC_PADDING = 4


@dataclass(frozen=True)
class ActionSignal:
    """Every number of one episode; or, with None for nan, their means over episodes."""

    action_fluctuation: float | None
    spectrum_score: float | None
    continuity_cost: float | None
    """nan also where the action bounds are open"""
    action_jerk: float | None
    high_frequency_ratio: float | None
    mean_squared_action: float | None
    mean_absolute_power: float | None
    """nan where the joints' velocities are not known"""
    spectral_arc_length: float | None
    """nan for tasks that are not movements from rest to rest"""


def describe(
    actions: Tensor,
    action_range: Tensor,
    velocities: Tensor | None = None,
    movement_dt: float | None = None,
) -> ActionSignal:
    """All numbers of one episode's actions [T, A]; `action_range` [A] is high - low.

    `velocities` [T, A] are those of the joints the actions drive. `movement_dt`, seconds per
    step, says that the episode is one movement, whose joint speed has a spectral arc length.
    """
    power, arc_length = math.nan, math.nan
    if velocities is not None:
        power = mean_absolute_power(actions, velocities)
        if movement_dt is not None:
            speed = torch.linalg.vector_norm(velocities.double(), dim=-1)
            arc_length = spectral_arc_length(speed, movement_dt)
    return ActionSignal(
        action_fluctuation=action_fluctuation(actions),
        spectrum_score=spectrum_score(actions),
        continuity_cost=continuity_cost(actions, action_range),
        action_jerk=action_jerk(actions),
        high_frequency_ratio=high_frequency_ratio(actions),
        mean_squared_action=mean_squared_action(actions),
        mean_absolute_power=power,
        spectral_arc_length=arc_length,
    )


def mean_signal(signals: Sequence[ActionSignal]) -> ActionSignal:
    """The mean of every number over the episodes that have it; None where none has."""
    return ActionSignal(
        **{
            field.name: mean_of_known([getattr(signal, field.name) for signal in signals])
            for field in fields(ActionSignal)
        }
    )


def mean_of_known(values: Sequence[float]) -> float | None:
    """Mean without the nans; None when there is nothing else."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else None


def action_fluctuation(actions: Tensor) -> float:
    """AFR: E |a_t - a_{t-1}|"""
    return _mean_length(actions.double().diff(dim=0))


def action_jerk(actions: Tensor) -> float:
    """E |a_{t+1} - 3 a_t + 3 a_{t-1} - a_{t-2}|, per step cubed: divide by dt^3 for physical time.

    Left per step: in seconds it would change with the control rate more than with the policy.
    """
    return _mean_length(actions.double().diff(n=3, dim=0))


def continuity_cost(actions: Tensor, action_range: Tensor) -> float:
    """100 E[((a_{t+1} - a_t) / range)^2], 0 to 100 for actions within bounds.

    100 is a motor that jumps from bound to bound at every step; tasks compare in it.
    """
    if not bool(torch.isfinite(action_range).all()) or len(actions) < 2:
        return math.nan
    steps = actions.double().diff(dim=0) / action_range.double()
    return 100 * float(steps.square().mean())


def mean_squared_action(actions: Tensor) -> float:
    """E |a|^2, the usual stand-in for energy: it counts posture and ripple alike."""
    return float(actions.double().square().sum(-1).mean()) if len(actions) else math.nan


def amplitude_spectrum(actions: Tensor) -> tuple[Tensor, Tensor]:
    """Frequencies in cycles per step [F] and amplitudes 2/n |FFT| [F, A], one-sided.

    A sine of amplitude A on a bin shows as A there. The mean (bin 0) shows twice.
    """
    n = len(actions)
    # The first n // 2 bins, as is usual with this score: an even n's Nyquist bin is left out.
    frequencies = torch.fft.rfftfreq(n, dtype=torch.float64)[: n // 2]
    amplitudes = torch.fft.rfft(actions.double(), dim=0).abs()[: n // 2] * (2 / n)
    return frequencies, amplitudes


def spectrum_score(actions: Tensor) -> float:
    """Sm by `SPECTRUM_CONVENTION`: A f for a sine of amplitude A and f cycles per step on a bin."""
    if len(actions) < 2:
        return math.nan
    frequencies, amplitudes = amplitude_spectrum(actions)
    return float((frequencies.unsqueeze(-1) * amplitudes).sum(0).mean())


def high_frequency_ratio(actions: Tensor, cutoff: float = QUARTER_NYQUIST) -> float:
    """Share of the signal's power above `cutoff` cycles per step, 0 to 1; 0 for a constant.

    Of the power around the mean: a held posture is not vibration, and would hide it.
    """
    n = len(actions)
    if n < 2:
        return math.nan
    signal = actions.double()
    ripple = signal - signal.mean(0)
    if ripple.abs().max() <= 1e-12 * signal.abs().max():  # constant, up to rounding
        return 0.0
    power = torch.fft.rfft(ripple, dim=0).abs().square().sum(-1)
    # One-sided: every bin stands for two, except the mean's and an even n's Nyquist bin.
    power[1 : (n + 1) // 2] *= 2
    return float(power[torch.fft.rfftfreq(n, dtype=torch.float64) > cutoff].sum() / power.sum())


def mean_absolute_power(actions: Tensor, velocities: Tensor) -> float:
    """E |a . q'|, in action units: what the motors exchange with the joints; both [T, A]."""
    return float((actions.double() * velocities.double()).sum(-1).abs().mean())


def spectral_arc_length(speed: Tensor, dt: float) -> float:
    """SPARC of a speed profile [T] (Balasubramanian et al. 2015), for one discrete movement.

    Minus the arc length of the normalised amplitude spectrum, from 0 up to the last frequency
    that still has 5 % of its maximum, at most 10 Hz or Nyquist. Needs a movement of a few
    seconds with a beginning and an end: meaningless for walking.
    """
    speed = speed.double()
    if len(speed) < 2 or not bool((speed != 0).any()):
        return math.nan
    num_points = 2 ** (math.ceil(math.log2(len(speed))) + _SPARC_PADDING)
    spectrum = torch.fft.rfft(speed, n=num_points).abs()
    frequencies = torch.fft.rfftfreq(num_points, d=dt, dtype=torch.float64)
    spectrum = spectrum / spectrum.max()
    counted = (frequencies <= _SPARC_CUTOFF_HZ) & (spectrum >= _SPARC_THRESHOLD)
    last = int(torch.nonzero(counted).max())
    if last == 0:
        return 0.0
    across = frequencies[: last + 1].diff() / frequencies[last]
    up = spectrum[: last + 1].diff()
    return -float(torch.hypot(across, up).sum())


def _mean_length(rows: Tensor) -> float:
    return float(torch.linalg.vector_norm(rows, dim=-1).mean()) if len(rows) else math.nan
