"""Everything that could be wrong with demonstrations, in one report.

`check_demonstrations` never raises on content and changes nothing: it measures, and lists what it
finds, each with its place and a remedy. `demos_for_training` refuses what holds an error.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from spacil import storage
from spacil.config.settings import DemoChoice
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.findings import Finding, Subject, find, require_usable
from spacil.envs.vector_env import EnvSpec, FloatArray


@dataclass(frozen=True)
class DemoReport:
    """What demonstrations hold, and what is wrong with them."""

    facts: Mapping[str, Any]
    """By their keys in the JSON document; None: not known"""
    findings: tuple[Finding, ...]

    @property
    def is_usable(self) -> bool:
        return all(finding.severity != "error" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """JSON with stable keys."""
        findings = [asdict(finding) for finding in self.findings]
        return {**self.facts, "findings": findings, "is_usable": self.is_usable}


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
    facts = {
        "source": demos.source,
        "task": demos.metadata.task,
        "content_hash": demos.content_hash,
        "num_episodes": demos.num_episodes,
        "num_steps": demos.num_steps,
        "num_states": demos.num_states,
        "num_actions": demos.num_actions,
        "has_raw_actions": demos.actions is not None,
        "has_start_states": demos.episodes[0].initial_qpos is not None,
        "average_return": float(returns.mean()),
        "return_std": float(returns.std(correction=0)),
        "return_min": float(returns.min()),
        "return_max": float(returns.max()),
        "average_length": float(lengths.double().mean()),
        "length_min": int(lengths.min()),
        "length_max": int(lengths.max()),
        # of executed action entries: outside the env's bounds
        "fraction_out_of_bounds": None
        if out_of_bounds is None
        else float(out_of_bounds.double().mean()),
        # |a_t - a_(t-1)| over executed action entries; lower is smoother
        "mean_action_change": subject.mean_action_change,
        # the same over the difference of any two steps: 1 for actions drawn anew each step
        "relative_action_change": subject.relative_action_change,
        # episodes that the task ended; the others were cut
        "num_terminated": sum(episode.is_terminated for episode in demos.episodes),
    }
    return DemoReport(storage.without_non_finite(facts), tuple(find(subject)))


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
