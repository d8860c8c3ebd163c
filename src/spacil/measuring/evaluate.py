"""How good and how smooth a policy is, on an env of its own, with mean actions."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from spacil.config.checks import whole_number
from spacil.config.settings import ConditionsConfig, RunConfig
from spacil.demos.common_frame import CommonFrame
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.conditions import under
from spacil.envs.episodes import DEFAULT_EPISODE_LIMIT, EpisodeTotals, play_for_totals
from spacil.envs.on_host import on_host
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import FloatArray, ResetSeeds, VectorEnv
from spacil.measuring.frames import local_j
from spacil.measuring.imitation_score import DemonstratedStates, imitation_score
from spacil.nets.policy import GaussianPolicy
from spacil.plain_text import Shown
from spacil.policies.policy import Policy
from spacil.smoothness.action_signal import mean_of_known

EVALUATION_ENVS = 50
"""Most envs side by side in an evaluation outside of training."""


@dataclass(frozen=True)
class ReturnStatistics:
    """The undiscounted returns of whole episodes of one policy; keys are stable."""

    average_return: float
    return_std: float | None
    """Standard deviation over episodes, with Bessel's correction; None for one episode"""
    return_low: float | None
    return_high: float | None
    """95 % bootstrap interval of the mean over episodes of this one policy; None for one"""
    num_episodes: int


@dataclass(frozen=True)
class Evaluation(ReturnStatistics, Shown):
    """Return G and smoothness J of one policy; keys are stable."""

    printed_by = "spacil.cli.evaluate:print_evaluation"

    mean_length: float
    smoothness_j: float | None
    """J in the common frame; None without demonstrations to define it. Lower is smoother."""
    smoothness_j_own: float
    smoothness_j_raw: float
    smoothness_j_common: float | None
    """Former name of `smoothness_j`, which documents keep for one version"""
    smoothness_j_effective: float | None
    action_fluctuation: float | None
    """E |a_{t+1} - a_t| of the executed actions, mean over episodes; None if all have one step"""
    imitation_score: float | None = None
    """How unlike demonstrated states the visited ones are; None without demonstrations"""


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
    policy: GaussianPolicy | Policy,
    env: VectorEnv,
    first_episode: int,
    num_episodes: int,
    common_frame: CommonFrame | None = None,
    demonstrated: DemonstratedStates | None = None,
) -> Evaluation:
    """G over whole episodes with mean actions, and J over every state visited.

    The normaliser is read, never updated.
    """
    if isinstance(policy, Policy) and policy.action_bounds is None:
        policy = replace(policy, action_bounds=env.spec.bounds_on(env.device))
    episodes = play_mean_actions(policy, env, first_episode, num_episodes)
    return evaluation_of(policy, episodes, common_frame, demonstrated)


def play_mean_actions(
    policy: GaussianPolicy | Policy, env: VectorEnv, first_episode: int, num_episodes: int
) -> EpisodeTotals:
    """Whole episodes, within the policy's own bounds: the env may have wider ones."""
    if isinstance(policy, GaussianPolicy):
        bounds, home = (policy.action_low, policy.action_high), policy.log_std.device

        def mean(states: Tensor) -> Tensor:
            return policy.mean(states.to(home))

    else:
        bounds, mean = policy.action_bounds or env.spec.bounds_on(env.device), policy.act
    return play_for_totals(
        env, lambda states: mean(states).clamp(*bounds), first_episode, num_episodes
    )


def evaluation_of(
    policy: GaussianPolicy | Policy,
    episodes: EpisodeTotals,
    common_frame: CommonFrame | None,
    demonstrated: DemonstratedStates | None = None,
) -> Evaluation:
    """G, J and imitation score of episodes that the policy has played."""
    score = None
    if demonstrated is not None:
        # Terminations are compared with demonstrated ones: a length says how an episode ended
        # only where the time limit is known.
        early_fraction = float(episodes.is_terminated.mean())
        score = imitation_score(episodes.states, early_fraction, demonstrated)
    found = local_j(policy, episodes.states, common_frame)
    j: dict[str, Any] = {
        f"smoothness_j_{frame}": None if each is None else float(each.mean())
        for frame, each in found.items()
    }
    return Evaluation(
        **asdict(return_statistics(episodes.returns)),
        mean_length=float(episodes.lengths.mean()),
        smoothness_j=j["smoothness_j_common"],
        **j,
        action_fluctuation=mean_of_known(episodes.action_changes.tolist()),
        imitation_score=score,
    )


def pays_nothing(row: Mapping[str, Any]) -> bool:
    """Whether all episodes of an evaluation earned 0."""
    return row.get("average_return") == row.get("return_std") == 0


def return_statistics(returns: FloatArray) -> ReturnStatistics:
    """The statistics of returns [episodes], at least one, with always the same draws."""
    mean, std, low, high = float(returns.mean()), None, None, None
    if len(returns) > 1:
        tail = (1 - 0.95) / 2
        draws = np.random.default_rng(0).integers(len(returns), size=(2_000, len(returns)))
        low, high = np.quantile(returns[draws].mean(axis=1), [tail, 1 - tail]).tolist()
        std = float(returns.std(ddof=1))
    return ReturnStatistics(mean, std, low, high, len(returns))


def evaluate_afresh(
    policy: GaussianPolicy | Policy,
    env_source: Any,
    num_episodes: int,
    seed: int,
    num_threads: int | None,
    common_frame: CommonFrame | None,
    conditions: ConditionsConfig | None = None,
    demonstrated: DemonstratedStates | None = None,
) -> Evaluation:
    """`evaluate` on new envs, from start states that no training run uses.

    `conditions`: by default those that the policy was made for.
    """
    num_episodes = whole_number("episodes", num_episodes)
    inputs = policy.conditions if isinstance(policy, Policy) else conditions
    with evaluation_env(
        env_source, num_episodes, seed, num_threads, inputs, conditions, common_frame
    ) as env:
        if isinstance(policy, Policy):
            policy.require_env(env.spec)
        return evaluate(policy, env, 0, num_episodes, common_frame, demonstrated)


@contextmanager
def evaluation_env(
    env_source: Any,
    num_episodes: int,
    seed: int,
    num_threads: int | None = None,
    inputs: ConditionsConfig | None = None,
    conditions: ConditionsConfig | None = None,
    frame: CommonFrame | None = None,
) -> Iterator[VectorEnv]:
    """Open new envs on start states that no training run uses: one seed, the same episodes.

    `inputs`: conditions that the policy was made for; `conditions`: others to play it under.
    `frame`: the unit of sensor noise.
    """
    seeds = ResetSeeds(whole_number("seed", seed, 0), "evaluate")
    num_threads = num_threads or RunConfig().simulation_threads
    num_envs = min(num_episodes, EVALUATION_ENVS)
    env = on_host(make_vector_env(env_source, num_envs, seeds, num_threads))
    inputs = inputs or ConditionsConfig()
    try:
        yield under(env, conditions or inputs, seeds, None if frame is None else frame.std, inputs)
    finally:
        env.close()
