"""Demonstrations as they would look to a policy whose actions are late and whose sensors err.

An action that the env executed at step t was commanded d steps before, in the state of then. So a
demonstration recorded without delay holds all that a policy under one needs: state s(t), the
commands on their way u(t) ... u(t+d-1), and the command to give, u(t+d).
"""

from dataclasses import replace

import torch
from torch import Tensor

from spacil.config.settings import ConditionsConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.episode import Episode
from spacil.errors import ConfigError, DataError
from spacil.seeding import stream


def under_conditions(
    demos: Demonstrations, conditions: ConditionsConfig, seed: int, recorded_delay: int = 0
) -> Demonstrations:
    """Rewrite whole episodes; where a delay is a range, each has every delay of it once.

    `recorded_delay`: steps by which actions were late already when they were recorded.
    """
    if recorded_delay < 0:
        raise ConfigError(f"--demos-delay {recorded_delay}: expected steps, 0 or more")
    if recorded_delay and not demos.num_actions:
        raise ConfigError(
            f"--demos-delay {recorded_delay}: {demos.source} has no actions to be late"
        )
    if not conditions.is_on and not recorded_delay:
        return demos
    if demos.is_thinned:
        raise DataError(
            f"{demos.source}: holds thinned episodes, and under a delay the steps between are "
            "needed too; pass whole episodes and thin them by --demo-every"
        )
    generator = stream(seed, "conditions of demonstrations")
    (low, high), (first, last) = conditions.range_of("action"), conditions.range_of("observation")
    episodes = tuple(
        _rewritten(episode, conditions, late - recorded_delay, unseen, demos.state_std, generator)
        for late in range(low, high + 1)
        for unseen in range(first, last + 1)
        for episode in demos.episodes
    )
    changes = vars(conditions) | ({"recorded_delay": recorded_delay} if recorded_delay else {})
    metadata = demos.metadata.with_change("under_conditions", **changes)
    return replace(demos, episodes=episodes, metadata=metadata)


def _rewritten(
    episode: Episode,
    conditions: ConditionsConfig,
    late: int,
    unseen: int,
    std: Tensor,
    generator: torch.Generator,
) -> Episode:
    """Shift commands by `late` steps and observations by `unseen`, and add what is on its way.

    The last commands are executed after the end, if at all: the one before them is repeated.
    """
    steps, seen = torch.arange(len(episode) + 1), episode.observations
    if conditions.sensor_noise:
        noise = torch.randn(seen.shape, generator=generator, dtype=torch.float64)
        seen = (seen + conditions.sensor_noise * std * noise).to(seen.dtype)

    def command(actions: Tensor, back: int) -> Tensor:
        """The command of `back` steps before each step, rest before the first."""
        row = steps + late - back
        held = actions[row.clamp(0, len(episode) - 1)]
        return torch.where((row < 0).unsqueeze(1), 0.0, held)

    def observed(back: int) -> Tensor:
        return seen[(steps - unseen - back).clamp(min=0)]

    executed = episode.executed_actions
    pending = [command(executed, 1 + k).to(seen) for k in range(conditions.num_commands)]
    past = [observed(1 + k) for k in range(conditions.num_observations)]
    raw = episode.actions
    return replace(
        episode,
        observations=torch.cat([observed(0), *pending, *past], dim=1),
        executed_actions=command(executed, 0)[:-1],
        actions=None if raw is None else command(raw, 0)[:-1],
        initial_qpos=None,
        initial_qvel=None,
    )
