"""GAIL behind filters: what smooths the motors' commands without another policy.

A filter remembers, so it is no function of the state and has no J: return and action change are
measured, of whole episodes.
"""

from collections.abc import Sequence
from functools import partial

from torch import Tensor

from spacil.comparison.run_record import RunRecord
from spacil.config.general import RunConfig
from spacil.envs.episodes import MakeActor, play
from spacil.envs.registry import make_vector_env, task_named_in_file
from spacil.envs.vector_env import ResetSeeds
from spacil.experiments.named.experiment import ArmRuns
from spacil.experiments.named.front.runs import GAIL
from spacil.experiments.named.outcome import Document
from spacil.experiments.named.plan import Scope
from spacil.measuring.action_filters import with_low_pass, with_moving_average
from spacil.policies.file import load_policy
from spacil.smoothness.action_signal import action_fluctuation, mean_of_known

AVERAGES = (0.2, 0.4, 0.6, 0.8, 0.9)
"""Strengths of the moving average, weakest first"""
CUTOFFS = (0.6, 0.4, 0.3, 0.2, 0.1)
"""Of the second-order low-pass, as fractions of Nyquist, weakest first"""
EPISODES, QUICK_EPISODES = 50, 4


def measure(record: RunRecord, scope: Scope) -> Document:
    """The last policy of GAIL behind every filter."""
    saved = load_policy(record.path, "last")
    task = task_named_in_file(saved.task, record.path)
    episodes = QUICK_EPISODES if scope.is_quick else EPISODES
    threads = RunConfig().simulation_threads
    env = make_vector_env(task, episodes, ResetSeeds(0, "evaluate"), threads)

    def act(states: Tensor) -> Tensor:
        return saved.policy.clip(saved.policy.mean(states))

    filters: list[tuple[str, float, MakeActor]] = []
    filters += [("moving average", s, partial(with_moving_average, act, s)) for s in AVERAGES]
    filters += [("low-pass", c, partial(with_low_pass, act, c, 2)) for c in CUTOFFS]
    found = []
    try:
        for name, strength, make_actor in filters:
            played = play(env, make_actor, episodes)
            returns = [one.total_return for one in played]
            changes = [action_fluctuation(one.actions) for one in played]
            numbers = {"G": sum(returns) / len(returns), "action_change": mean_of_known(changes)}
            found.append({"filter": name, "strength": strength, **numbers})
    finally:
        env.close()
    return {"episodes": episodes, "filters": found}


def measured_with(scope: Scope) -> Document:
    episodes = QUICK_EPISODES if scope.is_quick else EPISODES
    return {"episodes": episodes, "averages": list(AVERAGES), "cutoffs": list(CUTOFFS)}


def runs_of_gail(arms: Sequence[ArmRuns]) -> list[RunRecord]:
    return [record for arm in arms if arm.label == GAIL for record in arm.records]
