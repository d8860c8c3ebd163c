"""Records that cross rooms.

Shapes: T time, N envs, B = T*N, M demonstration steps, S state, A action.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class RolloutBatch:
    """What one iteration saw, time-major. States are raw, never normalised."""

    states: Tensor
    """[T, N, S] float32, the state acted on."""
    actions: Tensor
    """[T, N, A] float32, the Gaussian's raw action; the env got it clipped."""
    env_rewards: Tensor
    """[T, N] float64, the env's own reward; imitation logs it and never learns from it."""
    terminated: Tensor
    """[T, N] bool, the episode ended for good: no bootstrap."""
    truncated: Tensor
    """[T, N] bool, the episode was cut by its time limit: bootstrap from `final_states`."""
    final_states: Tensor
    """[K, S], the true successor of each truncated step, in row-major order of `truncated`."""
    last_states: Tensor
    """[N, S], the state each env is in after the batch."""

    def to(self, device: torch.device) -> "RolloutBatch":
        """The same batch in a device's memory."""
        return RolloutBatch(**{name: tensor.to(device) for name, tensor in vars(self).items()})

    def without_final_states(self) -> "RolloutBatch":
        """The part whose shapes are those of every batch of a run."""
        return replace(self, final_states=self.final_states[:0])

    @property
    def num_steps(self) -> int:
        return self.states.shape[0] * self.states.shape[1]

    @property
    def flat_states(self) -> Tensor:
        """[B, S]"""
        return self.states.flatten(0, 1)

    @property
    def flat_actions(self) -> Tensor:
        """[B, A]"""
        return self.actions.flatten(0, 1)


@dataclass(frozen=True)
class ExpertBatch:
    """Demonstrated steps: raw states, and actions in the form the discriminator reads."""

    states: Tensor
    """[M, S] float32"""
    actions: Tensor
    """[M, A] float32"""
    next_states: Tensor
    """[M, S] float32, the state one step later, also where only some steps were kept."""
    terminated: Tensor
    """[M] bool, whether the task ended in `next_states`; a time limit is no such end."""

    def to(self, device: torch.device) -> "ExpertBatch":
        """The same batch in a device's memory."""
        return ExpertBatch(**{name: tensor.to(device) for name, tensor in vars(self).items()})
