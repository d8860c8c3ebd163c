"""Any policy in, a smooth one out.

result = spacil.smooth("model.onnx", "Hopper-v4")
print(result.verdict)
result.policy.predict(observation)
"""

import contextlib
import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spacil import storage
from spacil.config.checks import whole_number
from spacil.config.defaults import default_config
from spacil.config.flat import with_user_settings
from spacil.config.settings import ConditionsConfig
from spacil.config.train_config import TrainConfig
from spacil.engine.device import torch_threads
from spacil.envs.episodes import Trajectory
from spacil.envs.registry import task_name
from spacil.errors import DataError, RetryableError
from spacil.learning.dagger import SmoothingLearner
from spacil.learning.learner import Learner, make_run_env
from spacil.learning.run import Outcome, memory_named, train, train_in_folder
from spacil.learning.smoothing_comparison import Comparison, compare
from spacil.measuring.evaluate import EVALUATION_ENVS
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import Shown
from spacil.policies.file import Which
from spacil.policies.open import open_policy, save_policy
from spacil.policies.policy import Policy, task_of
from spacil.runs.progress import Progress

POLICY_FILE = "policy.safetensors"
RESULT_FILE = "smoothing.json"
DEFAULT_EPISODES = 20
LATE_FIT_STEPS = 1_500
"""Default of --fit-steps where commands are late: there is the env's own motion to learn as well"""


@dataclass(frozen=True)
class SmoothingResult(Shown):
    """A smooth policy, and what it is worth beside its teacher."""

    printed_by = "spacil.cli.smooth:print_result"

    policy: GaussianPolicy
    conditions: ConditionsConfig
    """Delays and noise that it is made for"""
    verdict: str
    is_done: bool
    """Whether the return is kept, targets are met, J and action change are not above the
    teacher's, and noise and delay cost no more; False also for an interrupted run"""
    comparison: Comparison
    traces: dict[str, Trajectory]
    """One episode of each row of the table, for pictures"""
    run_dir: Path | None

    def as_document(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "verdict": self.verdict,
            "is_done": self.is_done,
            "run_dir": None if self.run_dir is None else str(self.run_dir),
            **self.comparison.as_document(),
        }


def smooth(
    policy: object,
    env: Any = None,
    *,
    which: Which = "best",
    seed: int = 0,
    episodes: int = DEFAULT_EPISODES,
    run_dir: str | Path | None = None,
    progress_bar: bool = False,
    **settings: Any,
) -> SmoothingResult:
    """Distil a policy into a smooth one, in closed loop and without a reward.

    `policy`: a run folder, a policy or ONNX file, one of our policies or agents, a torch module
    or a function on raw observations, a Stable-Baselines3 model.
    `env`: a task name, a Gymnasium id, an env, or a function that makes one; by default the task
    that the policy was trained on, where it says.
    `run_dir`: keep the run there; one that was interrupted goes on.
    `settings`: those of `spacil smooth` by their names, e.g. `penalty={"exact": 0.03}`.
    """
    teacher = open_policy(policy, which)
    if env is None:
        env = task_of(teacher)
    config = config_for(teacher, task_name(env), {"seed": seed, **settings})
    progress = Progress(config.run.iterations, is_shown=progress_bar)
    if run_dir is None:
        episodes = whole_number("episodes", episodes)
        with (
            contextlib.closing(progress),
            memory_named(config),
            contextlib.closing(SmoothingLearner(config, env, teacher)) as learner,
        ):
            train(learner, progress.update)
            return _result(learner, env, episodes, None)
    found = smooth_in_folder(
        config, env, teacher, progress, episodes, run_dir=Path(run_dir), resume=True
    )
    if isinstance(found, Outcome):
        raise RetryableError(f"interrupted; the same call goes on with the run in {run_dir}")
    return found


def config_for(teacher: Policy, task: str, settings: Mapping[str, Any]) -> TrainConfig:
    """Defaults and a user's settings; without any others the conditions stay the teacher's."""
    config = replace(default_config("smooth", task), conditions=teacher.conditions)
    changed = with_user_settings(config, settings)
    if changed.conditions == teacher.conditions:
        return changed
    return with_user_settings(config, {"fit_steps": LATE_FIT_STEPS, **settings})


def smooth_in_folder(
    config: TrainConfig,
    env: Any,
    teacher: Policy,
    progress: Progress,
    episodes: int,
    **folder: Any,
) -> SmoothingResult | Outcome:
    """The same in a run folder, which gets the policy and the table too.

    An interrupted run returns its outcome. `folder` is what `train_in_folder` takes: run_dir,
    resume, overwrite.
    """
    episodes = whole_number("episodes", episodes)
    started: list[SmoothingLearner] = []

    def start() -> Learner:
        started.append(SmoothingLearner(config, env, teacher))
        return started[0]

    outcome = train_in_folder(config, start, progress, **folder)
    (learner,) = started
    if outcome.exit_code:
        return outcome
    result = _result(learner, env, episodes, outcome.path)
    save_policy(
        replace(open_policy(result.policy), conditions=config.conditions),
        outcome.path / POLICY_FILE,
        learner.config.task,
        {"algorithm": "smooth", "seed": config.run.seed, "teacher": teacher.name},
        learner.common_frame,
    )
    document = storage.without_non_finite(result.as_document() | {"run_dir": None})
    storage.write_json(outcome.path / RESULT_FILE, document)
    return result


def _result(
    learner: SmoothingLearner, env_source: Any, episodes: int, run_dir: Path | None
) -> SmoothingResult:
    """The table on fresh episodes; the verdict is theirs, not that of the evaluations that chose.

    The chosen student was picked for its return, so on those it looks better than it is.
    """
    config, profile = learner.config, learner.profile
    if not learner.teacher_answers_as_before():
        raise DataError(
            f"{learner.teacher.name}: it no longer answers as it did in the first round: smooth "
            "takes the mean action as a function of the state alone, which remembers nothing"
        )
    as_made = replace(config, conditions=learner.teacher.conditions)
    num_envs = min(episodes, EVALUATION_ENVS)
    env = make_run_env(as_made, env_source, num_envs, "evaluate", is_on_host=True)
    policy = copy.deepcopy(learner.policy).cpu()
    with contextlib.closing(env), torch_threads(config.run.torch_threads):
        table, traces = compare(
            learner.teacher,
            open_policy(policy),
            env,
            profile.frame,
            profile.random_return,
            config.run.seed,
            episodes,
            conditions=config.conditions if learner.is_late else None,
        )
    rows, goal = (table.smooth, table.teacher), learner.wanted
    # Noise shakes anybody, but a teacher that falls under it hardly moves.
    moving = (table.teacher, table.late_teacher if config.conditions.sensor_noise else None)
    change, *teachers = (
        row.played.action_signal.action_fluctuation or 0.0
        for row in (table.smooth, *filter(None, moving))
    )
    is_done, sentence = goal.verdict(
        table.smooth.return_share,
        [row.smoothness_j for row in rows],
        [change, max(teachers)],
        table.worse(),
        [row.name.removeprefix("teacher, ") for row in table.as_good_filters(goal.share)],
    )
    return SmoothingResult(policy, config.conditions, sentence, is_done, table, traces, run_dir)
