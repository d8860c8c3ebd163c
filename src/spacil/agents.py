"""The Python face: TRPO, GAIL, SPaCIL, AIRL and BC with the verbs people know."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from spacil.config.algorithms import ALGORITHMS, Preset
from spacil.config.checks import whole_number
from spacil.config.defaults import default_config
from spacil.config.flat import with_settings, with_user_settings
from spacil.config.settings import ConditionsConfig, DemoChoice
from spacil.config.train_config import TrainConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.file import load_demos
from spacil.envs.registry import task_name
from spacil.errors import ConfigError, DataError, EnvError
from spacil.learning.critic import RewardTerm
from spacil.learning.intake import demonstrations_for
from spacil.learning.learner import Metrics, make_learner
from spacil.learning.on_policy import OnPolicy
from spacil.learning.run import (
    memory_named,
    restore,
    saved_config,
    state_to_save,
    train,
    train_recorded,
)
from spacil.measuring.evaluate import Evaluation, evaluate_afresh
from spacil.nets.policy import GaussianPolicy
from spacil.python_face import python_face
from spacil.runs import checkpoint
from spacil.runs.facts import DemoInputs, RunInputs, full_names, task_to_play
from spacil.runs.folder import is_run_folder, open_run
from spacil.runs.interruption import Interruption
from spacil.runs.progress import Progress
from spacil.runs.run_log import RunLog

Callback = Callable[["Agent", Metrics], bool | None]
"""Called after each iteration with the agent and its metrics; return False to stop."""


class Agent:
    """A policy in training. Use TRPO, GAIL, SPaCIL, AIRL or BC."""

    algorithm: ClassVar[str]

    @python_face()
    def __init__(
        self,
        env: Any,
        demonstrations: Demonstrations | str | Path | None = None,
        *,
        seed: int = 0,
        preset: Preset = "none",
        allow_env_mismatch: bool = False,
        **settings: Any,
    ) -> None:
        """`env`: a built-in task name, a Gymnasium id, `module:Env-v0`, an env, or a function that
        makes one.

        `demonstrations`: loaded ones or a file; without any, the ones bundled with the task.
        `allow_env_mismatch`: demonstrations recorded in another env, or in this one under another
        name. `settings`: any setting of the command line by its name, e.g. `max_kl=0.02`.
        """
        task = task_name(env)
        config = default_config(self.algorithm, task, preset)
        config = with_user_settings(config, {"seed": seed, **settings})
        self._start(config, env, demonstrations, allow_env_mismatch)

    def _start(
        self,
        config: TrainConfig,
        env: Any,
        source: Demonstrations | str | Path | None,
        allow_env_mismatch: bool,
    ) -> None:
        self._env_source, self._process, self._learning = env, os.getpid(), threading.RLock()
        given, demonstrations, common_frame = None, None, None
        if source is not None and not isinstance(source, str | os.PathLike):
            source = load_demos(source)
        if ALGORITHMS[self.algorithm].needs_demonstrations:
            choice = DemoChoice(allow_env_mismatch=allow_env_mismatch)
            names: tuple[str, ...] | None = None
            if source is None:
                names = ()
            elif not isinstance(source, Demonstrations):  # which a run folder cannot name
                names = full_names([source])
            given = DemoInputs(names, choice)
            intake, config = demonstrations_for(config, env, source, choice)
            demonstrations, common_frame = intake.used, CommonFrame.of(intake.given)
        self._inputs = RunInputs(config.task, isinstance(env, str), given)
        with memory_named(config):
            self._learner = make_learner(config, env, demonstrations, common_frame)

    def __repr__(self) -> str:
        config, done = self.config, self._learner.counters.iteration
        told = f"{done} of {config.run.iterations} iterations"
        return f"{type(self).__name__}({config.task}, seed {config.run.seed}, {told})"

    @property
    def policy(self) -> GaussianPolicy:
        """The policy as it is now: `agent.policy.predict(observations)`.

        With `smoothest=True`, the smoothest evaluated one that keeps what was asked.
        """
        return self._learner.final_policy

    @property
    def predict(self) -> Callable[..., Any]:
        """`agent.predict(observations)`: the action; see `GaussianPolicy.predict`."""
        return self.policy.predict

    @property
    def config(self) -> TrainConfig:
        return self._learner.config

    @property
    def conditions(self) -> ConditionsConfig:
        """Delays and noise that it is trained and evaluated under."""
        return self.config.conditions

    @property
    def common_frame(self) -> CommonFrame | None:
        """The frame that J is measured in; None for a task without demonstrations."""
        return self._learner.common_frame

    @property
    def penalty_weights(self) -> dict[Any, float]:
        """Weights of policy penalties by name, to be written: they replace the config's.

        The next iteration reads them. A weight stays until it is changed; 0 switches a penalty off.
        """
        return self._policy_learner.penalty_weights

    @property
    def reward_terms(self) -> list[RewardTerm]:
        """Functions `(batch) -> rewards [T, N]`, to be added to.

        The policy is paid their sum on top of the adversary's reward (TRPO: the env's).
        """
        return self._policy_learner.reward_terms

    @property
    def _policy_learner(self) -> OnPolicy:
        if not isinstance(self._learner, OnPolicy):
            raise ConfigError(
                f"{self.algorithm} has no penalty_weights and no reward_terms: they belong to "
                "algorithms that act in the env; give weights by penalty={...}"
            )
        return self._learner

    @python_face()
    def learn(
        self,
        iterations: int | None = None,
        callback: Callback | None = None,
        run_dir: str | Path | None = None,
        progress_bar: bool = False,
    ) -> Self:
        """Train for `iterations` more, or up to the config's number of them.

        With `run_dir`, everything is kept there (metrics, checkpoints, best and last). A run that
        is already in the folder goes on up to the same total: a killed script is simply run again.
        """
        self._require_own_process()
        learner = self._learner
        if iterations is not None:
            target = learner.counters.iteration + whole_number("iterations", iterations)
            learner.config = replace(
                learner.config, run=replace(learner.config.run, iterations=target)
            )

        def on_iteration(metrics: Metrics) -> bool:
            return callback is None or callback(self, metrics) is not False

        progress = Progress(learner.config.run.iterations, is_shown=progress_bar)
        if not self._learning.acquire(blocking=False):  # a callback may learn on
            raise ConfigError("another thread is in learn() of this agent: make one for each")
        try:
            if run_dir is None:
                # Ctrl-C ends the iteration first: half of one could be neither saved nor resumed.
                with Interruption() as interruption, memory_named(learner.config):

                    def show(metrics: Metrics) -> bool:
                        progress.update(metrics)
                        return on_iteration(metrics) and interruption.requested is None

                    train(learner, show)
                if interruption.requested is not None:
                    raise KeyboardInterrupt
            else:
                with (
                    RunLog() as log,
                    open_run(learner.config, run_dir=Path(run_dir), resume=True) as run,
                ):
                    train_recorded(run, learner, progress, on_iteration, self._inputs, log)
        finally:
            self._learning.release()
            progress.close()
        return self

    @python_face()
    def evaluate(self, episodes: int = 100, seed: int = 0) -> Evaluation:
        """Return G and smoothness J with mean actions, on fresh envs."""
        self._require_own_process()
        return evaluate_afresh(
            self.policy,
            self._env_source,
            episodes,
            seed,
            self.config.run.simulation_threads,
            self.common_frame,
            self.conditions,
            self._learner.demonstrated,
        )

    def save(self, folder: str | Path) -> None:
        """Keep everything needed to go on or to act; a former save there is replaced safely."""
        if is_run_folder(Path(folder)):
            raise ConfigError(
                f"{folder} is a run folder, with a best policy of its own: save elsewhere"
            )
        learner = self._learner
        checkpoint.write_best(Path(folder) / "checkpoints", state_to_save(learner))

    @classmethod
    @python_face()
    def load(
        cls,
        folder: str | Path,
        env: Any = None,
        demonstrations: Demonstrations | str | Path | None = None,
        device: str | None = None,
        allow_env_mismatch: bool = False,
    ) -> Self:
        """An agent that goes on exactly where `save` (or a run's best) left it.

        Pass `env` when it was not a task name, and `demonstrations` when they were not bundled.
        On another `device` it goes on from the same state, not bit for bit.
        """
        found = checkpoint.best(Path(folder) / "checkpoints")
        if found is None:
            raise DataError(f"{folder}: no saved agent here")
        config = saved_config(found)
        if config.algorithm != cls.algorithm:
            raise ConfigError(
                f"{folder} holds a {config.algorithm} agent, not a {cls.algorithm} one"
            )
        if device is not None:
            config = with_settings(config, {"device": device})
        agent = cls.__new__(cls)
        env = task_to_play(config.task, folder) if env is None else env
        agent._start(config, env, demonstrations, allow_env_mismatch)
        restore(agent._learner, found)
        return agent

    def close(self) -> None:
        """Stop the simulator's threads."""
        self._learner.close()

    def _require_own_process(self) -> None:
        # Threads of the simulator and of torch do not survive a fork: a call would wait forever.
        if os.getpid() != self._process:
            raise EnvError(
                f"{self.config.task}: these envs were made in process {self._process}, and this is "
                f"process {os.getpid()}: a fork copies no threads. Make or load the agent in the "
                "new process"
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self.config.task}: live envs cannot be copied or pickled. Agent.save(folder) keeps "
            "a whole agent, Agent.load(folder) makes another one of it, in any process"
        )


class TRPO(Agent):
    """Learns from the env's reward: how demonstrators are made."""

    algorithm = "trpo"


class GAIL(Agent):
    """Learns from demonstrations, against a discriminator; no smoothness penalty."""

    algorithm = "gail"


class SPaCIL(Agent):
    """GAIL with smoothness penalties on policy and cost."""

    algorithm = "spacil"


class AIRL(Agent):
    """Adversarial inverse reinforcement learning: learns a reward beside the policy."""

    algorithm = "airl"


class BC(Agent):
    """Behaviour cloning: regression on the demonstrations, an iteration being one epoch.

    `policy` is the one with the lowest loss on held-out episodes, not the newest.
    """

    algorithm = "bc"
