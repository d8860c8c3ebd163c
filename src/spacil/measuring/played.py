"""Episodes in, numbers out: return, what the motors felt, and whether the policy acts at all."""

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from spacil.envs.episodes import Actor, Trajectory, play_for_totals
from spacil.envs.registry import built_in_task
from spacil.envs.vector_env import EnvSpec, VectorEnv
from spacil.errors import ConfigError
from spacil.measuring.evaluate import ReturnStatistics, return_statistics
from spacil.policies.policy import Policy
from spacil.seeding import stream
from spacil.smoothness.action_signal import ActionSignal, describe, mean_signal


@dataclass(frozen=True)
class PlayedEpisodes(ReturnStatistics):
    """Whole episodes: what they earned, and what the motors felt."""

    mean_length: float
    action_signal: ActionSignal


def played_episodes(trajectories: list[Trajectory], spec: EnvSpec) -> PlayedEpisodes:
    """The summary of whole episodes; numbers of the signal are means over episodes."""
    task = built_in_task(spec)
    columns = None if task is None else task.joint_velocities
    action_range = torch.from_numpy(spec.action_high - spec.action_low)
    signals = [
        describe(
            episode.actions,
            action_range,
            None if columns is None else episode.states[:, list(columns)],
            spec.dt if task is not None and task.is_movement else None,
        )
        for episode in trajectories
    ]
    returns = np.array([episode.total_return for episode in trajectories])
    return PlayedEpisodes(
        **asdict(return_statistics(returns)),
        mean_length=float(np.mean([len(episode) for episode in trajectories])),
        action_signal=mean_signal(signals),
    )


def policy_actor(policy: Policy, is_sampled: bool, generator: torch.Generator) -> Actor:
    """Mean actions, or samples of the policy's own Gaussian."""
    if not is_sampled:
        return policy.act
    std = policy.std
    if std is None:
        raise ConfigError(
            f"{policy.name}: sampled actions need a Gaussian whose spread is known, and this "
            "policy has none to read; leave --sampled out"
        )

    def sample(states: Tensor) -> Tensor:
        actions = policy.act(states)
        noise = torch.randn(actions.shape, generator=generator, dtype=actions.dtype)
        return actions + std * noise

    return sample


def reference_actors(spec: EnvSpec, generator: torch.Generator) -> dict[str, Actor]:
    """What a policy must beat: zero actions and random ones.

    Random actions are uniform within the bounds; standard normal where a bound is open.
    """
    low, high = torch.from_numpy(spec.action_low), torch.from_numpy(spec.action_high)
    is_bounded = bool(torch.isfinite(low).all() and torch.isfinite(high).all())

    def random_action(states: Tensor) -> Tensor:
        shape = (len(states), spec.num_actions)
        if not is_bounded:
            return torch.randn(shape, generator=generator)
        return torch.lerp(low, high, torch.rand(shape, generator=generator))

    return {
        "zero_action": lambda states: torch.zeros(len(states), spec.num_actions),
        "random": random_action,
    }


def random_return(env: VectorEnv, seed: int) -> float:
    """What random actions earn: the mean return of episode 0 of every env."""
    act = reference_actors(env.spec, stream(seed, "random-policy"))["random"]
    return float(np.mean(play_for_totals(env, act, 0, env.num_envs).returns))


def share_of_return(average_return: float, random: float, reference: float) -> float | None:
    """(G - random) / (reference - random); None where the reference earns no more than random."""
    span = reference - random
    return (average_return - random) / span if span > 0 else None


def action_spread(actions: Tensor, bounds: tuple[Tensor, Tensor] | None) -> float:
    """Root mean square over action dims of std / half range of actions [B, A], clipped.

    An open bound counts as a half range of 1. A constant policy has spread 0.
    """
    half_range: Tensor | float = 1.0
    if bounds is not None:
        low, high = (bound.to(actions) for bound in bounds)
        actions = actions.clamp(low, high)
        half_range = torch.where(torch.isfinite(high - low), (high - low) / 2, 1.0)
    std = actions.double().std(0, correction=0) / half_range
    return float(std.square().mean().sqrt())
