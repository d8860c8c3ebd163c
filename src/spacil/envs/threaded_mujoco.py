"""The built-in tasks, simulated by worker threads and step-exact with `gymnasium.make`.

All envs are stepped by one native call per step; observations, rewards and ends are array functions
over the batch (`mujoco_tasks.py`). It steps the actions it is given, as Gymnasium would: clipping
is the caller's. A simulation that leaves the valid range is an error, never data.
"""

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from spacil.envs.mujoco_model import describe, load_model, physics_of
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
    FloatArray,
    NumpyVectorEnv,
    ResetSeeds,
    Scene,
)
from spacil.errors import ConfigError, EnvError


class ThreadedMujocoEnv(NumpyVectorEnv):
    """N envs of one built-in task. The number of threads changes the speed and nothing else."""

    def __init__(
        self, task: MujocoTask, num_envs: int, seeds: ResetSeeds, num_threads: int
    ) -> None:
        super().__init__(task.name, num_envs)
        if num_threads < 1:
            raise ConfigError(f"{task.name}: num_threads is {num_threads}, expected 1 or more")
        route_warnings_to_log()
        model = load_model(task)
        self.spec = describe(task, model)
        self._task = task
        self._seeds = seeds
        self._dt = model.opt.timestep * task.frame_skip
        self._batch = NativeBatch(
            model,
            num_envs,
            min(num_threads, num_envs),
            task.derived_fields,
            has_contact_forces=CFRC_EXT in task.derived_fields,
        )
        self._physics = physics_of(self._batch)
        self._model_start = (model.qpos0.copy(), np.zeros(model.nv))
        self._starts = NativeBatch(model, num_envs, 1, task.derived_fields)
        """The next start of each env, never stepped"""
        self._first = physics_of(self._starts)
        self._start_states = task.observe(self._first)
        self._prepared = np.full(num_envs, -1)
        self._elapsed_steps = np.zeros(num_envs, dtype=np.int64)
        self._episodes = np.zeros(num_envs, dtype=np.int64)

    def _reset(self, first_episode: int) -> FloatArray:
        self._episodes[:] = first_episode - 1
        return self._start_next_episodes(np.arange(self.num_envs))

    def _step(self, actions: ActionArray, active: BoolArray | None) -> tuple[NDArray[Any], ...]:
        task, physics = self._task, self._physics
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
        is_finite = np.isfinite(final_states).all(axis=1) & np.isfinite(rewards)
        if not is_finite.all():
            raise self._fault(int(is_finite.argmin()), "has a non-finite state or reward")

        states = final_states.copy()
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            states[ended] = self._start_next_episodes(ended)
        return states, final_states, rewards, terminated, truncated

    def scene(self) -> Scene:
        """Show the first env. No built-in model has a mocap body: qpos is the whole pose."""
        model, is_above = load_model(self._task), self._task.is_seen_from_above
        return Scene(model, lambda: self._batch.qpos[0].copy(), is_above)

    def positions_and_velocities(self) -> tuple[FloatArray, FloatArray]:
        """Copies of qpos [N, Q] and qvel [N, V]; at the start of an episode they replay it."""
        return self._batch.qpos.copy(), self._batch.qvel.copy()

    def _live_arrays(self) -> dict[str, NDArray[Any]]:
        """Derived fields are part of it: some rewards compare with them as they were before the
        step, and the physics alone does not bring them back."""
        return {
            "physics": self._batch.state,
            **self._batch.derived,
            "elapsed_steps": self._elapsed_steps,
            "episodes": self._episodes,
        }

    def _continue(self) -> FloatArray:
        return self._task.observe(self._physics)

    def _let_go(self) -> None:
        del self._batch, self._physics, self._starts, self._first

    def _simulate(self, actions: ActionArray, active: BoolArray | None) -> None:
        """The physics of one step, or an error: no frame after a fault leaves this room."""
        batch = self._batch
        ids = None if active is None else np.flatnonzero(active)
        batch.ctrl[:] = actions
        self._elapsed_steps += 1 if active is None else active
        try:
            batch.step(self._task.frame_skip, ids)
            if CFRC_EXT in self._task.derived_fields:
                batch.compute_contact_forces(ids)
        except SimulationError as error:
            raise self._fault(error.index, f"failed in MuJoCo: {error}") from None
        warning = batch.first_warning()
        if warning is not None:
            env, name = warning
            raise self._fault(env, f"left the valid range ({name})")

    def _start_next_episodes(self, ids: IdArray) -> FloatArray:
        """Reset some envs from the seeds of their next episodes; returns states of `ids`.

        A start follows from its seed alone. Those of all envs are made at once, out of the way of
        the physics: on Hopper 0.93 of the time of all steps.
        """
        batch, starts, due = self._batch, self._starts, self._episodes + 1
        if (self._prepared[ids] != due[ids]).any():
            missing = np.flatnonzero(self._prepared != due)
            try:
                starts.reset(missing)
                for env in missing.tolist():
                    generator = np.random.default_rng(self._seeds(env, int(due[env])))
                    start = self._task.draw_start(generator, *self._model_start)
                    starts.qpos[env], starts.qvel[env] = start
                starts.forward(missing)
            except SimulationError as error:
                self._episodes, self._elapsed_steps[:] = due, 0
                raise self._fault(error.index, f"failed in MuJoCo: {error}") from None
            self._start_states = self._task.observe(self._first)
            self._prepared[missing] = due[missing]
        batch.state[ids] = starts.state[ids]
        for name, values in batch.derived.items():
            values[ids] = starts.derived[name][ids]
        self._episodes[ids] += 1
        self._elapsed_steps[ids] = 0
        return self._start_states[ids]

    def _fault(self, env: int, what: str) -> EnvError:
        """The error that tells how to meet the fault again. Nothing may be stepped after it."""
        episode = int(self._episodes[env])
        arguments = "".join(f", {name}={value!r}" for name, value in self._task.kwargs.items())
        self.close()
        return EnvError(
            f"{self.spec.task}: env {env} {what} at step {self._elapsed_steps[env]} of episode "
            f"{episode}, which starts from gymnasium.make({self._task.gymnasium_id!r}{arguments})"
            f".reset(seed={self._seeds(env, episode)})"
        )


def difference_from_gymnasium(task: MujocoTask, num_steps: int) -> str | None:
    """Where an env of ours first differs from `gymnasium.make`, in words; None if nowhere.

    A short version of the tests of this room, for the machine a user has.
    """
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there is a newer version
        theirs = gymnasium.make(task.gymnasium_id, **task.kwargs)
    episode, seeds = 0, ResetSeeds(root_seed=0, stream="fidelity")
    script = np.random.default_rng(0).uniform(-1, 1, (num_steps, 1, task.num_actions))
    try:
        with ThreadedMujocoEnv(task, 1, seeds, num_threads=1) as ours:
            state, _ = theirs.reset(seed=seeds(0, episode))
            if not np.array_equal(ours.reset()[0], state):
                return f"{task.name}: the first state differs"
            for step, actions in enumerate(torch.from_numpy(script.astype(np.float32)), start=1):
                result = ours.step(actions)
                state, reward, terminated, truncated, _ = theirs.step(actions[0].numpy())
                flags = (bool(result.terminated[0]), bool(result.truncated[0]))
                is_same = np.array_equal(result.final_observations[0], state)
                if not is_same or result.rewards[0] != reward or flags != (terminated, truncated):
                    return f"{task.name}: step {step} differs"
                if terminated or truncated:
                    episode += 1
                    theirs.reset(seed=seeds(0, episode))
    finally:
        theirs.close()
    return None
