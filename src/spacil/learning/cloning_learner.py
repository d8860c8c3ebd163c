"""Behaviour cloning as a run: evaluated on an env, taken apart and put together bit for bit.

Evaluations, checkpoints and `spacil evaluate` see the policy with the lowest held-out loss so
far, under the name `policy`; the student in training travels beside it. A stopped run therefore
needs no step back to its best epoch, and a longer one goes on as if it had never stopped.
"""

from typing import Any

from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.episodes import EpisodeTotals
from spacil.learning.cloner import CloneCounters, Cloner
from spacil.learning.learner import make_eval_env, make_run_env
from spacil.measuring.evaluate import Best, Evaluation
from spacil.measuring.frames import frame_of_run
from spacil.nets.policy import GaussianPolicy
from spacil.runs.state import State


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
        state = self.state = State()
        state.register("policy", self.policy)
        state.register("student", self.student)
        state.register("optimizer.student", self.optimizer.state)
        for name, generator in vars(self.streams).items():
            state.register(f"stream.{name}", generator)
        state.register_record("counters", self, CloneCounters)
        state.register_record("best", self, Best, optional=True)

    @property
    def evaluated_policy(self) -> GaussianPolicy:
        """What is evaluated: the policy with the lowest held-out loss so far."""
        return self.policy

    @property
    def final_policy(self) -> GaussianPolicy:
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
