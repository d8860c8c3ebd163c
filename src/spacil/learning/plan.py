"""What one iteration does, resolved once before it begins.

The update reads the plan and asks nothing about warm starts, wishes or weights.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spacil.config.learning import ValueConfig
from spacil.config.penalty_terms import WeightedTerm
from spacil.config.train_config import TrainConfig
from spacil.smoothness.anchor import anchor_weight
from spacil.smoothness.weights import NOTHING_FOUND, FoundWeights, terms_at, with_weights
from spacil.types import RolloutBatch

CRITIC_EPOCH_FACTOR = 5
DISCRIMINATOR_STEP_FACTOR = 10
"""On value epochs and discriminator steps while the policy waits: a critic that starts at zero
explains nothing of the returns after five usual fits, and half of them after five of these."""


@dataclass(frozen=True)
class IterationPlan:
    """One iteration."""

    begins_with_clone: bool
    """Whether a clone takes the place of the untrained policy first"""
    moves_policy: bool
    """False: only critic and discriminator train"""
    moves_normalizer: bool
    terms: tuple[WeightedTerm, ...]
    """The policy penalties that have weight"""
    value: ValueConfig
    discriminator_steps: int
    lambda_policy: float = 0.0
    """Weight of the config's first penalty, the one that a wish moves; 0 where it has none"""
    anchor_weight: float = 0.0
    """Of the demonstrated actions inside the policy step"""
    temporal_term: str | None = None
    """The penalty whose weight a fluctuation target moves"""

    @property
    def found_weights(self) -> dict[str, float]:
        """For the metrics: what wishes move."""
        of_term = {term.name: term.weight for term in self.terms}
        moved = {"lambda_policy": self.lambda_policy}
        if self.temporal_term is not None:
            moved["lambda_temporal"] = of_term.get(self.temporal_term, 0.0)
        return moved

    def round_kind(self, played: RolloutBatch) -> Hashable:
        """What decides the shapes and branches of an update, for the recorder.

        Pairs of successive states come in any number, so no two such rounds are alike; and a
        user's own function may do what cannot be replayed.
        """
        if self.moves_policy and not all(term.kind.is_replayable for term in self.terms):
            return object()
        names = tuple(term.name for term in self.terms)
        return (*played.actions.shape, names, self.moves_policy)


def plan_iteration(
    config: TrainConfig,
    num_done: int,
    found: FoundWeights = NOTHING_FOUND,
    num_pairs: int = 0,
    given: Mapping[Any, float] | None = None,
) -> IterationPlan:
    """The plan after `num_done` iterations; `found` is what wishes have found so far.

    `num_pairs` are demonstrated. `given` are weights that a callback sets by name.
    """
    starts_from_clone = config.warm_start.is_on
    moves_policy = not starts_from_clone or num_done >= config.warm_start.warm_start_iterations
    value, steps = config.value, config.discriminator.discriminator_steps
    if not moves_policy:
        value = replace(value, value_epochs=CRITIC_EPOCH_FACTOR * value.value_epochs)
        steps *= DISCRIMINATOR_STEP_FACTOR
    terms = with_weights(terms_at(config.policy_penalty, num_done, found), given or {})
    return IterationPlan(
        begins_with_clone=starts_from_clone and num_done == 0,
        moves_policy=moves_policy,
        # A clone is a function of the states as the demonstrations normalise them.
        moves_normalizer=not starts_from_clone,
        terms=terms,
        lambda_policy=config.policy_penalty.first_weight_among(terms),
        value=value,
        discriminator_steps=steps,
        temporal_term=None if found.temporal is None else config.policy_penalty.temporal_term.name,
        anchor_weight=anchor_weight(config.fidelity.anchor_weight, num_pairs),
    )
