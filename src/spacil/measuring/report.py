"""Every smoothness number of one policy, as one record with stable keys.

The same keys for every kind of policy; a number that cannot be known is None, never left out.
Nothing is computed here.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from spacil.measuring.frames import FrameFacts
from spacil.measuring.robustness import Robustness
from spacil.measuring.statistics import ReturnStatistics
from spacil.policies.policy import Kind
from spacil.smoothness.action_signal import SPECTRUM_CONVENTION, ActionSignal
from spacil.smoothness.metric import Summary


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
    """mean of the largest Jeffreys divergence in the ball, in nats, at standard deviation 1"""
    jeffreys_policy_std: float | None
    """the same at the policy's own standard deviations, where it has them"""


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
    common_bound: float | None
    common_layer_product: float | None
    common_looseness: float | None


@dataclass(frozen=True)
class PlayedEpisodes(ReturnStatistics):
    """Whole episodes: what they earned, and what the motors felt."""

    mean_length: float
    action_signal: ActionSignal


@dataclass(frozen=True)
class ReferenceEpisodes(PlayedEpisodes):
    """Somebody to compare a policy with, on the same starts."""

    smoothness_j: float | None
    """Mean J in the common frame on its own trajectories; None without that frame"""


@dataclass(frozen=True)
class SmoothnessReport:
    """What `spacil smoothness` reports. Lower is smoother."""

    source: str
    kind: Kind
    derivative: Literal["exact", "finite differences"]
    task: str | None
    seed: int
    acting: Literal["mean", "sampled"]
    provenance: Mapping[str, Any]
    on_trajectories: FrameSummaries | None
    on_fixed_states: FrameSummaries | None
    fixed_states_from: str | None
    common_frame: FrameFacts | None
    estimators: BallEstimates
    certificate: CertificateSummary | None
    """None for anything but an MLP of tanh or ReLU"""
    cost: CostSummaries | None
    """None for a policy that comes without a discriminator"""
    played: PlayedEpisodes | None
    references: Mapping[str, ReferenceEpisodes] | None
    """zero_action, random and, for a task with a bundled expert, demonstrator"""
    action_spread: float
    """Standard deviation of the executed actions, in half ranges, over all states measured"""
    is_inactive: bool
    """The policy hardly acts: perfectly smooth, and of no use"""
    robustness: Robustness | None

    @property
    def headline(self) -> FrameSummaries:
        """On its own trajectories; on the fixed states where none were played."""
        chosen = self.on_trajectories or self.on_fixed_states
        assert chosen is not None
        return chosen

    @property
    def smoothness_j(self) -> float | None:
        """Mean J in the common frame; None without demonstrations to define it."""
        return None if self.headline.common is None else self.headline.common.mean

    @property
    def smoothness_j_own(self) -> float:
        """Mean J per unit of the policy's own normalised state."""
        return self.headline.own.mean

    def as_document(self) -> dict[str, Any]:
        """JSON-able; the headline numbers on top, under the keys that `spacil evaluate` uses."""
        document = asdict(self)
        played = document.pop("played") or {field.name: None for field in fields(PlayedEpisodes)}
        means = {
            f"smoothness_j_{frame}": _mean(getattr(self.headline, frame))
            for frame in ("own", "raw", "common", "effective")
        }
        return {
            "smoothness_j": self.smoothness_j,
            **means,
            "measured_on": "trajectories" if self.on_trajectories else "fixed states",
            **played,
            "action_fluctuation": (played["action_signal"] or {}).get("action_fluctuation"),
            **document,
            "conventions": {"spectrum_score": SPECTRUM_CONVENTION},
        }


def _mean(summary: Summary | None) -> float | None:
    return None if summary is None else summary.mean
