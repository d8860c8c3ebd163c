"""How good and how smooth a policy is, on an env of its own, with mean actions."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import EnvSpec, ResetSeeds, VectorEnv, require_dims
from spacil.measuring.statistics import ReturnStatistics, return_statistics
from spacil.nets.normalizer import CLIP, STD_FLOOR
from spacil.nets.policy import GaussianPolicy
from spacil.sampling.episodes import DEFAULT_EPISODE_LIMIT, play_for_totals
from spacil.smoothness.metric import Frames, local_constants

EVALUATION_ENVS = 50
"""Envs side by side in an evaluation outside of training."""


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


@dataclass(frozen=True)
class Best:
    """The best evaluation so far, by return."""

    average_return: float
    iteration: int


def num_evaluation_envs(evaluation_steps: int, horizon: int | None) -> int:
    """Envs, one whole episode each, that give about `evaluation_steps` state-action pairs."""
    return max(1, math.ceil(evaluation_steps / (horizon or DEFAULT_EPISODE_LIMIT)))


def policy_frames(policy: GaussianPolicy, demo_std: Tensor | None) -> Frames:
    """The frames in which this policy's J is told; `demo_std` [S] defines the common one."""
    normalizer = policy.normalizer
    common = None
    if demo_std is not None:
        require_dims(
            "the demonstrations", (len(demo_std), None), (policy.num_states, None), "the policy"
        )
        common = torch.where(demo_std > STD_FLOOR, demo_std, 0.0).to(normalizer.scale)
    return Frames(
        own_scale=normalizer.scale,
        common_std=common,
        action_low=policy.action_low,
        action_high=policy.action_high,
        state_clip=CLIP,
    )


def evaluate(
    policy: GaussianPolicy,
    env: VectorEnv,
    first_episode: int,
    num_episodes: int,
    demo_std: Tensor | None = None,
) -> Evaluation:
    """G over whole episodes with mean actions, and J over every state visited.

    The normaliser is read, never updated.
    """
    # The policy's own bounds: it may be evaluated in an env with wider ones.
    episodes = play_for_totals(
        env, lambda states: policy.clip(policy.mean(states)), first_episode, num_episodes
    )
    constants = local_constants(
        policy.mean_of_normalized,
        policy.normalize(episodes.states),
        policy_frames(policy, demo_std),
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
    )


def evaluate_afresh(
    policy: GaussianPolicy,
    env_source: Any,
    num_episodes: int,
    seed: int,
    num_threads: int,
    demo_std: Tensor | None,
    check: Callable[[EnvSpec], None] = lambda spec: None,
) -> Evaluation:
    """`evaluate` on new envs, from start states that no training run uses.

    `check` may refuse the env before the first step.
    """
    env = make_vector_env(
        env_source, min(num_episodes, EVALUATION_ENVS), ResetSeeds(seed, "evaluate"), num_threads
    )
    try:
        check(env.spec)
        return evaluate(policy, env, 0, num_episodes, demo_std)
    finally:
        env.close()


def _mean(values: Tensor | None) -> float | None:
    return None if values is None else float(values.mean())
