"""J: the mean local Lipschitz constant of a policy's mean action (eq:j_form_2), exactly.

A Jacobian is measured in a frame, the unit of length given to each state dim:

own        per unit of the policy's normalised state
raw        per raw unit of the observation
common     per standard deviation of the demonstrations: policies of one task compare here
effective  the common frame, counting only what passes the action and observation clips

Lower is smoother. Where states come from, and what a policy is, is not known here.
"""

from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.sensitivity import (
    BatchFunction,
    batch_jacobian,
    top_singular,
)

CHUNK = 10_000
"""States per Jacobian evaluation: bounds the memory, not the result. Large, because every product
is a meeting of all threads, and on a busy machine it is the meetings that cost."""
USUAL_ACTIONS = 32
"""With more actions than these a chunk has fewer states."""


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

    def common_columns(self, states: Tensor) -> Tensor:
        """Unit of length of each state dim in the common frame, in normalised units [S]."""
        assert self.common_std is not None
        return self.own_scale.to(states) * self.common_std.to(states)


@dataclass(frozen=True)
class Summary:
    """One number per state, summed up in four."""

    mean: float
    median: float
    p95: float
    """95 % of the states lie at or below"""
    max: float


def local_lipschitz(
    mean_action: BatchFunction, states: Tensor, columns: Tensor | None = None
) -> Tensor:
    """sigma_max of d mu / d s at each state [B], per unit of the states handed in.

    `columns` [S]: another unit of length for each state dim, in units of the states.
    """
    unit = states.new_ones(states.shape[-1]) if columns is None else columns
    parts = [batch_jacobian(mean_action, part) * unit for part in _chunks(mean_action, states)]
    return torch.cat(list(map(top_singular, parts)))


def local_constants(
    mean_action: BatchFunction, normalized_states: Tensor, frames: Frames
) -> dict[str, Tensor | None]:
    """sigma_max at each state [B] by frame, from one Jacobian; None without a common frame."""
    found: dict[str, list[Tensor]] = defaultdict(list)
    for states in _chunks(mean_action, normalized_states):
        jacobian = batch_jacobian(mean_action, states)
        seen = {"own": jacobian, "raw": jacobian * frames.own_scale.to(states)}
        if frames.common_std is not None:
            with torch.no_grad():
                action = mean_action(states)
            columns = frames.common_columns(states)
            moves_action = (action > frames.action_low) & (action < frames.action_high)
            uncut = columns * (states.abs() < frames.state_clip)
            seen["common"] = jacobian * columns
            seen["effective"] = jacobian * uncut.unsqueeze(-2) * moves_action.unsqueeze(-1)
        for frame, scaled in seen.items():
            found[frame].append(top_singular(scaled))
    names = ("own", "raw", "common", "effective")
    return {name: torch.cat(found[name]) if name in found else None for name in names}


def summarize(values: Tensor) -> Summary:
    """Mean, median, 95th percentile and maximum of [B]."""
    values = values.double()
    median, p95 = torch.quantile(values, values.new_tensor([0.5, 0.95])).tolist()
    return Summary(float(values.mean()), median, p95, float(values.max()))


def _chunks(mean_action: BatchFunction, states: Tensor) -> tuple[Tensor, ...]:
    with torch.no_grad():
        num_actions = mean_action(states[:1]).shape[-1]
    size = CHUNK * USUAL_ACTIONS // max(num_actions, USUAL_ACTIONS)
    chunks: tuple[Tensor, ...] = states.split(size)
    return chunks
