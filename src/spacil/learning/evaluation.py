"""Evaluation between iterations: when it is due, and which policy is kept as the best."""

import time
from dataclasses import asdict

from spacil.learning.learner import Learner
from spacil.learning.metrics import Metrics
from spacil.learning.selection import RANKS, select
from spacil.measuring.evaluate import Best, evaluate, evaluation_of, play_mean_actions


def evaluate_if_due(learner: Learner) -> Metrics:
    """Evaluate every few iterations and after the last; remember the best."""
    num_done, config = learner.counters.iteration, learner.config
    if num_done % config.evaluation.evaluation_interval and not learner.is_done:
        return {}
    started = time.perf_counter()
    policy, env = learner.kept_policy, learner.eval_env
    episodes = play_mean_actions(policy, env, num_done, env.num_envs)
    result = evaluation_of(policy, episodes, learner.common_frame)
    metrics = learner.after_evaluation(result, episodes)
    if "is_best" not in metrics:  # a learner with a goal of its own says so itself
        found = Best(result.average_return, num_done, metrics.get("imitation_score"))
        is_best = select(found, learner.best, RANKS[config.evaluation.select])
        if is_best:
            learner.best = found
        metrics = {**metrics, "is_best": is_best}
    return {
        **asdict(result),
        **metrics,
        "seconds_evaluation": time.perf_counter() - started,
    }


def evaluate_at_start(learner: Learner) -> Metrics:
    """The row of iteration 0: where learning starts from. It is never the best, and the learner
    does not hear of it."""
    started = time.perf_counter()
    env = learner.eval_env
    result = evaluate(learner.kept_policy, env, 0, env.num_envs, learner.common_frame)
    return {
        "iteration": 0,
        "env_steps": 0,
        **asdict(result),
        "seconds_evaluation": time.perf_counter() - started,
    }
