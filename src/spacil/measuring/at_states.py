"""The numbers of one policy at given states: local constants, ball estimates, cost, certificate.

Functions of a policy, of raw states and of a common frame; nothing is played or read here. The
policy is one with derivatives (`Policy.with_derivatives`). A number that cannot be known is None.
"""

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil import paper
from spacil.demos.common_frame import CommonFrame
from spacil.envs.episodes import Trajectory
from spacil.functional.sensitivity import StepRule, random_offset
from spacil.measuring.frames import frames_of, local_j
from spacil.policies.policy import Policy
from spacil.smoothness.action_signal import amplitude_spectrum
from spacil.smoothness.bounds import (
    BallMaximum,
    ascend_in_ball,
    eclipse_fast_bound,
    layer_product_bound,
)
from spacil.smoothness.cost import CostFunction, cost_gradients
from spacil.smoothness.metric import CHUNK, Summary, local_lipschitz, summarize

Bounds = tuple[Tensor, Tensor] | None


@dataclass(frozen=True)
class FrameSummaries:
    """The exact local Lipschitz constant of the mean action, over states, in every frame."""

    num_states: int
    own: Summary
    raw: Summary
    common: Summary | None
    """None without demonstrations to define the frame"""
    effective: Summary | None
    """None also where the action bounds are not known"""


@dataclass(frozen=True)
class BallEstimates:
    """The paper's J by ascent in the own frame, beside the exact value on the same states."""

    radius: float
    num_steps: int
    num_states: int
    exact: float
    """eq:j_form_2, the mean Jacobian norm"""
    raw: float
    """eq:jacobian_metric with the paper's step"""
    normalized: float
    power: float
    jeffreys: float
    """Mean of the largest Jeffreys divergence in the ball, in nats, at standard deviation 1"""
    jeffreys_policy_std: float | None
    """The same at the policy's own standard deviations, where it has them"""


@dataclass(frozen=True)
class CostSummaries:
    """Local Lipschitz constants of the learned cost; states in the own and the common frame."""

    num_states: int
    in_state: Summary
    in_action: Summary
    response: Summary
    in_state_common: Summary | None
    response_common: Summary | None


@dataclass(frozen=True)
class CertificateSummary:
    """Sound upper bounds on the global Lipschitz constant, and how loose they are."""

    own_bound: float
    own_layer_product: float
    own_looseness: float | None
    """bound / largest local constant measured; None for a policy that never moves"""
    common_bound: float | None = None
    common_layer_product: float | None = None
    common_looseness: float | None = None


def frame_summaries(
    policy: Policy, states: Tensor, frame: CommonFrame | None, bounds: Bounds
) -> FrameSummaries:
    """J in every frame."""
    found = vars(local_j(policy, states, frame, bounds))
    summaries: dict[str, Any] = {
        name: None if j is None else summarize(j) for name, j in found.items()
    }
    return FrameSummaries(len(states), **summaries)


def episode_trace(
    policy: Policy, trajectory: Trajectory, frame: CommonFrame | None, bounds: Bounds
) -> dict[str, NDArray[Any]]:
    """One episode step by step, for pictures: J by frame [T], actions [T, A], their spectrum."""
    found = local_j(policy, trajectory.states, frame, bounds)
    frequencies, amplitudes = amplitude_spectrum(trajectory.actions)
    trace = vars(found) | {"actions": trajectory.actions}
    trace |= {"frequencies": frequencies, "amplitudes": amplitudes}
    return {name: values.numpy() for name, values in trace.items() if values is not None}


def ball_estimates(
    policy: Policy,
    raw_states: Tensor,
    generator: torch.Generator,
    radius: float = paper.PENALTY_RADIUS,
    num_steps: int = 10,
) -> BallEstimates:
    """The paper's J with each step rule from the same starts on the sphere, and the exact one."""
    own, policy_std = policy.own_frame, policy.std
    states = own.normalize(raw_states)
    start = random_offset(states, radius, "sphere", generator, own.scale != 0)

    def ascend(step_rule: StepRule, std: Tensor | float = 1.0) -> BallMaximum:
        return ascend_in_ball(
            own.mean, states, start, radius, num_steps, step_rule, paper.PENALTY_STEP_SIZE, std
        )

    rules: tuple[StepRule, ...] = ("raw", "normalized", "power")
    found = {rule: ascend(rule) for rule in rules}
    exact = local_lipschitz(own.mean, states, always_dense=not policy.has_gradients)
    at_policy_std = None
    if policy_std is not None:
        at_policy_std = float(ascend("power", policy_std).divergence.mean())
    return BallEstimates(
        radius,
        num_steps,
        len(states),
        float(exact.mean()),
        **{rule: float(maximum.ratio.mean()) for rule, maximum in found.items()},
        jeffreys=float(found["power"].divergence.mean()),
        jeffreys_policy_std=at_policy_std,
    )


def cost_summaries(
    cost: CostFunction, policy: Policy, raw_states: Tensor, frame: CommonFrame | None
) -> CostSummaries:
    """How fast the learned cost changes, in the frames that the policy's J is measured in."""
    own = policy.own_frame
    parts = [
        cost_gradients(cost, own.mean, states) for states in own.normalize(raw_states).split(CHUNK)
    ]

    def summary(name: str, scale: Tensor | None) -> Summary:
        rows = torch.cat([part[name] for part in parts])
        return summarize(torch.linalg.vector_norm(rows if scale is None else rows * scale, dim=-1))

    common_std = frames_of(own, frame, None).common_std
    to_common = None if common_std is None else own.scale * common_std
    return CostSummaries(
        num_states=len(raw_states),
        # The discriminator reads every normalised dim, masked ones as the constant 0 they are.
        in_state=summary("state", own.scale != 0),
        in_action=summary("action", None),
        response=summary("response", None),
        in_state_common=None if to_common is None else summary("state", to_common),
        response_common=None if to_common is None else summary("response", to_common),
    )


def certificate_summary(
    policy: Policy, frame: CommonFrame | None, measured: list[FrameSummaries]
) -> CertificateSummary | None:
    """Bounds in the own and the common frame, each against the largest constant found there.

    None for anything but an MLP of tanh or ReLU.
    """
    if policy.weights is None:
        return None
    own, (first, *rest) = policy.own_frame, policy.weights
    weights, found = {"own": policy.weights}, dict[str, Any]()
    common_std = frames_of(own, frame, None).common_std
    if common_std is not None:
        # A state moves by common_std, the network's input by that times its scale.
        weights["common"] = (first * (own.scale * common_std), *rest)
    for name, each in weights.items():
        bound = eclipse_fast_bound(each)
        largest = max(getattr(summaries, name).max for summaries in measured)
        found[f"{name}_bound"] = bound
        found[f"{name}_layer_product"] = layer_product_bound(each)
        found[f"{name}_looseness"] = bound / largest if largest > 0 else None
    return CertificateSummary(**found)
