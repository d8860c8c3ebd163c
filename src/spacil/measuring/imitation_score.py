"""How like the demonstrations a policy behaves, without any reward.

The score compares the states that mean actions visit with the demonstrated ones, dim by dim: for
each state dim that varies, the mean distance between equal quantiles of the two (a Wasserstein
distance) in standard deviations of the demonstrations; of these the root mean square over dims;
plus the fraction of episodes that end early beyond what the demonstrator's do. 0 is alike.

Few demonstrations are themselves some distance from what they are drawn from. The threshold below
which a score counts as "like the demonstrations" holds that distance, estimated by halving them.

In 732 evaluations of a search the score ranked returns at -0.88 on Hopper, -0.98 on Walker2d and
-0.89 on HalfCheetah (rank correlation); the discriminator's accuracy and the cloning error told
little (docs/results/recipe.md).
"""

import contextlib
import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from spacil.demos.conditions import under_conditions
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.errors import SpacilError
from spacil.nets.policy import moving_std
from spacil.policies.policy import Policy
from spacil.runs.facts import inputs_of
from spacil.seeding import stream

NUM_LEVELS = 64
"""Quantiles compared per dim."""
TOLERANCE = 0.1
"""Score that counts as alike when the demonstrations themselves are beyond doubt."""
NUM_HALVINGS = 8
DOUBT_FACTOR = 1.3
"""Halves understate what thinning hides: a demonstrator scores 1.2 to 1.8 times that."""


@dataclass(frozen=True)
class DemonstratedStates:
    """What the score compares with."""

    quantiles: Tensor
    """[NUM_LEVELS, live dims]"""
    std: Tensor
    """[live dims]"""
    is_live: Tensor
    """[S] bool"""
    early_fraction: float
    """Of the demonstrated episodes, those that terminate"""

    @classmethod
    def by(cls, demonstrations: Demonstrations) -> "DemonstratedStates":
        num_ended = float(demonstrations.terminations.float().sum())
        return cls.of(demonstrations.states, num_ended / demonstrations.num_episodes)

    @classmethod
    def of(cls, states: Tensor, early_fraction: float) -> "DemonstratedStates":
        """`states` [M, S] raw."""
        states = states.float()
        std, is_live = states.std(0, correction=0), moving_std(states) > 0
        return cls(quantiles(states[:, is_live]), std[is_live], is_live, early_fraction)


def quantiles(values: Tensor) -> Tensor:
    """Of each column of [M, D] at the levels (k + 1/2) / NUM_LEVELS, linearly between points."""
    ordered = values.sort(0).values
    levels = (torch.arange(NUM_LEVELS, device=values.device) + 0.5) / NUM_LEVELS
    places = (levels * len(values) - 0.5).clamp(0, len(values) - 1)
    below = places.floor().long()
    above = (below + 1).clamp_max(len(values) - 1)
    return torch.lerp(ordered[below], ordered[above], (places - below).unsqueeze(1))


def marginal_distance(first: Tensor, second: Tensor, std: Tensor) -> float:
    """Root mean square over dims of the mean distance between equal quantiles [K, D], in `std`."""
    if std.numel() == 0:
        return 0.0
    distances = (first - second).abs().mean(0) / std
    return float(distances.square().mean().sqrt())


def imitation_score(
    states: Tensor, early_fraction: float, demonstrated: DemonstratedStates
) -> float:
    """Of raw states [B, S] that mean actions visited; lower is more alike.

    `early_fraction` of their episodes terminated before the time was up.
    """
    live = states.float()[:, demonstrated.is_live]
    distance = marginal_distance(quantiles(live), demonstrated.quantiles, demonstrated.std)
    return distance + max(0.0, early_fraction - demonstrated.early_fraction)


def shown_to(policy: Policy) -> Demonstrations | None:
    """Load the demonstrations of the run that a policy is from, as the policy sees states.

    None where no run says which they were, or they are no longer there.
    """
    inputs = None if policy.path is None else inputs_of(Path(policy.path))
    if inputs is None or inputs.demonstrations is None or inputs.demonstrations.sources is None:
        return None
    with contextlib.suppress(SpacilError):
        sources = inputs.demonstrations.sources or (inputs.task,)
        demos = Demonstrations.concatenate([load_demos(source) for source in sources])
        return under_conditions(demos, replace(policy.conditions, sensor_noise=0.0), 0)
    return None


def threshold_of(demonstrations: Demonstrations, seed: int) -> float:
    """tau, the score up to which a policy counts as like the demonstrations."""
    episodes = demonstrations.episode_of_step
    states = demonstrations.states[:, demonstrations.is_known]
    return score_threshold(states, episodes, stream(seed, "score threshold"))


def score_threshold(
    states: Tensor,
    episode_of_step: Tensor,
    generator: torch.Generator,
    tolerance: float = TOLERANCE,
) -> float:
    """Score up to which a policy counts as like demonstrations [M, S] of these episodes [M].

    hypot(tolerance, DOUBT_FACTOR / 2 of the distance between two random halves of the
    demonstrations), by episodes or by steps, whichever is more: halves are twice as far from each
    other as the whole is from what it was drawn from.
    """
    states = states.float()
    live = states[:, moving_std(states) > 0]
    std = live.std(0, correction=0)
    largest = 0.0
    for unit_of_step in (episode_of_step, torch.arange(len(states))):
        num_units, found = int(unit_of_step.max()) + 1, []
        for _ in range(NUM_HALVINGS if num_units > 1 else 0):
            is_first = torch.randperm(num_units, generator=generator) < num_units // 2
            is_first = is_first[unit_of_step]
            halves = quantiles(live[is_first]), quantiles(live[~is_first])
            found.append(marginal_distance(*halves, std))
        largest = max(largest, sum(found) / NUM_HALVINGS / 2)
    return math.hypot(tolerance, DOUBT_FACTOR * largest)
