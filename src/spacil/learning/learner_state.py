"""A policy learner taken apart into named tensors and a JSON document, and put together again."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from spacil.config.penalty_terms import parse_terms, words_of
from spacil.engine.adam import Adam
from spacil.learning.metrics import Counters
from spacil.learning.searches import WeightSearches
from spacil.measuring.evaluate import best_from
from spacil.runs.checkpoints.named_tensors import (
    copies_on_cpu,
    module_tensors,
    optimizer_tensors,
    prefixed,
    restore_modules,
    restore_optimizer,
    with_prefix,
)
from spacil.runs.checkpoints.saved_state import record_from, require_same_form

if TYPE_CHECKING:
    from spacil.learning.policy_learner import PolicyLearner

_logger = logging.getLogger(__name__)


def tensors_of(learner: "PolicyLearner") -> dict[str, Tensor]:
    """Every number of the run, by name, on the CPU."""
    named = module_tensors(_modules(learner))
    for name, optimizer in _optimizers(learner).items():
        named |= optimizer_tensors(name, _modules(learner)[name], optimizer)
    named |= prefixed("stream.", learner.streams.state())
    named |= prefixed("env.", learner.env.save_state())
    if learner.anchor is not None:
        named["stream.anchor"] = learner.anchor.generator.get_state()
    named["episode.returns"] = learner.open_episodes.returns
    named["episode.lengths"] = learner.open_episodes.lengths
    return copies_on_cpu(named)


def document_of(learner: "PolicyLearner") -> dict[str, Any]:
    """What is not a tensor, JSON-able and free of wall-clock time."""
    return {
        "counters": vars(learner.counters).copy(),
        "best": None if learner.best is None else vars(learner.best).copy(),
        "penalty_weights": list(words_of(learner.penalty_weights)),
        "searches": learner.searches.state(),
    }


def restore(
    learner: "PolicyLearner", tensors: Mapping[str, Tensor], document: Mapping[str, Any]
) -> None:
    """Continue exactly where `tensors()` and `document()` were taken."""
    require_same_form(tensors, tensors_of(learner))
    counters = record_from(Counters, document.get("counters"), "counters")
    best = best_from(document.get("best"))
    searches = WeightSearches(learner.config)
    searches.load(document.get("searches", {}))
    weights = {term.name: term.weight for term in parse_terms(document.get("penalty_weights", ()))}
    restore_modules(_modules(learner), tensors)
    if learner.anchor is not None:
        learner.anchor.generator.set_state(tensors["stream.anchor"])
    for name, optimizer in _optimizers(learner).items():
        restore_optimizer(name, _modules(learner)[name], optimizer, tensors)
    learner.streams.restore(with_prefix(tensors, "stream."))
    learner.env_states = learner.env.load_state(with_prefix(tensors, "env."))
    if learner.env.spec.restores_exactly:
        learner.open_episodes.returns.copy_(tensors["episode.returns"])
        learner.open_episodes.lengths.copy_(tensors["episode.lengths"])
    else:
        _logger.warning(
            "%s cannot be saved within an episode: the run continues with new episodes, "
            "not bit for bit",
            learner.env.spec.task,
        )
    learner.counters, learner.best, learner.searches = counters, best, searches
    learner.penalty_weights = weights
    learner.recorder.forget()
    learner.sync_acting_policy()
    for policy in (learner.policy, learner.kept_policy, learner.handed_out_policy):
        policy.normalizer.refresh()


def _modules(learner: "PolicyLearner") -> dict[str, nn.Module]:
    """By name; `policy` is what is handed out, beside it the one in training if it differs."""
    modules: dict[str, nn.Module] = {"policy": learner.policy, "value": learner.value}
    if learner.kept is not None:
        modules |= {"policy": learner.kept.policy, "student": learner.policy}
    if learner.chosen is not None:
        modules["chosen"] = learner.chosen
    if learner.adversary is not None:
        modules["discriminator"] = learner.adversary.network
    return modules


def _optimizers(learner: "PolicyLearner") -> dict[str, Adam]:
    optimizers = {"value": learner.value_optimizer}
    if learner.adversary is not None:
        optimizers["discriminator"] = learner.adversary.optimizer
    if learner.policy_step.optimizer is not None:
        optimizers["policy"] = learner.policy_step.optimizer
    return optimizers
