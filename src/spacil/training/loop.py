"""Iterate, evaluate, report. The paper's iteration (algo:Safe-FW) is `PolicyLearner.iterate`."""

from collections.abc import Callable

from spacil.engine.torch_threads import torch_threads
from spacil.training.evaluation import evaluate_if_due
from spacil.training.iteration_metrics import Metrics
from spacil.training.learner import Learner
from spacil.training.limits import divergence_located

OnIteration = Callable[[Metrics], bool | None]
"""Called after each iteration; False ends the training."""


def train(learner: Learner, on_iteration: OnIteration) -> None:
    """Iterate until the learner is done, evaluating on the way."""
    with torch_threads(learner.config.run.torch_threads):
        while not learner.is_done:
            with divergence_located(learner):
                metrics = learner.iterate() | evaluate_if_due(learner)
            if on_iteration(metrics) is False:
                return
