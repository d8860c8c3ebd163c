"""The loop: iterate, evaluate, select, report. The paper's iteration is `OnPolicy.iterate`."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict

import torch

from spacil.config.train_config import TrainConfig
from spacil.engine.device import torch_threads
from spacil.errors import DivergedError, RetryableError
from spacil.learning.learner import Learner, Metrics
from spacil.learning.weight_search import RANKS, select
from spacil.measuring.evaluate import Best, evaluation_of, play_mean_actions


@contextlib.contextmanager
def memory_named(config: TrainConfig) -> Iterator[None]:
    """Turn an allocation that failed, on the host or on a GPU, into a `RetryableError`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # torch's allocator on the host has no error class of its own.
        is_named = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not is_named and "can't allocate memory" not in str(error):
            raise
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        run, sampling = config.run, config.sampling
        raise RetryableError(
            f"out of memory with batches of {sampling.steps_per_iteration:,} steps in "
            f"{sampling.num_envs} envs on {run.device}. Close other programs, or choose a smaller "
            f"--steps-per-iteration; what was saved is intact ({first_line})"
        ) from error


OnIteration = Callable[[Metrics], bool | None]
"""Called after each iteration; False ends the training."""
OnStart = Callable[[Metrics], None]
"""Called with the evaluation of the untrained policy, iteration 0."""


def train(learner: Learner, on_iteration: OnIteration, on_start: OnStart | None = None) -> None:
    """Iterate until the learner is done, evaluating on the way.

    With `on_start` the untrained policy is evaluated too, which changes nothing that follows.
    """
    with torch_threads(learner.config.run.torch_threads):
        if on_start is not None and learner.counters.iteration == 0:
            with whole_iteration(learner):
                on_start(evaluate_if_due(learner))
        while not learner.is_done:
            with whole_iteration(learner):
                metrics = learner.iterate() | evaluate_if_due(learner)
            if on_iteration(metrics) is False:
                return


@contextlib.contextmanager
def whole_iteration(learner: Learner) -> Iterator[None]:
    """Add iteration and batch to an error that names a tensor or a loss.

    Whatever cuts an iteration short, Ctrl-C too, leaves a learner that cannot be saved.
    """
    where = learner.state.cut_short = f"iteration {learner.counters.iteration + 1}"
    try:
        yield
    except DivergedError as error:
        raise DivergedError(f"in {where}: {error}") from error
    learner.state.cut_short = None


def evaluate_if_due(learner: Learner) -> Metrics:
    """Evaluate every few iterations and after the last; remember the best policy.

    At iteration 0 it tells where learning starts from: that policy is never the best, and the
    learner does not hear of it.
    """
    num_done, config = learner.counters.iteration, learner.config.evaluation
    if num_done % config.evaluation_interval and not learner.is_done:
        return {}
    started = time.perf_counter()
    policy, env = learner.evaluated_policy, learner.eval_env
    episodes = play_mean_actions(policy, env, num_done, env.num_envs)
    result = evaluation_of(policy, episodes, learner.common_frame)
    metrics: Metrics = {"iteration": 0, "env_steps": 0}
    if num_done:
        metrics = learner.after_evaluation(result, episodes)
        if "is_best" not in metrics:  # a learner that selects by itself says so
            found = Best(result.average_return, num_done, metrics.get("imitation_score"))
            is_best = select(found, learner.best, RANKS[learner.config.imitation.select])
            learner.best = found if is_best else learner.best
            metrics = {**metrics, "is_best": is_best}
    return asdict(result) | metrics | {"seconds_evaluation": time.perf_counter() - started}
