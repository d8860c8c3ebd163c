"""Evaluation between iterations: when it is due, and which policy is kept as the best."""

import time
from dataclasses import asdict

from spacil.errors import ConfigError
from spacil.learning.learner import Learner
from spacil.learning.metrics import Metrics
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
        is_best = learner.best is None or is_better(config.evaluation.select, found, learner.best)
        if is_best:
            learner.best = found
        metrics = {**metrics, "is_best": is_best}
    return {
        **asdict(result),
        **metrics,
        "seconds_evaluation": time.perf_counter() - started,
    }


def is_better(select: str, found: Best, best: Best) -> bool:
    """Whether a new evaluation takes the place of the best one."""
    match select:
        case "last":
            return True
        case "return":
            return found.average_return > best.average_return
        case "imitation":
            assert found.imitation_score is not None and best.imitation_score is not None
            return found.imitation_score < best.imitation_score
    raise ConfigError(f"--select {select}: no way to choose between two evaluations")


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
