"""Demonstrations as cloning reads them: normalised pairs, and whole episodes held out."""

import logging
from dataclasses import dataclass

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.selection import episode_of_step, first_steps
from spacil.envs.vector_env import EnvSpec, require_dims
from spacil.errors import DataError
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.policy_terms import PenaltyRows
from spacil.smoothness.temporal_penalty import discount_weights

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pairs:
    """Demonstrated states and the actions taken there."""

    rows: PenaltyRows
    """Normalised states, and what a penalty may read beside them"""
    actions: Tensor
    """[B, A]"""

    def pick(self, rows: Tensor) -> "Pairs":
        return Pairs(self.rows.pick(rows), self.actions[rows])


def refuse_misfits(demonstrations: Demonstrations, spec: EnvSpec) -> None:
    """Demonstrations of another task, or without a step, cannot be cloned."""
    if demonstrations.num_steps == 0:
        raise DataError(f"{demonstrations.source}: no steps to clone")
    found = (demonstrations.num_states, demonstrations.num_actions)
    require_dims(demonstrations.source, found, (spec.num_states, spec.num_actions), spec.task)


def held_out_episodes(num_episodes: int, fraction: float, generator: torch.Generator) -> Tensor:
    """[E] bool, a random share of the episodes: at least one, never all. Of one episode, none."""
    is_heldout = torch.zeros(num_episodes, dtype=torch.bool)
    if fraction == 0:
        return is_heldout
    num_heldout = min(max(1, round(fraction * num_episodes)), num_episodes - 1)
    if num_heldout == 0:
        _logger.warning("one demonstrated episode: nothing is held out, and nothing stops early")
    is_heldout[torch.randperm(num_episodes, generator=generator)[:num_heldout]] = True
    return is_heldout


def demonstrated_pairs(
    policy: GaussianPolicy, demonstrations: Demonstrations, config: TrainConfig
) -> Pairs:
    """All pairs on the policy's device, states normalised.

    The actions are the expert's raw mean actions where the file has them: beyond the bounds they
    still say how the expert leans, where the executed ones are all alike.
    """
    device, lengths = policy.log_std.device, demonstrations.episode_lengths
    actions = demonstrations.actions
    states = policy.normalize(demonstrations.states.to(device))
    successors = policy.normalize(demonstrations.next_states.to(device))
    weights = None
    if config.policy_penalty.penalty_discount:
        ages = torch.arange(len(states)) - first_steps(lengths)[episode_of_step(lengths)]
        weights = discount_weights(ages, config.returns.gamma).to(states)
    return Pairs(
        PenaltyRows(states, successors=successors, weights=weights),
        (demonstrations.executed_actions if actions is None else actions).float().to(device),
    )
