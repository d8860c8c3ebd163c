"""Evaluation between iterations: when it is due, and which policy was the best."""

import time
from dataclasses import asdict

from spacil.measuring.evaluate import Best, evaluate
from spacil.training.iteration_metrics import Metrics
from spacil.training.learner import Learner


def evaluate_if_due(learner: Learner) -> Metrics:
    """Evaluate every few iterations and after the last; remember the best return."""
    num_done, config = learner.counters.iteration, learner.config
    if num_done % config.evaluation.evaluation_interval and not learner.is_done:
        return {}
    started = time.perf_counter()
    result = evaluate(
        learner.acting_policy,
        learner.eval_env,
        first_episode=num_done,
        num_episodes=learner.eval_env.num_envs,
        common_frame=learner.common_frame,
    )
    is_best = learner.best is None or result.average_return > learner.best.average_return
    if is_best:
        learner.best = Best(result.average_return, num_done)
    return {
        **asdict(result),
        "is_best": is_best,
        **learner.after_evaluation(result),
        "seconds_evaluation": time.perf_counter() - started,
    }
