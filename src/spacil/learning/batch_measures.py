"""How smooth the policy is on the batch it just learned from, between two evaluations."""

import torch
from torch import Tensor

from spacil.demos.common_frame import CommonFrame
from spacil.measuring.frames import mean_j
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.temporal_penalty import rows_with_successor
from spacil.types import RolloutBatch


@torch.no_grad()
def measure_j(
    policy: GaussianPolicy,
    states: Tensor,
    common_frame: CommonFrame,
    num_states: int,
    generator: torch.Generator,
) -> float:
    """J in the common frame, on a random choice of raw states [B, S]."""
    rows = torch.randperm(len(states), generator=generator)[:num_states]
    chosen = states[rows.to(states.device)].to(policy.log_std.device)
    return mean_j(policy, chosen, common_frame)


@torch.no_grad()
def measure_action_change(
    policy: GaussianPolicy, rollout: RolloutBatch, num_pairs: int, generator: torch.Generator
) -> float | None:
    """E |a(s_{t+1}) - a(s_t)| of executed mean actions, on a random choice of successive states.

    None for a batch without any: one step per env.
    """
    rows = rows_with_successor(rollout.terminated | rollout.truncated)
    rows = rows[torch.randperm(len(rows), generator=generator)[:num_pairs]]
    if not len(rows):
        return None
    num_envs = rollout.terminated.shape[1]
    states = rollout.flat_states[torch.cat([rows, rows + num_envs])].to(policy.log_std.device)
    before, after = policy.clip(policy.mean(states)).chunk(2)
    return float(torch.linalg.vector_norm(after - before, dim=-1).mean())
