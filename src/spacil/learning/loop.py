"""Iterate, evaluate, report. The paper's iteration (algo:Safe-FW) is `PolicyLearner.iterate`."""

from collections.abc import Callable

from spacil.engine.torch_threads import torch_threads
from spacil.learning.evaluation import evaluate_at_start, evaluate_if_due
from spacil.learning.learner import Learner
from spacil.learning.limits import divergence_located
from spacil.learning.metrics import Metrics

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
            with divergence_located(learner):
                on_start(evaluate_at_start(learner))
        while not learner.is_done:
            with divergence_located(learner):
                metrics = learner.iterate() | evaluate_if_due(learner)
            if on_iteration(metrics) is False:
                return
