"""How demonstrations vary: episodes unlike the others, and actions that jump.

Numbers for the report, and findings where something stands out. Nothing here refuses: an expert
may fail once, and a good gait may be jerky.
"""

import torch
from torch import Tensor

from spacil.demos.check.findings import Finding
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.selection import episode_of_step

JERKY = 0.95
"""Relative change from which on actions look drawn anew at every step."""
_MIN_STEPS = 200
"""For a statement about steps."""
_MIN_EPISODES = 4
"""For a statement about one episode among the others."""
_MIN_STD = 1e-2
"""A state dim that varies less says nothing about where an episode was."""
_ELSEWHERE = 0.3
"""Distance from the usual mean state, in standard deviations, from which on an episode may be one
that failed: good ones are 0.01 to 0.2 away, random HalfCheetahs 0.6."""
_TIMES_MEDIAN = 3.0
"""And so many times as far as half of all episodes: goals that vary set all of them apart."""


def mean_action_change(demos: Demonstrations) -> float | None:
    """Mean |a_t - a_(t-1)| within episodes, over steps and entries of the executed actions.

    None where it is not defined, as in a thinned record: its steps do not follow each other.
    """
    if demos.metadata.is_thinned:
        return None
    changes = demos.executed_actions.double().diff(dim=0).abs()
    is_within = episode_of_step(demos.episode_lengths).diff() == 0
    return float(changes[is_within].mean()) if is_within.any() else None


def relative_action_change(demos: Demonstrations) -> float | None:
    """The mean change per step over the mean difference of any two steps.

    0 for constant actions, near 0 for smooth ones, 1 for actions drawn anew at every step; None
    where it is not defined.
    """
    change = mean_action_change(demos)
    spread = float(_mean_difference(demos.executed_actions.double()))
    return change / spread if change is not None and spread > 0 else None


def variation_findings(demos: Demonstrations) -> list[Finding]:
    """Failed episodes among good ones, and actions that look sampled instead of chosen."""
    findings = _low_return_findings(demos) + _short_episode_findings(demos)
    told = {finding.episode for finding in findings}
    findings += [found for found in _elsewhere_findings(demos) if found.episode not in told]
    relative = relative_action_change(demos)
    if relative is not None and relative > JERKY and demos.num_steps >= _MIN_STEPS:
        message = (
            f"{demos.source}: actions differ from one step to the next {relative:.2f} times as "
            "much as any two steps do: sampled actions instead of mean ones, or steps out of order?"
        )
        findings.append(Finding("warning", "jerky_actions", message))
    return findings


def _low_return_findings(demos: Demonstrations) -> list[Finding]:
    returns = demos.returns
    if returns is None or demos.num_episodes < _MIN_EPISODES or not returns.isfinite().all():
        return []
    median = returns.median()
    gaps = median - returns
    # Far below in units of the return itself and of the usual spread.
    limit = torch.maximum(0.5 * median.abs(), 10 * gaps.abs().median())
    episode = int(gaps.argmax())
    if gaps[episode] <= limit:
        return []
    message = (
        f"{demos.source}: episode {episode} has return {float(returns[episode]):.2f}, half of all "
        f"have {float(median):.2f} or more: a failed demonstration? Imitation copies it too"
    )
    return [Finding("warning", "low_return", message, episode=episode)]


def _short_episode_findings(demos: Demonstrations) -> list[Finding]:
    lengths = demos.episode_lengths
    if demos.num_episodes < _MIN_EPISODES:
        return []
    episode = int(lengths.argmin())
    if 4 * int(lengths[episode]) >= int(lengths.median()):
        return []
    message = (
        f"{demos.source}: episode {episode} has {int(lengths[episode])} steps, half of all have "
        f"{int(lengths.median())} or more: an early fall, or a cut?"
    )
    return [Finding("warning", "short_episode", message, episode=episode)]


def _elsewhere_findings(demos: Demonstrations) -> list[Finding]:
    """An episode that spent its time in other states than the others; needs no reward."""
    if demos.num_episodes < _MIN_EPISODES or demos.num_steps < _MIN_STEPS:
        return []
    distances = _distances_from_usual(demos)
    if not distances.isfinite().all():
        return []
    episode, usual = int(distances.argmax()), distances.median()
    if distances[episode] <= torch.clamp(_TIMES_MEDIAN * usual, min=_ELSEWHERE):
        return []
    message = (
        f"{demos.source}: episode {episode} is elsewhere than the others, "
        f"{float(distances[episode]):.2f} standard deviations from their usual mean state, half of "
        f"all are within {float(usual):.2f}: a failed demonstration? Imitation copies it too"
    )
    return [Finding("warning", "other_states", message, episode=episode)]


def _distances_from_usual(demos: Demonstrations) -> Tensor:
    """[E] how far each episode's mean state is from the median episode's: RMS over dims, in std.

    NaN for an episode without steps.
    """
    states, episodes = demos.states.double(), episode_of_step(demos.episode_lengths)
    sums = states.new_zeros(demos.num_episodes, demos.num_states).index_add_(0, episodes, states)
    means = sums / demos.episode_lengths.unsqueeze(1)
    std = states.std(dim=0, correction=0)
    varies = std > _MIN_STD
    gaps = (means - means.median(dim=0).values)[:, varies] / std[varies]
    return gaps.square().mean(dim=1).sqrt()


def _mean_difference(rows: Tensor) -> Tensor:
    """Mean |x_i - x_j| over all pairs of rows and all columns, by sorting. Rows [M, A]."""
    num_rows = len(rows)
    if num_rows < 2:
        return rows.new_zeros(())
    weights = 2 * torch.arange(num_rows, dtype=rows.dtype) - num_rows + 1
    sums = 2 * (weights.unsqueeze(1) * rows.sort(dim=0).values).sum(dim=0)
    return (sums / (num_rows * (num_rows - 1))).mean()
