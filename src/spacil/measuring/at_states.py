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
from spacil.measuring.frames import frame_facts, frames_of, local_j
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


def frame_summaries(
    policy: Policy, states: Tensor, frame: CommonFrame | None, bounds: Bounds
) -> FrameSummaries:
    """J in every frame."""
    found = local_j(policy, states, frame, bounds)
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
    trace = found | {"actions": trajectory.actions}
    trace |= {"frequencies": frequencies, "amplitudes": amplitudes}
    return {name: values.numpy() for name, values in trace.items() if values is not None}


def ball_estimates(
    policy: Policy,
    raw_states: Tensor,
    generator: torch.Generator,
    radius: float = paper.PENALTY_RADIUS,
    num_steps: int = 10,
) -> dict[str, Any]:
    """The paper's J by ascent in the own frame, with each step rule from the same starts on the
    sphere, beside the exact value, the mean Jacobian norm.

    `jeffreys`: mean of the largest Jeffreys divergence in the ball, in nats, at standard deviation
    1, and at the policy's own ones, where it has them.
    """
    own = policy.own_frame
    states = own.normalize(raw_states)
    start = random_offset(states, radius, "sphere", generator, own.scale != 0)

    def ascend(step_rule: StepRule, std: Tensor | float = 1.0) -> BallMaximum:
        return ascend_in_ball(
            own.mean, states, start, radius, num_steps, step_rule, paper.PENALTY_STEP_SIZE, std
        )

    rules: tuple[StepRule, ...] = ("raw", "normalized", "power")
    found = {rule: ascend(rule) for rule in rules}
    divergences = {"jeffreys": found["power"].divergence, "jeffreys_policy_std": None}
    if policy.std is not None:
        divergences["jeffreys_policy_std"] = ascend("power", policy.std).divergence
    exact = local_lipschitz(own.mean, states)
    numbers = {"exact": exact} | {rule: maximum.ratio for rule, maximum in found.items()}
    return {"radius": radius, "num_steps": num_steps, "num_states": len(states)} | {
        name: None if values is None else float(values.mean())
        for name, values in (numbers | divergences).items()
    }


def cost_summaries(
    cost: CostFunction, policy: Policy, raw_states: Tensor, frame: CommonFrame | None
) -> dict[str, Any]:
    """Summaries of how fast the learned cost changes, in state, action and along the response.

    States in the frames that the policy's J is measured in; None without the common one.
    """
    own = policy.own_frame
    parts = [
        cost_gradients(cost, own.mean, states) for states in own.normalize(raw_states).split(CHUNK)
    ]
    common_std = frames_of(own, frame, None).common_std
    to_common = None if common_std is None else own.scale * common_std
    summaries: dict[str, Any] = {"num_states": len(raw_states)}
    for name, key, scale in (
        # The discriminator reads every normalised dim, masked ones as the constant 0 they are.
        ("in_state", "state", own.scale != 0),
        ("in_action", "action", 1.0),
        ("response", "response", 1.0),
        ("in_state_common", "state", to_common),
        ("response_common", "response", to_common),
    ):
        rows = torch.cat([part[key] for part in parts])
        norms = None if scale is None else torch.linalg.vector_norm(rows * scale, dim=-1)
        summaries[name] = None if norms is None else summarize(norms)
    return summaries


def certificate_summary(
    policy: Policy, frame: CommonFrame | None, measured: list[FrameSummaries]
) -> dict[str, float | None] | None:
    """Sound upper bounds on the global Lipschitz constant in the own and the common frame.

    Looseness is the bound over the largest constant measured there; None for a policy that never
    moves. There are none for anything but an MLP of tanh or ReLU, and none in a common frame that
    leaves out dims which the policy reads: along these it may move at no distance.
    """
    if policy.weights is None:
        return None
    own, (first, *rest) = policy.own_frame, policy.weights
    facts = frame_facts(frame, own.scale)
    common_std = None if facts and facts.dims_unseen else frames_of(own, frame, None).common_std
    # A state moves by common_std, the network's input by that times its scale.
    common = None if common_std is None else (first * (own.scale * common_std), *rest)
    found: dict[str, float | None] = {}
    for name, weights in (("own", policy.weights), ("common", common)):
        bound = product = looseness = None
        if weights is not None:
            bound, product = eclipse_fast_bound(weights), layer_product_bound(weights)
            largest = max(getattr(summaries, name).max for summaries in measured)
            looseness = bound / largest if largest > 0 else None
        found[f"{name}_bound"], found[f"{name}_layer_product"] = bound, product
        found[f"{name}_looseness"] = looseness
    return found
