"""How good and how smooth a policy is, on an env of its own, with mean actions."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from spacil.config.checks import whole_number
from spacil.config.general import RunConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.episodes import DEFAULT_EPISODE_LIMIT, EpisodeTotals, play_for_totals
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv
from spacil.measuring.frames import frames_of_policy
from spacil.measuring.statistics import ReturnStatistics, return_statistics
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.action_signal import mean_of_known
from spacil.smoothness.metric import local_constants

EVALUATION_ENVS = 50
"""Most envs side by side in an evaluation outside of training."""


@dataclass(frozen=True)
class Evaluation(ReturnStatistics):
    """Return G and smoothness J of one policy; keys are stable."""

    mean_length: float
    smoothness_j: float | None
    """The common frame's J; None without demonstrations to define it. Lower is smoother."""
    smoothness_j_own: float
    smoothness_j_raw: float
    smoothness_j_common: float | None
    smoothness_j_effective: float | None
    action_fluctuation: float | None
    """E |a_{t+1} - a_t| of the executed actions, mean over episodes; None if all have one step"""


@dataclass(frozen=True)
class Best:
    """An evaluated policy, as far as choosing among several goes."""

    average_return: float
    iteration: int
    imitation_score: float | None = None
    """None where none is measured"""
    smoothness_j: float | None = None
    excess_change: float = 0.0
    """Action change over what a target asks for, relative; 0 where that is met"""


def num_evaluation_envs(evaluation_steps: int, episode_length: int) -> int:
    """Envs, one whole episode each, that give about `evaluation_steps` state-action pairs."""
    return max(1, math.ceil(evaluation_steps / episode_length))


def expected_length(horizon: int | None, demonstrations: Demonstrations | None = None) -> int:
    """Steps of an episode that goes well: the time limit, else the longest demonstrated episode.

    An env may keep its time without telling. Thinned episodes no longer say how long they were.
    """
    if horizon:
        return horizon
    if demonstrations is None or demonstrations.is_thinned:
        return DEFAULT_EPISODE_LIMIT
    return min(int(demonstrations.episode_lengths.max()), DEFAULT_EPISODE_LIMIT)


def evaluate(
    policy: GaussianPolicy,
    env: VectorEnv,
    first_episode: int,
    num_episodes: int,
    common_frame: CommonFrame | None = None,
) -> Evaluation:
    """G over whole episodes with mean actions, and J over every state visited.

    The normaliser is read, never updated.
    """
    episodes = play_mean_actions(policy, env, first_episode, num_episodes)
    return evaluation_of(policy, episodes, common_frame)


def play_mean_actions(
    policy: GaussianPolicy, env: VectorEnv, first_episode: int, num_episodes: int
) -> EpisodeTotals:
    """Whole episodes, within the policy's own bounds: the env may have wider ones."""
    return play_for_totals(
        env, lambda states: policy.clip(policy.mean(states)), first_episode, num_episodes
    )


def evaluation_of(
    policy: GaussianPolicy, episodes: EpisodeTotals, common_frame: CommonFrame | None
) -> Evaluation:
    """G and J of episodes that the policy has played."""
    frames = frames_of_policy(policy, common_frame)
    constants = local_constants(
        policy.mean_of_normalized, policy.normalize(episodes.states), frames
    )
    common = _mean(constants.common)
    return Evaluation(
        **asdict(return_statistics(episodes.returns)),
        mean_length=float(episodes.lengths.mean()),
        smoothness_j=common,
        smoothness_j_own=float(constants.own.mean()),
        smoothness_j_raw=float(constants.raw.mean()),
        smoothness_j_common=common,
        smoothness_j_effective=_mean(constants.effective),
        action_fluctuation=mean_of_known(episodes.action_changes.tolist()),
    )


def evaluate_afresh(
    policy: GaussianPolicy,
    env_source: Any,
    num_episodes: int,
    seed: int,
    num_threads: int,
    common_frame: CommonFrame | None,
    check: Callable[[EnvSpec], None] = lambda spec: None,
) -> Evaluation:
    """`evaluate` on new envs, from start states that no training run uses.

    `check` may refuse the env before the first step.
    """
    num_episodes = whole_number("episodes", num_episodes)
    with evaluation_env(env_source, num_episodes, seed, num_threads) as env:
        check(env.spec)
        return evaluate(policy, env, 0, num_episodes, common_frame)


@contextmanager
def evaluation_env(
    env_source: Any, num_episodes: int, seed: int, num_threads: int | None = None
) -> Iterator[VectorEnv]:
    """Open new envs on start states that no training run uses: one seed, the same episodes."""
    env = make_vector_env(
        env_source,
        min(num_episodes, EVALUATION_ENVS),
        ResetSeeds(whole_number("seed", seed, 0), "evaluate"),
        num_threads or RunConfig().simulation_threads,
    )
    try:
        yield env
    finally:
        env.close()


def _mean(values: Tensor | None) -> float | None:
    return None if values is None else float(values.mean())
