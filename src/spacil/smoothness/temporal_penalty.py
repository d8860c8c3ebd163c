"""Temporal penalties: how much the mean action changes from one step to the next.

They follow the trajectory where the spatial ones (`policy_penalty`) look in every direction. The
units are squared action per step, not Lipschitz units. Also here: what a batch [T, N] of live
envs tells about time, i.e. which states follow each other and how old each episode is.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.spectral import BatchFunction
from spacil.smoothness.policy_penalty import expectation


@dataclass(frozen=True)
class ChangeToward:
    """E |mu(s') - mu(s)|^2 from each state to another one."""

    mean_action: BatchFunction
    states: Tensor
    """[B, S]"""
    other_states: Tensor
    """[B, S]"""
    weights: Tensor | None

    def __call__(self) -> Tensor:
        change = self.mean_action(self.other_states) - self.mean_action(self.states)
        return expectation(change.square().sum(-1), self.weights)


@dataclass(frozen=True)
class CapsPenalty:
    """The two terms of CAPS with their weights."""

    temporal_weight: float
    temporal: ChangeToward
    spatial_weight: float
    spatial: ChangeToward

    def __call__(self) -> Tensor:
        return self.temporal_weight * self.temporal() + self.spatial_weight * self.spatial()


def cats_penalty(
    mean_action: BatchFunction, states: Tensor, next_states: Tensor, weights: Tensor | None = None
) -> ChangeToward:
    """E |mu(s_t) - mu(s_t+1)|^2, the penalty of CATS (Ahn et al.)."""
    return ChangeToward(mean_action, states, next_states, weights)


def caps_penalty(
    mean_action: BatchFunction,
    states: Tensor,
    next_states: Tensor,
    noise: Tensor,
    temporal_weight: float = 0.1,
    spatial_weight: float = 0.5,
    weights: Tensor | None = None,
) -> CapsPenalty:
    """The two terms of CAPS (Mysore et al. 2021), as squared norms.

    temporal_weight * E |mu(s_t) - mu(s_t+1)|^2 + spatial_weight * E |mu(s) - mu(s + noise)|^2

    `noise` [B, S] is drawn once by the caller (CAPS: Gaussian, std 0.2), so that the line search
    compares like with like.
    """
    return CapsPenalty(
        temporal_weight,
        ChangeToward(mean_action, states, next_states, weights),
        spatial_weight,
        ChangeToward(mean_action, states, states + noise, weights),
    )


def rows_with_successor(is_cut: Tensor) -> Tensor:
    """Flat rows i of a batch [T, N] whose successor, row i + N, is of the same episode."""
    return torch.nonzero(~is_cut[:-1].flatten()).flatten()


def steps_into_episode(is_cut: Tensor, steps_before: Tensor) -> Tensor:
    """[T, N], how many steps each state is from the start of its episode.

    `steps_before` [N] is how far the live episodes were when the batch began.
    """
    ages = torch.empty(is_cut.shape, dtype=torch.int64, device=is_cut.device)
    age = steps_before.to(ages)
    for t, cut in enumerate(is_cut):
        ages[t] = age
        age = torch.where(cut, 0, age + 1)
    return ages


def discount_weights(ages: Tensor, gamma: float) -> Tensor:
    """gamma^t over its mean: a constant penalty keeps its value under them."""
    weights = torch.pow(gamma, ages.to(torch.float64))
    return weights / weights.mean()
