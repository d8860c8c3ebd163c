"""J: the mean local Lipschitz constant of a policy's mean action (eq:j_form_2), exactly.

A Jacobian is measured in a frame, the unit of length given to each state dim:

own        per unit of the policy's normalised state
raw        per raw unit of the observation
common     per standard deviation of the demonstrations: policies of one task compare here
effective  the common frame, counting only what passes the action and observation clips

Lower is smoother. Where states come from, and what a policy is, is not known here.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.functional.sensitivity import (
    BatchFunction,
    batch_jacobian,
    power_singular,
    top_singular,
)

CHUNK = 10_000
"""States per Jacobian evaluation: bounds the memory, not the result. Large, because every product
is a meeting of all threads, and on a busy machine it is the meetings that cost."""
MAX_DENSE_ACTIONS = 32
"""Beyond this many actions sigma_max comes from power iteration: a Jacobian row costs a pass."""


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


View = tuple[Tensor, Tensor | None]
"""A frame as what it does to the Jacobian, rows * J * columns: columns [S] or [B, S], and rows
[B, A], 1 where the action is free to move; None: everywhere"""


def local_lipschitz(
    mean_action: BatchFunction,
    states: Tensor,
    columns: Tensor | None = None,
    *,
    always_dense: bool = False,
) -> Tensor:
    """sigma_max of d mu / d s at each state [B], per unit of the states handed in.

    `columns` [S]: another unit of length for each state dim, in units of the states.
    """
    found = states.new_ones(states.shape[-1]) if columns is None else columns
    return _sigmas(mean_action, states, lambda chunk: {"": (found, None)}, always_dense)[""]


def local_constants(
    mean_action: BatchFunction,
    normalized_states: Tensor,
    frames: Frames,
    *,
    always_dense: bool = False,
) -> dict[str, Tensor | None]:
    """sigma_max at each state [B] by frame, from one Jacobian; None without a common frame.

    With more than `MAX_DENSE_ACTIONS` actions by power iteration, unless `always_dense`: what
    has no second derivative, or a Jacobian that costs the same for any number of actions.
    """

    def views(states: Tensor) -> dict[str, View]:
        raw = frames.own_scale.to(states)
        found: dict[str, View] = {"own": (torch.ones_like(raw), None), "raw": (raw, None)}
        if frames.common_std is not None:
            with torch.no_grad():
                action = mean_action(states)
            columns = frames.common_columns(states)
            moves_action = (action > frames.action_low) & (action < frames.action_high)
            found["common"] = (columns, None)
            found["effective"] = (columns * (states.abs() < frames.state_clip), moves_action)
        return found

    found = _sigmas(mean_action, normalized_states, views, always_dense)
    return {frame: found.get(frame) for frame in ("own", "raw", "common", "effective")}


def summarize(values: Tensor) -> Summary:
    """Mean, median, 95th percentile and maximum of [B]."""
    values = values.double()
    median, p95 = torch.quantile(values, values.new_tensor([0.5, 0.95])).tolist()
    return Summary(float(values.mean()), median, p95, float(values.max()))


def _sigmas(
    mean_action: BatchFunction,
    states: Tensor,
    views_at: Callable[[Tensor], Mapping[str, View]],
    always_dense: bool,
) -> dict[str, Tensor]:
    """sigma_max [B] in each view, chunk by chunk."""
    with torch.no_grad():
        num_actions = mean_action(states[:1]).shape[-1]
    is_dense = always_dense or num_actions <= MAX_DENSE_ACTIONS
    found: dict[str, list[Tensor]] = defaultdict(list)
    for chunk in states.split(CHUNK):
        jacobian = batch_jacobian(mean_action, chunk) if is_dense else None
        for name, (columns, rows) in views_at(chunk).items():
            if jacobian is None:
                sigma = power_singular(mean_action, chunk, columns, rows)
            else:
                seen = jacobian * columns.unsqueeze(-2)
                sigma = top_singular(seen if rows is None else seen * rows.unsqueeze(-1)).sigma
            found[name].append(sigma)
    return {name: torch.cat(parts) for name, parts in found.items()}
