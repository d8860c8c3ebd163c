"""Training envs cut into fixed blocks, each of which is played by forward passes of its own.

A forward pass rounds by the number of its rows, so the number of blocks is part of the result.
Where a block is played is not: env i has the same seeds in any block, and the noise of all is drawn
in one place. One block is what a run without blocks does, bit for bit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spacil.envs.rollout import collect_around
from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    FloatArray,
    StepResult,
    VectorEnv,
    refuse_copy,
)
from spacil.nets.buffered_mean import BufferedMean
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch


class LocalBlocks:
    """Blocks of equal size, played one after the other in this process."""

    def __init__(self, envs: Sequence[VectorEnv]) -> None:
        self.spec = envs[0].spec
        self.width = envs[0].num_envs
        """Envs per block"""
        self.num_envs = self.width * len(envs)
        self._envs = list(envs)

    @property
    def num_blocks(self) -> int:
        return len(self._envs)

    def reset(self, first_episode: int = 0) -> FloatArray:
        return np.concatenate([env.reset(first_episode) for env in self._envs])

    def step(self, actions: ActionArray, active: BoolArray | None = None) -> StepResult:
        parts = [
            env.step(actions[rows], None if active is None else active[rows])
            for env, rows in zip(self._envs, self.rows(), strict=True)
        ]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return StepResult(*(np.concatenate(arrays) for arrays in columns))

    def play(
        self, policy: GaussianPolicy, noise: Tensor, states: FloatArray
    ) -> tuple[RolloutBatch, FloatArray]:
        """The batch around noise [T, N, A] from states [N, S], and the states it ends in."""
        mean = BufferedMean(policy, self.width)
        played = [
            collect_around(env, mean, noise[:, rows].contiguous(), states[rows])
            for env, rows in zip(self._envs, self.rows(), strict=True)
        ]
        return joined([batch for batch, _ in played]), np.concatenate([end for _, end in played])

    def rows(self) -> list[slice]:
        """The envs of each block."""
        return [slice(b * self.width, (b + 1) * self.width) for b in range(self.num_blocks)]

    def save_state(self) -> dict[str, NDArray[Any]]:
        return joined_states([env.save_state() for env in self._envs])

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> FloatArray:
        parts = split_state(state, self.num_blocks)
        states = [env.load_state(part) for env, part in zip(self._envs, parts, strict=True)]
        return np.concatenate(states)

    def repeats_exactly(self) -> bool:
        return self._envs[0].repeats_exactly()

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def __reduce__(self) -> NoReturn:
        refuse_copy(self.spec.task)


def joined(batches: Sequence[RolloutBatch]) -> RolloutBatch:
    """The batches of blocks side by side, as one that all envs played together."""
    truncated = torch.cat([batch.truncated for batch in batches], dim=1)
    # Final states are in row-major order of `truncated`: through all blocks at each step.
    order = torch.zeros(truncated.shape, dtype=torch.int64)
    order[truncated] = torch.arange(int(truncated.sum()))
    final_states = torch.empty(int(truncated.sum()), batches[0].final_states.shape[1])
    width = batches[0].truncated.shape[1]
    for block, batch in enumerate(batches):
        positions = order[:, block * width : (block + 1) * width][batch.truncated]
        final_states[positions] = batch.final_states
    return RolloutBatch(
        states=torch.cat([batch.states for batch in batches], dim=1),
        actions=torch.cat([batch.actions for batch in batches], dim=1),
        env_rewards=torch.cat([batch.env_rewards for batch in batches], dim=1),
        terminated=torch.cat([batch.terminated for batch in batches], dim=1),
        truncated=truncated,
        final_states=final_states,
        last_states=torch.cat([batch.last_states for batch in batches]),
    )


EnvState = Mapping[str, NDArray[Any]]
"""Arrays [N, ...] by name, as `VectorEnv.save_state` gives them"""


def joined_states(states: Sequence[EnvState]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([state[name] for state in states]) for name in states[0]}


def split_state(state: EnvState, num_blocks: int) -> list[dict[str, NDArray[Any]]]:
    parts = {name: np.array_split(array, num_blocks) for name, array in state.items()}
    return [{name: arrays[b] for name, arrays in parts.items()} for b in range(num_blocks)]
