"""J in every frame, and which demonstrations define the common one."""

import logging
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.findings import require_finite
from spacil.envs.vector_env import EnvSpec, require_dims
from spacil.nets.policy import GaussianPolicy, moving_std
from spacil.plain_text import shown
from spacil.policies.policy import OwnFrame, Policy
from spacil.smoothness.metric import (
    Frames,
    local_constants,
    local_lipschitz,
)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrameFacts:
    """What a reader must know of the common frame beside a J; keys are stable."""

    source: str
    hash: str
    num_dims: int
    num_live_dims: int
    """Those that vary in the demonstrations: only along them J is measured"""
    num_dims_read: int
    """Those that reach the policy's network"""
    dims_unseen: tuple[int, ...]
    """Those that it reads and that do not vary there: J says nothing of them"""

    def __str__(self) -> str:
        unseen = ", ".join(map(str, self.dims_unseen))
        return (
            f"{self.source}; {self.num_live_dims} of {self.num_dims} state dims vary there, "
            f"the policy reads {self.num_dims_read}"
            + (f"; J does not see {len(self.dims_unseen)} of these: {unseen}" if unseen else "")
        )


def frame_facts(frame: CommonFrame | None, own_scale: Tensor) -> FrameFacts | None:
    """`own_scale` [S] is zero on dims that do not reach the policy's network."""
    if frame is None:
        return None
    is_read, is_live = own_scale.cpu() != 0, frame.is_live.cpu()
    unseen = (is_read & ~is_live).nonzero().flatten().tolist()
    sizes = frame.num_states, int(is_live.sum()), int(is_read.sum())
    return FrameFacts(frame.source, frame.content_hash, *sizes, tuple(unseen))


def choose_frame(
    given: Demonstrations | None, kept: CommonFrame | None, task: str | None
) -> CommonFrame | None:
    """That of demonstrations a user names, the one kept with the policy, or the bundled one.

    Given ones have to be finite: without some of their episodes they would be another frame.
    """
    if given is not None:
        require_finite(given)
        theirs = given.metadata.task
        if task is not None and theirs not in (None, task):
            _logger.warning(
                "%s: demonstrations of %s, and the policy plays %s: J is per standard deviation of "
                "the states of the former",
                *map(shown, (given.source, theirs, task)),
            )
        return CommonFrame.of(given, given.source)
    return kept if kept is not None else bundled_frame(task)


def frame_of_run(
    given: CommonFrame | None, demonstrations: Demonstrations | None, spec: EnvSpec
) -> CommonFrame | None:
    """The one given, that of a run's demonstrations, else of those bundled with its task, or none.

    J is per unit of what the sensors say now: what a policy sees of its past has no unit.
    """
    if (frame := given) is None:
        frame = (
            bundled_frame(spec.task) if demonstrations is None else CommonFrame.of(demonstrations)
        )
    num_sensors = spec.num_sensors or spec.num_states
    # An env under a task's name may have been wrapped, with other observations.
    if frame is None or frame.num_states not in (num_sensors, spec.num_states):
        return None
    return replace(frame, std=frame.std[:num_sensors]).with_history(spec.num_states)


def local_j(
    policy: GaussianPolicy | Policy,
    states: Tensor,
    common_frame: CommonFrame | None,
    bounds: tuple[Tensor, Tensor] | None = None,
) -> dict[str, Tensor | None]:
    """sigma_max of the mean action at raw states [B, S], in every frame.

    `bounds` of the actions: by default the policy's own; where none are known there is no
    effective constant. Steps of finite differences follow from the frame, or from the states.
    """
    own, inputs, known = _view(policy, states, common_frame)
    frames = frames_of(own, common_frame, bounds or known)
    found = local_constants(own.mean, inputs, frames)
    return found if bounds or known else found | {"effective": None}


def mean_j(policy: GaussianPolicy | Policy, states: Tensor, common_frame: CommonFrame) -> float:
    """J in the common frame over raw states [B, S]."""
    own, inputs, bounds = _view(policy, states, common_frame)
    frames = frames_of(own, common_frame, bounds)
    return float(local_lipschitz(own.mean, inputs, frames.common_columns(inputs)).mean())


def frames_of(
    own: OwnFrame, common_frame: CommonFrame | None, bounds: tuple[Tensor, Tensor] | None
) -> Frames:
    """Every frame that a policy's J is measured in."""
    common = None
    if common_frame is not None:
        dims, ours = (common_frame.num_states, None), (len(own.scale), None)
        require_dims(common_frame.source, dims, ours, "the policy")
        common = common_frame.std.to(own.scale)
    low, high = bounds or (torch.tensor(-torch.inf), torch.tensor(torch.inf))
    return Frames(own.scale, common, low, high, state_clip=own.clip)


def _view(
    policy: GaussianPolicy | Policy, states: Tensor, common_frame: CommonFrame | None
) -> tuple[OwnFrame, Tensor, tuple[Tensor, Tensor] | None]:
    """The policy's own frame, the states there, its bounds."""
    bounds: tuple[Tensor, Tensor] | None
    if isinstance(policy, GaussianPolicy):
        own, bounds = OwnFrame.of(policy), (policy.action_low, policy.action_high)
    else:
        feature_std = feature_std_of(states, common_frame).to(policy.dtype)
        own, bounds = policy.with_derivatives(feature_std).own_frame, policy.action_bounds
    return own, own.normalize(states.to(own.scale)), bounds


def feature_std_of(states: Tensor, common_frame: CommonFrame | None) -> Tensor:
    """[S] float64, standard deviations of the demonstrations, or else of the states measured."""
    if common_frame is None:
        return moving_std(states)
    return common_frame.std
