"""A weight of the policy penalty that follows from what the policy does, not from its reward.

At each evaluation of the policy that is handed out: does it still visit the states that were
demonstrated (`measuring/imitation_score.py`), and how smooth is it already?

    J <= J*              smooth enough, the weight falls: x 0.9, to a fifth of the first one at most
    else score > tau     it falls: x 0.85, back to the config's at most
    else                 it rises: x up to 1.25, the less the nearer score or J are

and never beyond five times the first. Where J <= J* and score > tau it falls x 0.85, to a fifth of
the config's: a weight that stayed there would keep a policy over-smoothed. J_ref is the J of an
unpenalised clone on demonstrated states, which comes out near GAIL's without running it.
J* = 0.6 M^-0.08 J_ref with M demonstrated pairs: 0.38 J_ref at 300, 0.3 at 6,000. The first weight
is the config's times (1.8 / J_ref)^2, where that is above 1: the penalty is quadratic in J, and
what J_ref a task has is its own. How the numbers were chosen: docs/results/recipe.md.
"""

import logging
import math
from dataclasses import dataclass, replace

from spacil.config.flat import with_settings
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import EnvSpec
from spacil.learning.cloner import Cloner
from spacil.learning.likeness import threshold_of
from spacil.learning.warm_start import cloning_config
from spacil.measuring.frames import mean_j

FALL, RISE, EASE = 0.85, 0.25, 0.9
"""Factor when the imitation suffers; most that a rise adds; factor when J is low enough."""
SCORE_GAIN, J_GAIN = 4.0, 3.0
"""A rise is whole until the score is within a quarter of its threshold, or J within a third."""
HIGHEST, LOWEST = 5.0, 0.2
"""Bounds of the weight, in units of the first one."""
J_AT_ONE_PAIR, J_DECAY = 0.6, 0.08
"""J* / J_ref = 0.6 M^-0.08: scarce demonstrations allow less."""
J_OF_CONFIG_WEIGHT, LARGEST_SCALE = 1.8, 10.0
"""The J_ref down to which the config's weight is the first one; most it is multiplied by."""
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
    config_weight: float
    """Where a bad score leads back to"""
    first_weight: float
    weight: float

    def after_evaluation(self, score: float, j: float) -> "WeightRule":
        """With the imitation score and the J of mean actions."""
        first = self.first_weight
        is_alike = score <= self.threshold
        if j <= self.target_j and is_alike:
            weight = max(EASE * self.weight, LOWEST * first)
        elif j <= self.target_j:
            weight = max(FALL * self.weight, LOWEST * self.config_weight)
        elif is_alike:
            room = SCORE_GAIN * (1 - score / self.threshold)
            lack = J_GAIN * (j / self.target_j - 1)
            weight = min(self.weight * (1 + RISE * min(1.0, room, lack)), HIGHEST * first)
        else:
            weight = max(FALL * self.weight, min(self.weight, self.config_weight))
        return replace(self, weight=weight)


def starting_rule(
    config: TrainConfig,
    demonstrations: Demonstrations,
    common_frame: CommonFrame,
    spec: EnvSpec,
) -> WeightRule:
    """The rule before the first iteration; draws from none of the run's streams."""
    threshold = threshold_of(demonstrations, config.run.seed)
    reference_j = unpenalized_j(config, demonstrations, common_frame, spec)
    target_j = target_fraction(demonstrations.num_steps) * reference_j
    config_weight = config.policy_penalty.first_weight
    first = weight_scale(reference_j) * config_weight
    _logger.debug("weight rule: score up to %.3f, J down to %.3f", threshold, target_j)
    return WeightRule(threshold, target_j, config_weight, first, first)


def weight_scale(reference_j: float) -> float:
    """First weight / the config's, where an unpenalised clone has this J."""
    if reference_j >= J_OF_CONFIG_WEIGHT:
        return 1.0
    lowest_j = J_OF_CONFIG_WEIGHT / math.sqrt(LARGEST_SCALE)
    return (J_OF_CONFIG_WEIGHT / max(reference_j, lowest_j)) ** 2


def target_fraction(num_pairs: int) -> float:
    """J* / J_ref with so many demonstrated pairs."""
    return float(J_AT_ONE_PAIR * num_pairs**-J_DECAY)


def unpenalized_j(
    config: TrainConfig, demonstrations: Demonstrations, common_frame: CommonFrame, spec: EnvSpec
) -> float:
    """J_ref: of a clone without penalty, on demonstrated states."""
    unpenalized = with_settings(config, {"penalty": (), "penalty_weight": "fixed"})
    cloner = Cloner(cloning_config(unpenalized), spec, demonstrations)
    clone = cloner.run_steps(config.warm_start.warm_start_steps or REFERENCE_STEPS)
    stride = -(-demonstrations.num_steps // NUM_REFERENCE_STATES)
    return mean_j(clone, demonstrations.states.float()[::stride], common_frame)
