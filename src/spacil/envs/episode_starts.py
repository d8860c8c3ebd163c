"""Where each env's next episode begins, worked out for many envs at a time.

A start depends on its seed alone, so it may be prepared long before it is needed. In bulk it
costs less than half of what it costs between two steps, when the caches are full of physics.
"""

from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

from spacil.envs.mujoco_model import physics_of
from spacil.envs.mujoco_tasks import MujocoTask
from spacil.envs.native_batch import NativeBatch
from spacil.envs.vector_env import FloatArray


class EpisodeStarts:
    """One prepared start per env, in the rows of a batch that is never stepped."""

    def __init__(
        self,
        task: MujocoTask,
        model: mujoco.MjModel,
        num_envs: int,
        seed_of: Callable[[int, int], int],
    ) -> None:
        self._task = task
        self._seed_of = seed_of
        self._model_start = (model.qpos0.copy(), np.zeros(model.nv))
        self._batch = NativeBatch(model, num_envs, 1, task.derived_fields)
        self._prepared_episodes = np.full(num_envs, -1, dtype=np.int64)
        self._states = np.empty((num_envs, task.num_states))

    def begin(
        self, batch: NativeBatch, ids: NDArray[np.intp], next_episodes: NDArray[np.int64]
    ) -> FloatArray:
        """Put `ids` of `batch` at the start of their next episodes; returns their states.

        `next_episodes` [N] are those of all envs: when one start is missing, all that are missing
        are prepared together.
        """
        is_missing = self._prepared_episodes != next_episodes
        if is_missing[ids].any():
            self._prepare(np.flatnonzero(is_missing), next_episodes)
        batch.state[ids] = self._batch.state[ids]
        for name, field in batch.derived.items():
            field[ids] = self._batch.derived[name][ids]
        return self._states[ids]

    def _prepare(self, ids: NDArray[np.intp], next_episodes: NDArray[np.int64]) -> None:
        batch, task = self._batch, self._task
        batch.reset(ids)
        for env, episode in zip(ids.tolist(), next_episodes[ids].tolist(), strict=True):
            generator = np.random.default_rng(self._seed_of(env, episode))
            batch.qpos[env], batch.qvel[env] = task.draw_start(generator, *self._model_start)
        batch.forward(ids)
        self._states[ids] = task.observe(physics_of(batch).rows(ids))
        self._prepared_episodes[ids] = next_episodes[ids]
