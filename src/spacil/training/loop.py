"""The paper's algorithm on one page (algo:Safe-FW). TRPO, GAIL and SPaCIL are settings of it."""

from collections.abc import Callable

from spacil.cloning.cloner import run_epoch
from spacil.cloning.learner import BCLearner
from spacil.engine.torch_threads import torch_threads
from spacil.sampling.rollout import collect
from spacil.training.algorithms import AnyLearner
from spacil.training.evaluation import evaluate_if_due
from spacil.training.iteration_metrics import Metrics, Stopwatch, count_iteration
from spacil.training.learner import Learner
from spacil.training.limits import divergence_located
from spacil.training.update import update
from spacil.training.warm_start import start_from_clone, warm_start_is_due

OnIteration = Callable[[Metrics], bool | None]
"""Called after each iteration; False ends the training."""


def train(learner: AnyLearner, on_iteration: OnIteration) -> None:
    """Iterate until the learner is done, evaluating on the way."""
    with torch_threads(learner.config.run.torch_threads):
        while not learner.is_done:
            with divergence_located(learner):
                metrics = (
                    run_epoch(learner) if isinstance(learner, BCLearner) else run_iteration(learner)
                )
                metrics |= evaluate_if_due(learner)
            if on_iteration(metrics) is False:
                return


def run_iteration(learner: Learner) -> Metrics:
    """Sample, smooth policy update, value fit, smooth cost update."""
    clock = Stopwatch()
    if warm_start_is_due(learner):
        with clock("warm_start"):
            start_from_clone(learner)
    with clock("simulation"):
        rollout, learner.env_states = collect(
            learner.env,
            learner.acting_policy,
            learner.env_states,
            learner.config.run.steps_per_iteration,
            learner.streams.action,
        )
    updates = update(learner, rollout, clock)
    learner.sync_acting_policy()
    return count_iteration(learner, rollout) | updates | clock.seconds
