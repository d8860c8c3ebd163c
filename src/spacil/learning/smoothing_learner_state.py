"""A smoothing run taken apart into tensors and plain numbers, and put together again."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from spacil.errors import ConfigError
from spacil.learning.metrics import Counters
from spacil.learning.teacher import is_same_teacher
from spacil.learning.verdict import Strengths, judged_from
from spacil.measuring.evaluate import Best
from spacil.runs.checkpoints.named_tensors import (
    copies_on_cpu,
    module_tensors,
    optimizer_tensors,
    prefixed,
    restore_modules,
    restore_optimizer,
    with_prefix,
)
from spacil.runs.checkpoints.saved_state import optional_record_from, record_from, require_same_form

if TYPE_CHECKING:
    from spacil.learning.dagger import SmoothingLearner

_LABELLED = "labelled."


def tensors_of(learner: "SmoothingLearner") -> dict[str, Tensor]:
    """Every number of the run, by name, on the CPU."""
    named = module_tensors(_modules(learner))
    named |= optimizer_tensors("student", learner.student.mean_net, learner.optimizer)
    named |= prefixed("stream.", learner.streams.state())
    named |= prefixed("env.", learner.env.save_state())
    named |= prefixed(_LABELLED, vars(learner.visited))
    return copies_on_cpu(named)


def document_of(learner: "SmoothingLearner") -> dict[str, Any]:
    """What is not a tensor, JSON-able and free of wall-clock time."""
    return {
        "counters": vars(learner.counters).copy(),
        "strengths": vars(learner.strengths).copy(),
        "best": None if learner.best is None else vars(learner.best).copy(),
        "chosen": None if learner.chosen is None else vars(learner.chosen).copy(),
        "latest": None if learner.latest is None else vars(learner.latest).copy(),
        "teacher": {"name": learner.teacher.name, "kind": learner.teacher.kind},
    }


def restore(
    learner: "SmoothingLearner", tensors: Mapping[str, Tensor], document: Mapping[str, Any]
) -> None:
    """Continue exactly where `tensors()` and `document()` were taken, with the same teacher."""
    require_same_form(_without_labelled(tensors), _without_labelled(tensors_of(learner)))
    counters = record_from(Counters, document.get("counters"), "counters")
    best = optional_record_from(Best, document.get("best"), "best evaluation")
    chosen = judged_from(document.get("chosen"), "chosen student")
    latest = judged_from(document.get("latest"), "newest evaluation")
    strengths = record_from(Strengths, document.get("strengths"), "strengths")
    visited = learner.visited.restored(with_prefix(tensors, _LABELLED), learner.env.spec)
    if not is_same_teacher(learner.teacher, visited.states, visited.labels):
        raise ConfigError(
            f"cannot resume with another teacher: {learner.teacher.name} does not answer as the "
            f"one of this run, {document.get('teacher')}; name that one, or start a new run"
        )
    restore_modules(_modules(learner), tensors)
    for policy in (learner.policy, learner.student, learner.kept.policy):
        policy.normalizer.refresh()
    restore_optimizer("student", learner.student.mean_net, learner.optimizer, tensors)
    learner.streams.restore(with_prefix(tensors, "stream."))
    learner.env_states = learner.env.load_state(with_prefix(tensors, "env."))
    learner.counters, learner.visited = counters, visited
    learner.best, learner.chosen = best, chosen
    learner.strengths, learner.latest = strengths, latest


def _modules(learner: "SmoothingLearner") -> dict[str, nn.Module]:
    return {
        "policy": learner.policy,
        "student": learner.student,
        "kept": learner.kept.policy,
    }


def _without_labelled(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """They grow with every round, and are checked apart."""
    return {name: value for name, value in tensors.items() if not name.startswith(_LABELLED)}
