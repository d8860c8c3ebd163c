"""A start from a clone: cloning is quick, and the adversarial loop repairs and smooths what it got.

A clone that is simply handed to the loop is unlearned within a few iterations: its first steps
follow a critic and a discriminator that know nothing, and a normaliser that moves with the first
batches changes the cloned function outside of any trust region. So the policy keeps the normaliser
it was cloned with, and waits for a few iterations while critic and discriminator train on what it
does (`plan.py`). Its spread is the run's own start, not the residual's of cloning: too small a one
explores nothing and makes the trust region tiny.
"""

import logging
from dataclasses import replace

from spacil.config.smoothing import ScheduledPenaltyConfig
from spacil.config.train_config import BCConfig, TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import EnvSpec
from spacil.learning.cloner import Cloner
from spacil.nets.policy import GaussianPolicy
from spacil.seeding import derived_seed
from spacil.smoothness.weights import scaled_terms

PENALTY_FRACTION = 1 / 30
"""Of the penalties' weights, beside the squared error of cloning. At the loop's own weight no
return survives: nothing tells cloning what a smaller slope costs (docs/results/fast.md)."""

_logger = logging.getLogger(__name__)


def start_from_clone(
    policy: GaussianPolicy,
    config: TrainConfig,
    spec: EnvSpec,
    demonstrations: Demonstrations,
    first_weight: float | None = None,
) -> None:
    """Put a clone in the place of the untrained policy; draws from none of the run's streams.

    `first_weight` is the one that a search for the weight starts from, None without a search.
    """
    cloner = Cloner(cloning_config(config, first_weight), spec, demonstrations)
    if config.warm_start.warm_start_steps:
        cloner.run_steps(config.warm_start.warm_start_steps)
    else:
        while not cloner.is_done:
            cloner.run_epoch()
    clone = cloner.policy
    policy.mean_net.load_state_dict(clone.mean_net.state_dict())
    policy.normalizer.load_state_dict(clone.normalizer.state_dict())
    policy.normalizer.refresh()
    _logger.debug("warm start: cloned to a held-out loss of %s", cloner.counters.chosen_loss)


def cloning_config(config: TrainConfig, first_weight: float | None = None) -> BCConfig:
    """The run's own settings as cloning reads them."""
    penalty = config.policy_penalty
    scale = 1.0 if first_weight is None else first_weight / penalty.first_weight
    terms = () if penalty.penalty_start else scaled_terms(penalty, PENALTY_FRACTION * scale)
    return BCConfig(
        task=config.task,
        run=replace(
            config.run,
            seed=derived_seed(config.run.seed, "warm start"),
            iterations=max(1, config.warm_start.warm_start_epochs),
        ),
        bc=config.bc,
        policy_penalty=ScheduledPenaltyConfig(terms, penalty_discount=penalty.penalty_discount),
        penalty_states=config.penalty_states,
        nets=config.nets,
    )
