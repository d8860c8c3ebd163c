"""Which policy penalties have weight in an iteration, and how much."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spacil.config.penalty_terms import WeightedTerm, parse_terms, words_of
from spacil.config.settings import PolicyPenaltyConfig


@dataclass(frozen=True)
class FoundWeights:
    """What weight searches have found so far; None where none searches."""

    spatial: float | None = None
    """Weight of the first term"""
    temporal: float | None = None
    """Weight of the config's temporal term, which need not be among its terms"""


NOTHING_FOUND = FoundWeights()


def terms_at(
    config: PolicyPenaltyConfig, iteration: int, found: FoundWeights = NOTHING_FOUND
) -> tuple[WeightedTerm, ...]:
    """The terms with weight: the config's along its ramp.

    Found weights take the place of the first term's and of the temporal term's; the others keep
    their proportion to the first one.
    """
    share = share_at(config, iteration)
    first = config.first_weight
    scale = 1.0 if found.spatial is None else found.spatial / first
    weighted = [
        replace(
            term,
            weight=share
            * (found.spatial if found.spatial is not None and i == 0 else scale * term.weight),
        )
        for i, term in enumerate(config.terms)
    ]
    if found.temporal is not None:
        temporal = replace(config.temporal_term, weight=found.temporal * share)
        others = [term for term in weighted if term.name != temporal.name]
        weighted = [*others, temporal]
    return tuple(term for term in weighted if term.weight > 0)


def with_weights(
    terms: Sequence[WeightedTerm], given: Mapping[Any, float]
) -> tuple[WeightedTerm, ...]:
    """Give penalties other weights by name: 0 removes a penalty, a new name adds one."""
    found = {term.name: term for term in terms}
    for term in parse_terms(words_of(given)):
        found[term.name] = replace(found.get(term.name, term), weight=term.weight)
    return tuple(term for term in found.values() if term.weight > 0)


def scaled_terms(config: PolicyPenaltyConfig, factor: float) -> tuple[str, ...]:
    """Every term at a fraction of its weight, as a config keeps them."""
    return tuple(str(replace(term, weight=factor * term.weight)) for term in config.terms)


def is_whole_at(config: PolicyPenaltyConfig, iteration: int) -> bool:
    """Whether the policy penalty has all of its weight, its start and its ramp being over."""
    return share_at(config, iteration) >= 1


def share_at(config: PolicyPenaltyConfig, iteration: int) -> float:
    """What the policy penalty has of its weight: 0 before its start, then along its ramp."""
    since_start = iteration - config.penalty_start
    if since_start < 0:
        return 0.0
    if since_start >= config.penalty_ramp_iterations:
        return 1.0
    return since_start / config.penalty_ramp_iterations
