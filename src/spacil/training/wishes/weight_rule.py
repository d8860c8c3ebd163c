"""A weight of the policy penalty that follows from what the policy does, not from its reward.

At each evaluation of the policy that is handed out: does it still visit the states that were
demonstrated (`measuring/imitation_score.py`), and how smooth is it already?

    score > threshold            the weight falls: x 0.85
    else J > J* = 0.3 J_ref      it rises: x up to 1.2, the less the nearer the score is
    else                         smooth enough, it falls: x 0.9

within 1 to 5 times the weight it starts from. J_ref is the J of an unpenalised clone on
demonstrated states, which comes out near GAIL's without running it. How the numbers were chosen:
docs/results/recipe.md.
"""

import logging
from dataclasses import dataclass, replace

from spacil.cloning.cloner import Cloner
from spacil.cloning.steps import clone_in_steps
from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import EnvSpec
from spacil.measuring.frames import mean_j
from spacil.training.warm_start import cloning_config
from spacil.training.wishes.likeness import threshold_of

FALL, RISE, EASE = 0.85, 0.2, 0.9
"""Factor when the imitation suffers; most that a rise adds; factor when J is low enough."""
MAX_FACTOR = 5.0
"""Highest weight, in units of the first one."""
J_FRACTION = 0.3
"""J* as a fraction of the unpenalised clone's."""
NUM_REFERENCE_STATES = 1_000
REFERENCE_STEPS = 1_500
"""Adam steps of the unpenalised clone where the run itself starts untrained."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WeightRule:
    """The weight, and what it goes by; plain numbers that a checkpoint keeps."""

    threshold: float
    """tau, the imitation score up to which the policy counts as like the demonstrations"""
    target_j: float
    """J*, in the common frame"""
    first_weight: float
    weight: float

    def after_evaluation(self, score: float, j: float) -> "WeightRule":
        """With the imitation score and the J of mean actions."""
        if score > self.threshold:
            factor = FALL
        elif j > self.target_j:
            factor = 1 + RISE * min(1.0, 2 * (self.threshold - score) / self.threshold)
        else:
            factor = EASE
        highest = MAX_FACTOR * self.first_weight
        weight = min(max(factor * self.weight, self.first_weight), highest)
        return replace(self, weight=weight)


def starting_rule(
    config: TrainConfig,
    demonstrations: Demonstrations,
    common_frame: CommonFrame,
    spec: EnvSpec,
) -> WeightRule:
    """The rule before the first iteration; draws from none of the run's streams."""
    threshold = threshold_of(demonstrations, config.run.seed)
    target_j = J_FRACTION * unpenalized_j(config, demonstrations, common_frame, spec)
    first = config.policy_penalty.first_weight
    _logger.debug("weight rule: score up to %.3f, J down to %.3f", threshold, target_j)
    return WeightRule(threshold, target_j, first, first)


def unpenalized_j(
    config: TrainConfig, demonstrations: Demonstrations, common_frame: CommonFrame, spec: EnvSpec
) -> float:
    """J_ref: of a clone without penalty, on demonstrated states."""
    unpenalized = with_settings(config, {"penalty": (), "penalty_weight": "fixed"})
    cloner = Cloner(cloning_config(unpenalized), spec, demonstrations)
    clone = clone_in_steps(cloner, config.warm_start.warm_start_steps or REFERENCE_STEPS)
    stride = -(-demonstrations.num_steps // NUM_REFERENCE_STATES)
    return mean_j(clone, demonstrations.states.float()[::stride], common_frame)
