"""The built-in tasks, simulated by worker threads and step-exact with `gymnasium.make`.

All envs are stepped by one native call per step; observations, rewards and ends are array functions
over the batch (`mujoco_rules.py`). It steps the actions it is given, as Gymnasium would: clipping
is the caller's. A simulation that leaves the valid range is an error, never data.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from spacil.envs.episode_starts import EpisodeStarts
from spacil.envs.mujoco_model import describe, load_model, physics_of, seconds_per_step
from spacil.envs.mujoco_rules import Physics
from spacil.envs.mujoco_tasks import CFRC_EXT, MujocoTask
from spacil.envs.native_batch import (
    IdArray,
    NativeBatch,
    SimulationError,
    route_warnings_to_log,
)
from spacil.envs.vector_env import (
    ActionArray,
    BoolArray,
    EnvSpec,
    FloatArray,
    ResetSeeds,
    StepResult,
    check_actions,
    check_active,
    first_non_finite_row,
    refuse_copy,
    require_own_process,
)
from spacil.errors import ConfigError, EnvError


@dataclass(frozen=True)
class _Simulations:
    """What closing lets go of."""

    batch: NativeBatch
    physics: Physics
    starts: EpisodeStarts


class ThreadedMujocoEnv:
    """N envs of one built-in task. The number of threads changes the speed and nothing else."""

    spec: EnvSpec
    num_envs: int

    def __init__(
        self, task: MujocoTask, num_envs: int, seeds: ResetSeeds, num_threads: int
    ) -> None:
        if num_envs < 1 or num_threads < 1:
            raise ConfigError(
                f"{task.name}: num_envs is {num_envs} and num_threads is {num_threads}, "
                "both must be at least 1"
            )
        route_warnings_to_log()
        model = load_model(task)
        batch = NativeBatch(
            model,
            num_envs,
            min(num_threads, num_envs),
            task.derived_fields,
            has_contact_forces=CFRC_EXT in task.derived_fields,
        )
        starts = EpisodeStarts(task, model, num_envs, seeds)
        self.spec = describe(task, model)
        self.num_envs = num_envs
        self._task = task
        self._seeds = seeds
        self._dt = seconds_per_step(task, model)
        self._simulations: _Simulations | None = _Simulations(batch, physics_of(batch), starts)
        self._process = os.getpid()
        self._has_episodes = False
        self._elapsed_steps = np.zeros(num_envs, dtype=np.int64)
        self._episodes = np.zeros(num_envs, dtype=np.int64)
        self._last_states = np.zeros((num_envs, task.num_states))
        """What the caller saw last; only for messages."""

    def reset(self, first_episode: int = 0) -> FloatArray:
        """Start episode `first_episode` in every env; returns states [N, S]."""
        self._episodes[:] = first_episode - 1
        states = self._start_next_episodes(np.arange(self.num_envs))
        self._has_episodes = True
        self._last_states = states
        return states.copy()

    def step(self, actions: ActionArray, active: BoolArray | None = None) -> StepResult:
        """One step of all envs, or of those in `active`; see `VectorEnv.step`."""
        check_actions(actions, self.spec, self.num_envs)
        if active is not None:
            check_active(active, self.spec, self.num_envs)
        task, physics = self._task, self._opened().physics
        if not self._has_episodes:
            raise EnvError(f"{self.spec.task}: step() before reset() or load_state()")
        # Contiguous: over another memory order numpy adds up the control cost otherwise.
        actions = np.ascontiguousarray(actions)
        landmark = task.landmark(physics)

        self._simulate(actions, active)

        is_healthy = task.is_healthy(physics)
        final_states = task.observe(physics)
        rewards = task.reward(landmark, physics, actions, is_healthy, self._dt)
        terminated = ~is_healthy
        truncated = self._elapsed_steps >= task.horizon
        if active is not None:
            rewards[~active] = 0.0
            terminated &= active
            truncated &= active
        broken_env = first_non_finite_row(final_states, rewards)
        if broken_env is not None:
            raise self._fault(broken_env, "has a non-finite state or reward", actions)

        states = final_states.copy()
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            states[ended] = self._start_next_episodes(ended)
        self._last_states = states
        return StepResult(states, final_states, rewards, terminated, truncated)

    def positions_and_velocities(self) -> tuple[FloatArray, FloatArray]:
        """Copies of qpos [N, Q] and qvel [N, V]; at the start of an episode they replay it."""
        batch = self._opened().batch
        return batch.qpos.copy(), batch.qvel.copy()

    def save_state(self) -> dict[str, NDArray[Any]]:
        """All that the next step depends on; states and rewards follow from it bit for bit."""
        if not self._has_episodes:
            raise EnvError(f"{self.spec.task}: save_state() before reset() or load_state()")
        return {name: array.copy() for name, array in self._live_arrays().items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> FloatArray:
        """Continue from a saved state; returns the current states [N, S]."""
        live = self._live_arrays()
        for name, array in live.items():
            saved = state.get(name)
            if saved is None or saved.shape != array.shape or saved.dtype != array.dtype:
                found = "nothing" if saved is None else f"{saved.dtype} {saved.shape}"
                raise ConfigError(
                    f"{self.spec.task}: the saved state has {found} for {name}, this env needs "
                    f"{array.dtype} {array.shape}: another task, --num-envs or mujoco version?"
                )
        for name, array in live.items():
            array[:] = state[name]
        self._has_episodes = True
        self._last_states = self._task.observe(self._opened().physics)
        return self._last_states.copy()

    def repeats_exactly(self) -> bool:
        """Always: every episode follows from its seed and its actions."""
        return True

    def close(self) -> None:
        """Stop the threads and free the simulations; closing twice is harmless."""
        self._simulations = None

    def __reduce__(self) -> NoReturn:
        refuse_copy(self.spec.task)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _opened(self) -> _Simulations:
        if self._simulations is None:
            raise EnvError(f"{self.spec.task}: this env is closed")
        require_own_process(self._process, self.spec.task)
        return self._simulations

    def _live_arrays(self) -> dict[str, NDArray[Any]]:
        """The memory that save_state copies out and load_state copies in.

        Derived fields are part of it: some rewards compare with them as they were before the step,
        and the physics alone does not bring them back.
        """
        batch = self._opened().batch
        return {
            "physics": batch.state,
            **batch.derived,
            "elapsed_steps": self._elapsed_steps,
            "episodes": self._episodes,
        }

    def _simulate(self, actions: ActionArray, active: BoolArray | None) -> None:
        """The physics of one step, or an error: no frame after a fault leaves this room."""
        batch = self._opened().batch
        ids = None if active is None else np.flatnonzero(active)
        batch.ctrl[:] = actions
        self._elapsed_steps += 1 if active is None else active
        try:
            batch.step(self._task.frame_skip, ids)
            if CFRC_EXT in self._task.derived_fields:
                batch.compute_contact_forces(ids)
        except SimulationError as error:
            raise self._fault(error.index, f"failed in MuJoCo: {error}", actions) from None
        warning = batch.first_warning()
        if warning is not None:
            env, name = warning
            raise self._fault(env, f"left the valid range ({name})", actions)

    def _start_next_episodes(self, ids: IdArray) -> FloatArray:
        """Reset some envs from the seeds of their next episodes; returns states of `ids`."""
        simulations = self._opened()
        try:
            states = simulations.starts.begin(simulations.batch, ids, self._episodes + 1)
        except SimulationError as error:
            self.close()
            raise EnvError(
                f"{self.spec.task}: env {error.index} failed in MuJoCo before episode "
                f"{self._episodes[error.index] + 1}: {error}"
            ) from None
        self._episodes[ids] += 1
        self._elapsed_steps[ids] = 0
        return states

    def _fault(self, env: int, what: str, actions: ActionArray) -> EnvError:
        """The error that tells how to meet the fault again. Nothing may be stepped after it."""
        episode = int(self._episodes[env])
        arguments = "".join(f", {name}={value!r}" for name, value in self._task.kwargs.items())
        self.close()
        return EnvError(
            f"{self.spec.task}: env {env} {what} at step {self._elapsed_steps[env]} of episode "
            f"{episode}; last state {_shortened(self._last_states[env])}, action "
            f"{_shortened(actions[env])}. The episode starts from gymnasium.make("
            f"{self._task.gymnasium_id!r}{arguments}).reset(seed={self._seeds(env, episode)})"
        )


def _shortened(row: NDArray[Any]) -> str:
    return np.array2string(row, precision=4, threshold=12, edgeitems=4, max_line_width=200)
