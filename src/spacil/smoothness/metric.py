"""J: the mean local Lipschitz constant of a policy's mean action (eq:j_form_2), exactly.

A Jacobian is measured in a frame, the unit of length given to each state dim:

own        per unit of the policy's normalised state
raw        per raw unit of the observation
common     per standard deviation of the demonstrations: policies of one task compare here
effective  the common frame, counting only what passes the action and observation clips
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.spectral import BatchFunction, batch_jacobian, top_singular

CHUNK = 2_000
"""States per Jacobian evaluation: bounds the memory, not the result."""


def local_lipschitz(mean_action: BatchFunction, states: Tensor) -> Tensor:
    """sigma_max of d mu / d s at each state [B], per unit of the states handed in."""
    return torch.cat([top_singular(jacobian).sigma for jacobian in _jacobians(mean_action, states)])


@dataclass(frozen=True)
class Frames:
    """What is needed to express one policy's Jacobian in every frame, [S] each."""

    own_scale: Tensor
    """normalised units per raw unit: 1 / std, zero on masked dims"""
    common_std: Tensor | None
    """raw units per demonstration standard deviation, zero on dims constant there"""
    action_low: Tensor
    action_high: Tensor
    state_clip: float
    """normalised states beyond this are cut, so they do not reach the policy"""


@dataclass(frozen=True)
class LocalConstants:
    """sigma_max at each state, one tensor [B] per frame; None where there is no common frame."""

    own: Tensor
    raw: Tensor
    common: Tensor | None
    effective: Tensor | None


def local_constants(
    mean_action: BatchFunction, normalized_states: Tensor, frames: Frames
) -> LocalConstants:
    """The local Lipschitz constant of the mean action in every frame, from one Jacobian each."""
    per_frame: dict[str, list[Tensor]] = {"own": [], "raw": [], "common": [], "effective": []}
    for states in normalized_states.split(CHUNK):
        own = batch_jacobian(mean_action, states)
        raw = own * frames.own_scale
        per_frame["own"].append(top_singular(own).sigma)
        per_frame["raw"].append(top_singular(raw).sigma)
        if frames.common_std is None:
            continue
        common = raw * frames.common_std
        with torch.no_grad():
            action = mean_action(states)
        moves_action = (action > frames.action_low) & (action < frames.action_high)
        reaches_policy = states.abs() < frames.state_clip
        effective = common * moves_action.unsqueeze(-1) * reaches_policy.unsqueeze(-2)
        per_frame["common"].append(top_singular(common).sigma)
        per_frame["effective"].append(top_singular(effective).sigma)
    has_common = frames.common_std is not None
    return LocalConstants(
        own=torch.cat(per_frame["own"]),
        raw=torch.cat(per_frame["raw"]),
        common=torch.cat(per_frame["common"]) if has_common else None,
        effective=torch.cat(per_frame["effective"]) if has_common else None,
    )


def _jacobians(mean_action: BatchFunction, states: Tensor) -> Iterator[Tensor]:
    for chunk in states.split(CHUNK):
        yield batch_jacobian(mean_action, chunk)
