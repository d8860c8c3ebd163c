"""J: the mean local Lipschitz constant of a policy's mean action (eq:j_form_2), exactly.

A Jacobian is measured in a frame, the unit of length given to each state dim:

own        per unit of the policy's normalised state
raw        per raw unit of the observation
common     per standard deviation of the demonstrations: policies of one task compare here
effective  the common frame, counting only what passes the action and observation clips

Lower is smoother. Where states come from, and what a policy is, is not known here.
"""

from collections.abc import Mapping
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


@dataclass(frozen=True)
class LocalConstants:
    """sigma_max at each state, one tensor [B] per frame; None where there is no common frame."""

    own: Tensor
    raw: Tensor
    common: Tensor | None
    effective: Tensor | None


@dataclass(frozen=True)
class Summary:
    """One number per state, summed up in four."""

    mean: float
    median: float
    p95: float
    """95 % of the states lie at or below"""
    max: float


@dataclass(frozen=True)
class _View:
    """A frame as what it does to the Jacobian: rows * J * columns."""

    columns: Tensor
    """[S] or [B, S]"""
    rows: Tensor | None = None
    """[B, A], 1 where the action is free to move"""


def local_lipschitz(
    mean_action: BatchFunction, states: Tensor, *, always_dense: bool = False
) -> Tensor:
    """sigma_max of d mu / d s at each state [B], per unit of the states handed in."""
    view = {"own": _View(states.new_ones(states.shape[-1]))}
    chunks = states.split(CHUNK)
    return torch.cat([_sigmas(mean_action, c, view, always_dense)["own"] for c in chunks])


def common_constants(
    mean_action: BatchFunction,
    normalized_states: Tensor,
    frames: Frames,
    *,
    always_dense: bool = False,
) -> Tensor:
    """sigma_max at each state [B] in the common frame alone."""
    parts = [
        _sigmas(mean_action, states, {"common": _common_view(states, frames)}, always_dense)
        for states in normalized_states.split(CHUNK)
    ]
    return torch.cat([part["common"] for part in parts])


def local_constants(
    mean_action: BatchFunction,
    normalized_states: Tensor,
    frames: Frames,
    *,
    always_dense: bool = False,
) -> LocalConstants:
    """The local Lipschitz constant of the mean action in every frame, from one Jacobian.

    With more than `MAX_DENSE_ACTIONS` actions by power iteration, unless `always_dense`: what
    has no second derivative, or a Jacobian that costs the same for any number of actions.
    """
    parts = [
        _sigmas(mean_action, states, _views(mean_action, states, frames), always_dense)
        for states in normalized_states.split(CHUNK)
    ]
    sigma = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return LocalConstants(sigma["own"], sigma["raw"], sigma.get("common"), sigma.get("effective"))


def summarize(values: Tensor) -> Summary:
    """Mean, median, 95th percentile and maximum of [B]."""
    values = values.double()
    median, p95 = torch.quantile(values, values.new_tensor([0.5, 0.95])).tolist()
    return Summary(float(values.mean()), median, p95, float(values.max()))


def _views(mean_action: BatchFunction, states: Tensor, frames: Frames) -> dict[str, _View]:
    raw = frames.own_scale.to(states)
    views = {"own": _View(torch.ones_like(raw)), "raw": _View(raw)}
    if frames.common_std is None:
        return views
    common = _common_view(states, frames)
    with torch.no_grad():
        action = mean_action(states)
    moves_action = (action > frames.action_low) & (action < frames.action_high)
    reaches_policy = states.abs() < frames.state_clip
    views["common"] = common
    views["effective"] = _View(common.columns * reaches_policy, moves_action)
    return views


def _common_view(states: Tensor, frames: Frames) -> _View:
    assert frames.common_std is not None
    return _View(frames.own_scale.to(states) * frames.common_std.to(states))


def _sigmas(
    mean_action: BatchFunction,
    states: Tensor,
    views: Mapping[str, _View],
    always_dense: bool,
) -> dict[str, Tensor]:
    """sigma_max [B] in each view."""
    with torch.no_grad():
        num_actions = mean_action(states[:1]).shape[-1]
    if num_actions > MAX_DENSE_ACTIONS and not always_dense:
        return {
            name: power_singular(mean_action, states, view.columns, view.rows)
            for name, view in views.items()
        }
    jacobian = batch_jacobian(mean_action, states)
    return {name: top_singular(_seen(jacobian, view)).sigma for name, view in views.items()}


def _seen(jacobian: Tensor, view: _View) -> Tensor:
    seen = jacobian * view.columns.unsqueeze(-2)
    return seen if view.rows is None else seen * view.rows.unsqueeze(-1)
