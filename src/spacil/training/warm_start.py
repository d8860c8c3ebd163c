"""A start from a clone: cloning is quick, and the adversarial loop repairs and smooths what it got.

A clone that is simply handed to the loop is unlearned within a few iterations: its first steps
follow a critic and a discriminator that know nothing, and a normaliser that moves with the first
batches changes the cloned function outside of any trust region. So the policy keeps the normaliser
it was cloned with, and waits for a few iterations until both judges have seen what it does. Its
spread is the run's own start, not the residual's of cloning: too small a one explores nothing and
makes the trust region tiny.
"""

import logging
from dataclasses import replace

from spacil.cloning.cloner import Cloner, run_epoch
from spacil.config.flat import with_settings
from spacil.config.groups import SmoothnessTargetConfig, TrainConfig, WarmStartConfig
from spacil.seeding import derived_seed
from spacil.training.learner import Learner
from spacil.updates.trust_region import TrustRegionReport

PENALTY_SHARE = 1 / 30
"""Of lambda_policy, beside the squared error of cloning. What the loop's weight would do to it, no
return survives: nothing tells cloning what a smaller slope costs (docs/results/fast.md)."""

CRITIC_HASTE = 5
DISCRIMINATOR_HASTE = 10
"""Factors on value epochs and discriminator steps while the policy waits: a critic that starts at
zero explains nothing of the returns after five usual fits, and half of them after five of these."""

NO_STEP = TrustRegionReport(
    kl=0.0,
    improvement=0.0,
    step_fraction=0.0,
    line_search_tries=0,
    line_search_reason="the policy waits: warm start",
    is_accepted=True,  # no search has failed
    cg_steps=0,
    cg_residual=0.0,
    has_positive_curvature=True,
    summands={},
)
"""What an iteration reports that leaves the policy as it is."""

_logger = logging.getLogger(__name__)


def warm_start_is_due(learner: Learner) -> bool:
    """Before the first iteration; a run that goes on has done it."""
    return _is_wanted(learner.config) and learner.counters.iteration == 0


def holds_policy(learner: Learner) -> bool:
    """Whether this iteration is one of those that only the judges learn from."""
    wait = learner.config.warm_start.warm_start_iterations
    return _is_wanted(learner.config) and learner.counters.iteration < wait


def settings_now(learner: Learner) -> TrainConfig:
    """The run's settings; while the policy waits for its judges, they learn faster."""
    config = learner.config
    if not holds_policy(learner):
        return config
    return with_settings(
        config,
        {
            "value_epochs": CRITIC_HASTE * config.value.value_epochs,
            "discriminator_steps": DISCRIMINATOR_HASTE * config.discriminator.discriminator_steps,
        },
    )


def normalizer_is_fixed(config: TrainConfig) -> bool:
    """The clone is a function of the states as the demonstrations normalise them."""
    return _is_wanted(config)


def start_from_clone(learner: Learner) -> None:
    """Put a clone in the place of the untrained policy; draws from none of the run's streams."""
    assert learner.demonstrations is not None
    cloner = Cloner(cloning_config(learner.config), learner.env.spec, learner.demonstrations)
    while not cloner.is_done:
        metrics = run_epoch(cloner)
    clone, policy = cloner.policy, learner.policy
    policy.mean_net.load_state_dict(clone.mean_net.state_dict())
    policy.normalizer.load_state_dict(clone.normalizer.state_dict())
    policy.normalizer.refresh()
    learner.sync_acting_policy()
    _logger.info(
        "warm start: cloned for %d epochs to a loss of %.4f",
        cloner.counters.iteration,
        metrics["loss_imitation"],
    )


def cloning_config(config: TrainConfig) -> TrainConfig:
    """The run's own settings as cloning reads them."""
    weight = PENALTY_SHARE * config.policy_penalty.lambda_policy
    return replace(
        config,
        algorithm="bc",
        run=replace(
            config.run,
            seed=derived_seed(config.run.seed, "warm start"),
            iterations=config.warm_start.warm_start_epochs,
        ),
        policy_penalty=replace(
            config.policy_penalty, lambda_policy=weight, penalty_ramp_iterations=0
        ),
        target=SmoothnessTargetConfig(),
        warm_start=WarmStartConfig(),
    )


def _is_wanted(config: TrainConfig) -> bool:
    return config.warm_start.warm_start_epochs > 0
