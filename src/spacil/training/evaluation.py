"""Evaluation between iterations: when it is due, and what else is told of the learner then."""

import time
from dataclasses import asdict

from spacil.cloning.learner import BCLearner
from spacil.measuring.evaluate import Best, evaluate
from spacil.smoothness.cost_metric import cost_constants
from spacil.training.algorithms import AnyLearner
from spacil.training.iteration_metrics import Metrics
from spacil.training.target import verdict

NUM_COST_STATES = 1_000
"""Demonstrated states, evenly spaced, on which the cost's smoothness is logged."""


def evaluate_if_due(learner: AnyLearner) -> Metrics:
    """Evaluate every few iterations and after the last; remember the best return."""
    done, config = learner.counters.iteration, learner.config
    if done % config.evaluation.evaluation_interval and not learner.is_done:
        return {}
    started = time.perf_counter()
    result = evaluate(
        learner.acting_policy,
        learner.eval_env,
        first_episode=done,
        num_episodes=learner.eval_env.num_envs,
        common_frame=learner.common_frame,
    )
    is_best = learner.best is None or result.average_return > learner.best.average_return
    if is_best:
        learner.best = Best(result.average_return, done)
    return {
        **asdict(result),
        **_judge_target(learner, result.smoothness_j),
        **_cost_smoothness(learner),
        "is_best": is_best,
        "seconds_evaluation": time.perf_counter() - started,
    }


def _judge_target(learner: AnyLearner, evaluated_j: float | None) -> Metrics:
    """Tell the dual variable what J really is, and say whether that is what was asked for."""
    if isinstance(learner, BCLearner) or learner.dual is None:
        return {}
    assert evaluated_j is not None
    learner.dual = learner.dual.after_evaluation(evaluated_j)
    return asdict(verdict(learner.dual, evaluated_j))


def _cost_smoothness(learner: AnyLearner) -> Metrics:
    """How smooth the learned cost is on demonstrated states, in the policy's own frame."""
    if isinstance(learner, BCLearner) or learner.discriminator is None:
        return {}
    assert learner.expert is not None
    stride = max(1, len(learner.expert.states) // NUM_COST_STATES)
    states = learner.policy.normalize(learner.expert.states[::stride])
    cost, mean_action = learner.discriminator.cost, learner.policy.mean_of_normalized
    return asdict(cost_constants(cost, mean_action, states))
