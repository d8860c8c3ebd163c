"""What an iteration learns from a batch: smooth policy step, value fit, smooth cost step.

Every piece goes through the learner's recorder, so that a GPU replays it from the second iteration
on. What is random is therefore drawn outside the pieces and handed in.
"""

import functools
from dataclasses import asdict
from typing import TYPE_CHECKING

from torch import Tensor

from spacil.engine.host_reads import read_together
from spacil.engine.torch_threads import one_torch_thread
from spacil.learning import value_fit
from spacil.learning.judge import JudgedBatch, judge
from spacil.learning.metrics import Metrics, Stopwatch, cost_metrics, policy_metrics
from spacil.learning.plan import IterationPlan
from spacil.nets.normalizer import RunningNormalizer
from spacil.smoothness.policy_terms import DrawnTerms, draw_terms, rows_of_batch
from spacil.types import RolloutBatch

if TYPE_CHECKING:
    from spacil.learning.policy_learner import PolicyLearner


def update(
    learner: "PolicyLearner", plan: IterationPlan, played: RolloutBatch, clock: Stopwatch
) -> Metrics:
    """Everything an iteration learns from a batch it has played."""
    policy, recorder, config = learner.policy, learner.recorder, learner.config
    recorder.begin_round((plan.round_kind(played), bool(learner.reward_terms)))
    with clock("advantages"):
        rollout = played.to(learner.device)
        judged = judge(
            *(rollout, policy, learner.value, learner.adversary, config, recorder),
            learner.reward_terms,
        )
    with clock("policy"):
        policy_report = learner.policy_step.stay()
        if plan.moves_policy:
            policy_report = learner.policy_step.take(
                judged.for_policy,
                functools.partial(_draw_penalties, learner, plan, judged),
                learner.streams,
                recorder,
            )
    # Minibatches are small: a second thread would be waited for longer than it helps.
    with clock("value"), one_torch_thread():
        value_report = value_fit.step(
            learner.value,
            learner.value_optimizer,
            judged.for_policy.states,
            judged.estimates.value_targets,
            judged.estimates.old_values,
            plan.value,
            learner.streams.minibatch,
            recorder,
        )
    with clock("discriminator"):
        cost_report = None
        if learner.adversary is not None:
            cost_report = learner.adversary.train(
                judged.for_adversary, plan.discriminator_steps, learner.streams, recorder
            )
    with clock("normalizer"):
        if plan.moves_normalizer:
            recorder("normalizer", _merge, (policy.normalizer, judged.rollout.states))
        reward_mean, policy_std = read_together(judged.rewards.mean(), policy.log_std.exp().mean())
    return {
        "reward_mean": reward_mean,
        "policy_std": policy_std,
        **plan.found_weights,
        **policy_metrics(learner.counters, policy_report),
        **asdict(value_report),
        **cost_metrics(learner.counters, cost_report),
    }


def _draw_penalties(
    learner: "PolicyLearner", plan: IterationPlan, judged: JudgedBatch
) -> DrawnTerms:
    drawn = DrawnTerms()
    if learner.anchor is not None:
        drawn = learner.anchor.draw(learner.policy, plan.anchor_weight)
    if not plan.terms:
        return drawn
    steps_before = learner.open_episodes.lengths
    states, config = judged.for_policy.states, learner.config
    rows_for = rows_of_batch(judged.rollout, states, steps_before, config)
    terms = draw_terms(plan.terms, rows_for, learner.policy, config, learner.streams)
    return terms.and_also(drawn)


def _merge(normalizer: RunningNormalizer, states: Tensor) -> None:
    normalizer.merge(states)
