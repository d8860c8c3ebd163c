"""One episode out of a record of demonstrations."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Episode:
    """One demonstrated episode: views into the record, nothing copied."""

    observations: Tensor
    """[T+1, S]; the last one is where the episode ended."""
    executed_actions: Tensor
    """[T, A]"""
    actions: Tensor | None
    """[T, A] raw"""
    rewards: Tensor | None
    """[T]"""
    is_terminated: bool
    is_truncated: bool
    initial_qpos: Tensor | None
    """[nq]"""
    initial_qvel: Tensor | None
    """[nv]"""
