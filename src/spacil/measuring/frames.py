"""Which frames a policy's J is measured in, and which demonstrations define the common one."""

import logging
from dataclasses import dataclass

from torch import Tensor

from spacil.demos.common_frame import CommonFrame, bundled_frame
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.findings import require_finite
from spacil.envs.vector_env import require_dims
from spacil.nets.normalizer import CLIP
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import shown
from spacil.smoothness.metric import Frames, common_constants

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

    def __str__(self) -> str:
        return (
            f"{self.source}; {self.num_live_dims} of {self.num_dims} state dims vary there, "
            f"the policy reads {self.num_dims_read}"
        )


def frame_facts(frame: CommonFrame | None, own_scale: Tensor) -> FrameFacts | None:
    """`own_scale` [S] is zero on dims that do not reach the policy's network."""
    if frame is None:
        return None
    num_dims_read = int((own_scale != 0).sum())
    return FrameFacts(
        frame.source, frame.content_hash, frame.num_states, frame.num_live, num_dims_read
    )


def choose_frame(
    given: Demonstrations | None, kept: CommonFrame | None, task: str | None
) -> CommonFrame | None:
    """That of demonstrations a user names, the one kept with the policy, or the bundled one.

    Given ones have to be finite: without some of their episodes they would be another frame.
    """
    if given is not None:
        require_finite(given)
        if task is not None and given.metadata.task not in (None, task):
            _logger.warning(
                "%s: demonstrations of %s, and the policy plays %s: J is per standard deviation of "
                "the states of the former",
                shown(given.source),
                shown(given.metadata.task),
                shown(task),
            )
        return CommonFrame.of(given, given.source)
    return kept if kept is not None else bundled_frame(task)


def frame_of_run(
    demonstrations: Demonstrations | None, task: str, num_states: int
) -> CommonFrame | None:
    """That of a run's demonstrations, else of those bundled with its task; None without either."""
    frame = bundled_frame(task) if demonstrations is None else CommonFrame.of(demonstrations)
    # An env under a task's name may have been wrapped, with other observations.
    return frame if frame is not None and frame.num_states == num_states else None


def frames_of_policy(policy: GaussianPolicy, common_frame: CommonFrame | None) -> Frames:
    """Every frame that this policy's J is measured in."""
    scale = policy.normalizer.scale
    common = None
    if common_frame is not None:
        dims, ours = (common_frame.num_states, None), (policy.num_states, None)
        require_dims(common_frame.source, dims, ours, "the policy")
        common = common_frame.live_std.to(scale)
    return Frames(
        own_scale=scale,
        common_std=common,
        action_low=policy.action_low,
        action_high=policy.action_high,
        state_clip=CLIP,
    )


def mean_j(policy: GaussianPolicy, states: Tensor, common_frame: CommonFrame) -> float:
    """J in the common frame over raw states [B, S]."""
    frames = frames_of_policy(policy, common_frame)
    normalized = policy.normalize(states)
    return float(common_constants(policy.mean_of_normalized, normalized, frames).mean())
