"""The numbers of one policy at given states: local constants, ball estimates, cost, certificate.

A `Lens` is how a policy is looked at: its function with gradients, and the frames its Jacobian is
measured in. Everything here is a function of a lens and of states; nothing is played or read.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil import paper
from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Trajectory
from spacil.functional.ball import StepRule, random_offset
from spacil.functional.finite_differences import RELATIVE_STEP, differentiable
from spacil.functional.spectral import BatchFunction
from spacil.measuring.report import (
    BallEstimates,
    CertificateSummary,
    CostSummaries,
    FrameSummaries,
)
from spacil.nets.normalizer import STD_FLOOR
from spacil.policies.policy import Policy
from spacil.smoothness.action_signal import amplitude_spectrum
from spacil.smoothness.certificate import Certificate, certify
from spacil.smoothness.cost_metric import CostFunction, cost_gradients
from spacil.smoothness.estimators import BallMaximum, ascend_in_ball
from spacil.smoothness.metric import (
    CHUNK,
    Frames,
    LocalConstants,
    local_constants,
    local_lipschitz,
    summarize,
)


@dataclass(frozen=True)
class Lens:
    """One policy, ready to be measured at raw states."""

    normalize: BatchFunction
    """raw -> own frame"""
    mean: BatchFunction
    """own frame -> mean action, with gradients, exact or by differences"""
    frames: Frames
    has_bounds: bool
    is_exact: bool
    """whether gradients are exact"""

    def constants(self, raw_states: Tensor) -> LocalConstants:
        """sigma_max at each state, in every frame; no effective one where bounds are unknown."""
        states = self.normalize(raw_states.to(self.frames.own_scale.dtype))
        found = local_constants(self.mean, states, self.frames, always_dense=not self.is_exact)
        return found if self.has_bounds else replace(found, effective=None)


def make_lens(
    source: Policy,
    feature_std: Tensor,
    common_frame: CommonFrame | None,
    bounds: tuple[Tensor, Tensor] | None,
) -> Lens:
    """`feature_std` [S] sets the steps of finite differences, where they are needed."""
    num_states, dtype = len(feature_std), source.dtype
    low, high = (
        bounds if bounds is not None else (torch.tensor(-torch.inf), torch.tensor(torch.inf))
    )
    own = source.own
    frames = Frames(
        own_scale=torch.ones(num_states, dtype=dtype) if own is None else own.scale,
        common_std=None if common_frame is None else common_frame.live_std.to(dtype),
        action_low=low,
        action_high=high,
        state_clip=math.inf if own is None else own.clip,
    )
    mean = source.mean if own is None else own.mean
    if not source.has_gradients:
        mean = differentiable(mean, RELATIVE_STEP * feature_std.clamp_min(STD_FLOOR))
    normalize: BatchFunction = (lambda states: states) if own is None else own.normalize
    return Lens(normalize, mean, frames, bounds is not None, source.has_gradients)


def frame_summaries(lens: Lens, raw_states: Tensor) -> FrameSummaries:
    """J in every frame."""
    found = lens.constants(raw_states)
    return FrameSummaries(
        num_states=len(raw_states),
        own=summarize(found.own),
        raw=summarize(found.raw),
        common=None if found.common is None else summarize(found.common),
        effective=None if found.effective is None else summarize(found.effective),
    )


def episode_trace(lens: Lens, trajectory: Trajectory) -> dict[str, NDArray[Any]]:
    """One episode step by step, for pictures: J by frame [T], actions [T, A], their spectrum."""
    found = lens.constants(trajectory.states)
    frequencies, amplitudes = amplitude_spectrum(trajectory.actions)
    trace = {
        "own": found.own,
        "common": found.common,
        "effective": found.effective,
        "actions": trajectory.actions,
        "frequencies": frequencies,
        "amplitudes": amplitudes,
    }
    return {name: values.numpy() for name, values in trace.items() if values is not None}


def ball_estimates(
    lens: Lens,
    raw_states: Tensor,
    policy_std: Tensor | None,
    generator: torch.Generator,
    radius: float = paper.PENALTY_RADIUS,
    num_steps: int = 10,
) -> BallEstimates:
    """The paper's J with each step rule from the same starts on the sphere, and the exact one."""
    states = lens.normalize(raw_states)
    is_live = lens.frames.own_scale != 0
    start = random_offset(states, radius, "sphere", generator, is_live)

    def ascend(step_rule: StepRule, std: Tensor | float = 1.0) -> BallMaximum:
        return ascend_in_ball(
            lens.mean, states, start, radius, num_steps, step_rule, paper.PENALTY_STEP_SIZE, std
        )

    power = ascend("power")
    return BallEstimates(
        radius=radius,
        num_steps=num_steps,
        num_states=len(states),
        exact=float(local_lipschitz(lens.mean, states, always_dense=not lens.is_exact).mean()),
        raw=float(ascend("raw").ratio.mean()),
        normalized=float(ascend("normalized").ratio.mean()),
        power=float(power.ratio.mean()),
        jeffreys=float(power.divergence.mean()),
        jeffreys_policy_std=None
        if policy_std is None
        else float(ascend("power", policy_std).divergence.mean()),
    )


def cost_summaries(cost: CostFunction, lens: Lens, raw_states: Tensor) -> CostSummaries:
    """How fast the learned cost changes, in the frames that the policy's J is measured in."""
    parts = [
        cost_gradients(cost, lens.mean, states)
        for states in lens.normalize(raw_states).split(CHUNK)
    ]
    in_state = torch.cat([part.in_state for part in parts])
    in_action = torch.cat([part.in_action for part in parts])
    response = torch.cat([part.response for part in parts])
    # The discriminator reads every normalised dim, masked ones as the constant 0 they are.
    to_common = None
    if lens.frames.common_std is not None:
        to_common = lens.frames.own_scale * lens.frames.common_std
    return CostSummaries(
        num_states=len(raw_states),
        in_state=summarize(_norms(in_state * (lens.frames.own_scale != 0))),
        in_action=summarize(_norms(in_action)),
        response=summarize(_norms(response)),
        in_state_common=None if to_common is None else summarize(_norms(in_state * to_common)),
        response_common=None if to_common is None else summarize(_norms(response * to_common)),
    )


def certificate_summary(
    weights: tuple[Tensor, ...], frames: Frames, measured: list[FrameSummaries]
) -> CertificateSummary:
    """Bounds in the own and the common frame, each against the largest constant found there."""
    own = certify(weights)
    common: Certificate | None = None
    if frames.common_std is not None:
        # A state moves by common_std, the network's input by that times own_scale.
        first, *rest = weights
        common = certify([first * (frames.own_scale * frames.common_std), *rest])
    own_max = max(summary.own.max for summary in measured)
    common_max = max((s.common.max for s in measured if s.common is not None), default=0.0)
    return CertificateSummary(
        own_bound=own.bound,
        own_layer_product=own.layer_product,
        own_looseness=_ratio(own.bound, own_max),
        common_bound=None if common is None else common.bound,
        common_layer_product=None if common is None else common.layer_product,
        common_looseness=None if common is None else _ratio(common.bound, common_max),
    )


def _norms(rows: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    return norms


def _ratio(bound: float, largest: float) -> float | None:
    return bound / largest if largest > 0 else None
