"""The seam for policy steps: what moves the policy on a batch, with penalties composed onto it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from spacil.engine.adam import Adam
from spacil.engine.recorder import Recorder
from spacil.seeding import Streams
from spacil.smoothness.policy_terms import DrawnTerms


@dataclass(frozen=True)
class PolicyBatch:
    """What a policy step learns from, on the device."""

    states: Tensor
    """[B, S] normalised"""
    actions: Tensor
    """[B, A] raw"""
    advantages: Tensor
    """[B] standardised"""


DrawPenalties = Callable[[], DrawnTerms]
"""The policy penalties of this iteration, on rows drawn anew with each call"""


class StepReport(Protocol):
    """A frozen record, logged as it is."""

    @property
    def kl(self) -> float:
        """Mean KL(old, new)"""
        ...

    @property
    def summands(self) -> dict[str, float]:
        """The loss before the step, by name"""
        ...

    @property
    def refusal(self) -> str:
        """Why the policy did not move; empty when it did."""
        ...


class PolicyStep(Protocol):
    """Moves a policy on a batch."""

    @property
    def optimizer(self) -> Adam | None:
        """Memory that a checkpoint must keep; None without one."""
        ...

    def take(
        self,
        batch: PolicyBatch,
        draw_penalties: DrawPenalties,
        streams: Streams,
        recorder: Recorder,
    ) -> Any:
        """Move the policy; returns a `StepReport` dataclass."""
        ...

    def stay(self) -> Any:
        """The report of an iteration that leaves the policy as it is."""
        ...
