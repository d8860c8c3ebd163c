"""Everything that could be wrong with demonstrations, in one report.

`check_demonstrations` never raises on content and changes nothing: it measures, and lists what it
finds, each with its place and a remedy. `demos_for_training` refuses what holds an error.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from spacil.config.settings import DemoChoice
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.findings import Finding, Subject, find, require_usable
from spacil.envs.vector_env import EnvSpec, FloatArray


@dataclass(frozen=True)
class DemoReport:
    """What demonstrations hold, and what is wrong with them. None: not known."""

    source: str
    task: str | None
    content_hash: str
    num_episodes: int
    num_steps: int
    num_states: int
    num_actions: int
    has_raw_actions: bool
    has_start_states: bool
    average_return: float | None
    return_std: float | None
    return_min: float | None
    return_max: float | None
    average_length: float
    length_min: int
    length_max: int
    fraction_out_of_bounds: float | None
    """Fraction of executed action entries outside the env's bounds."""
    mean_action_change: float | None
    """Mean |a_t - a_(t-1)| over executed action entries; lower is smoother."""
    relative_action_change: float | None
    """The same over the mean difference of any two steps: 1 for actions drawn anew each step."""
    num_terminated: int
    """Episodes that the task ended; the others were cut."""
    findings: tuple[Finding, ...]

    @property
    def is_usable(self) -> bool:
        return all(finding.severity != "error" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """JSON with stable keys."""
        return {**dataclasses.asdict(self), "is_usable": self.is_usable}


def check_demonstrations(
    demos: Demonstrations,
    spec: EnvSpec | None,
    reset_states: FloatArray | None = None,
    *,
    allow_env_mismatch: bool = False,
) -> DemoReport:
    """Report on demonstrations for the task `spec`, or on their own.

    `reset_states` [K, S], some tens of starts of the task, help to tell another task's states.
    """
    if spec is None or spec.num_states != demos.num_states:
        reset_states = None  # nothing to compare column by column
    subject = Subject(demos, spec, reset_states, allow_env_mismatch)
    lengths, out_of_bounds = demos.episode_lengths, subject.out_of_bounds
    returns = torch.full((1,), torch.nan) if demos.returns is None else demos.returns
    return DemoReport(
        source=demos.source,
        task=demos.metadata.task,
        content_hash=demos.content_hash,
        num_episodes=demos.num_episodes,
        num_steps=demos.num_steps,
        num_states=demos.num_states,
        num_actions=demos.num_actions,
        has_raw_actions=demos.actions is not None,
        has_start_states=demos.episodes[0].initial_qpos is not None,
        average_return=_finite_or_none(returns.mean()),
        return_std=_finite_or_none(returns.std(correction=0)),
        return_min=_finite_or_none(returns.min()),
        return_max=_finite_or_none(returns.max()),
        average_length=float(lengths.double().mean()),
        length_min=int(lengths.min()),
        length_max=int(lengths.max()),
        fraction_out_of_bounds=_finite_or_none(
            None if out_of_bounds is None else out_of_bounds.double().mean()
        ),
        mean_action_change=_finite_or_none(subject.mean_action_change),
        relative_action_change=_finite_or_none(subject.relative_action_change),
        num_terminated=sum(episode.is_terminated for episode in demos.episodes),
        findings=tuple(find(subject)),
    )


def demos_for_training(
    demos: Demonstrations,
    spec: EnvSpec,
    reset_states: FloatArray | None = None,
    choice: DemoChoice = DemoChoice(),
) -> tuple[Demonstrations, DemoReport]:
    """Choose the episodes that training may use; a DataError lists every error in them."""
    if choice.drop_nonfinite:
        demos = demos.without_nonfinite_episodes()
    demos = demos.first(choice.num_demos, choice.first_demo)
    report = check_demonstrations(
        demos, spec, reset_states, allow_env_mismatch=choice.allow_env_mismatch
    )
    require_usable(report.findings)
    return demos, report


def _finite_or_none(value: Tensor | float | None) -> float | None:
    """JSON knows no NaN: a number that does not exist is null."""
    return float(value) if value is not None and math.isfinite(value) else None
