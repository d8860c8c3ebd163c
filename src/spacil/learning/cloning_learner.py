"""Behaviour cloning as a run: evaluated on an env, taken apart and put together bit for bit.

Evaluations, checkpoints and `spacil evaluate` see the policy with the lowest held-out loss so
far, under the name `policy`; the student in training travels beside it. A stopped run therefore
needs no step back to its best epoch, and a longer one goes on as if it had never stopped.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.episodes import EpisodeTotals
from spacil.learning.cloner import CloneCounters, Cloner
from spacil.learning.learner import make_eval_env, make_run_env
from spacil.measuring.evaluate import Best, Evaluation, best_from
from spacil.measuring.frames import frame_of_run
from spacil.nets.policy import GaussianPolicy
from spacil.runs.checkpoints.named_tensors import (
    copies_on_cpu,
    module_tensors,
    optimizer_tensors,
    prefixed,
    restore_modules,
    restore_optimizer,
    with_prefix,
)
from spacil.runs.checkpoints.saved_state import record_from, require_same_form


class CloningLearner(Cloner):
    """A cloner with an evaluation env of its own."""

    def __init__(
        self,
        config: TrainConfig,
        env_source: Any,
        demonstrations: Demonstrations,
        common_frame: CommonFrame | None = None,
    ) -> None:
        """`env_source` is what `make_vector_env` takes: a task name, an env, or a factory.

        `common_frame`: that of the demonstrations before they were edited, where they were.
        """
        # The horizon decides how many envs an evaluation takes, and only an env knows it.
        probe = make_run_env(config, env_source, 1, "eval")
        probe.close()
        super().__init__(config, probe.spec, demonstrations)
        self.eval_env = make_eval_env(config, env_source, probe.spec, demonstrations)
        self.common_frame = common_frame or frame_of_run(
            demonstrations, config.task, probe.spec.num_states
        )
        self.best: Best | None = None

    @property
    def kept_policy(self) -> GaussianPolicy:
        """What is evaluated: the policy with the lowest held-out loss so far."""
        return self.policy

    @property
    def handed_out_policy(self) -> GaussianPolicy:
        """The same."""
        return self.policy

    def prepare(self) -> None:
        """Nothing: the demonstrations have been read."""

    def iterate(self) -> dict[str, Any]:
        """One epoch."""
        return self.run_epoch()

    def where(self) -> str:
        """The epoch under way."""
        return f"iteration {self.counters.iteration + 1}"

    def after_evaluation(self, evaluation: Evaluation, episodes: EpisodeTotals) -> dict[str, Any]:
        """The best is the policy of the lowest held-out loss, whatever it earns.

        That is the one evaluated, so it is new where it was chosen after the last best evaluation.
        """
        is_best = self.best is None or self.counters.chosen_iteration > self.best.iteration
        if is_best:
            self.best = Best(evaluation.average_return, self.counters.iteration)
        return {"is_best": is_best}

    def close(self) -> None:
        self.eval_env.close()

    def tensors(self) -> dict[str, Tensor]:
        """Every number of the run, by name, on the CPU."""
        named = module_tensors(self._modules())
        named |= optimizer_tensors("student", self.student.mean_net, self.optimizer)
        named |= prefixed("stream.", self.streams.state())
        return copies_on_cpu(named)

    def document(self) -> dict[str, Any]:
        """What is not a tensor, JSON-able and free of wall-clock time."""
        return {
            "counters": vars(self.counters).copy(),
            "best": None if self.best is None else vars(self.best).copy(),
        }

    def restore(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
        """Continue exactly where `tensors()` and `document()` were taken."""
        require_same_form(tensors, self.tensors())
        counters = record_from(CloneCounters, document.get("counters"), "counters")
        best = best_from(document.get("best"))
        restore_modules(self._modules(), tensors)
        restore_optimizer("student", self.student.mean_net, self.optimizer, tensors)
        self.streams.restore(with_prefix(tensors, "stream."))
        self.counters, self.best = counters, best

    def _modules(self) -> dict[str, nn.Module]:
        return {"policy": self.policy, "student": self.student}
