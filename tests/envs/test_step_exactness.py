"""Our simulator against `gymnasium.make`: difference exactly 0."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from spacil.envs.mujoco_tasks import MUJOCO_TASKS, MujocoTask
from spacil.envs.registry import TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.envs.vector_env import FloatArray

Act = Callable[[Tensor], Tensor]


def as_actions(array: FloatArray) -> Tensor:
    return torch.from_numpy(array.astype("f4"))


def random_actions(task: MujocoTask) -> Act:
    """Uniform over [-1, 1], the bounds of every task."""
    generator = np.random.default_rng(1)
    return lambda states: as_actions(generator.uniform(-1, 1, (len(states), task.num_actions)))


def out_of_bounds_actions(task: MujocoTask) -> Act:
    generator = np.random.default_rng(2)
    return lambda states: as_actions(generator.normal(0, 3, (len(states), task.num_actions)))


def policy_actions(task: MujocoTask) -> Act:
    """The raw output of a fixed random tanh net: small, state-dependent, so episodes last."""
    generator = np.random.default_rng(3)
    first = generator.normal(0, 1, (task.num_states, 16)) / np.sqrt(task.num_states)
    last = generator.normal(0, 0.1, (16, task.num_actions))
    return lambda states: as_actions(np.tanh(states.numpy() @ first) @ last)


KINDS = {"random": random_actions, "out of bounds": out_of_bounds_actions, "policy": policy_actions}
all_tasks = pytest.mark.parametrize("task", MUJOCO_TASKS, ids=lambda task: task.name)
all_kinds = pytest.mark.parametrize("kind", KINDS)


def follow(task, act, seeds, reference, assert_same_step, num_envs, num_steps, num_episodes):
    """Step both until enough steps and episodes have passed; returns the number of ends."""
    theirs = reference(task, num_envs)
    num_ends = step = 0
    with ThreadedMujocoEnv(task, num_envs, seeds, num_threads=2) as ours:
        states = ours.reset()
        assert np.array_equal(states, theirs.reset())
        while step < num_steps or num_ends < num_episodes:
            actions = act(states)
            result = ours.step(actions)
            assert_same_step(result, theirs.step(actions), f"at step {step}")
            states = result.observations
            num_ends += int((result.terminated | result.truncated).sum())
            step += 1
    return num_ends


@all_tasks
@all_kinds
def test_steps_and_resets_equal_gymnasium(task, kind, seeds, reference, assert_same_step):
    act = KINDS[kind](task)
    num_ends = follow(task, act, seeds, reference, assert_same_step, 3, 110, 0)
    lasts = ("HalfCheetah", "Ant", "Swimmer")
    if kind != "policy" and not task.name.startswith(lasts):
        assert num_ends > 0, "the comparison should have crossed the end of an episode"


@pytest.mark.slow
@all_tasks
@all_kinds
def test_twenty_whole_episodes_equal_gymnasium(task, kind, seeds, reference, assert_same_step):
    act = KINDS[kind](task)
    assert follow(task, act, seeds, reference, assert_same_step, 5, 0, 20) >= 20


def test_the_time_limit_truncates_as_gymnasium_does(seeds, reference, assert_same_step):
    task = TASKS["HalfCheetah-v5"]
    act = policy_actions(task)
    num_ends = follow(task, act, seeds, reference, assert_same_step, 1, task.horizon + 2, 1)
    assert num_ends == 1


@pytest.mark.parametrize("name", ["Reacher-v4", "Hopper-v4", "HalfCheetah-v4", "Ant-v4"])
def test_the_number_of_threads_changes_no_bit(name, seeds, assert_same_step):
    task = TASKS[name]
    envs = [ThreadedMujocoEnv(task, 7, seeds, num_threads) for num_threads in (1, 2, 4)]
    act = random_actions(task)
    states = [env.reset() for env in envs]
    assert np.array_equal(states[0], states[1])
    assert np.array_equal(states[0], states[2])
    for step in range(60):
        actions = act(states[0])
        one, two, four = (env.step(actions) for env in envs)
        assert_same_step(two, one, f"at step {step}")
        assert_same_step(four, one, f"at step {step}")


def test_the_memory_order_of_actions_changes_no_bit(seeds, assert_same_step):
    task = TASKS["Ant-v5"]
    act = random_actions(task)
    rows, columns = (ThreadedMujocoEnv(task, 5, seeds, 1) for _ in range(2))
    states = rows.reset()
    columns.reset()
    for step in range(20):
        actions = act(states)
        assert_same_step(
            columns.step(actions.T.contiguous().T), rows.step(actions), f"at step {step}"
        )


def test_the_first_episode_can_be_any(seeds, reference):
    task = TASKS["Hopper-v4"]
    theirs = reference(task, 3)
    theirs.episodes = [12, 12, 12]
    with ThreadedMujocoEnv(task, 3, seeds, 1) as ours:
        assert np.array_equal(ours.reset(first_episode=12), theirs.reset())


@pytest.mark.parametrize("name", ["Reacher-v4", "Walker2d-v4", "Ant-v4"])
def test_paused_envs_continue_as_if_nothing_had_happened(name, seeds, reference, assert_same_step):
    task = TASKS[name]
    generator = np.random.default_rng(4)
    act = random_actions(task)
    theirs = reference(task, 4)
    with ThreadedMujocoEnv(task, 4, seeds, 2) as ours:
        states = ours.reset()
        theirs.reset()
        for step in range(90):
            actions, active = act(states), torch.from_numpy(generator.random(4) < 0.6)
            result = ours.step(actions, active)
            assert_same_step(result, theirs.step(actions, active), f"at step {step}")
            assert np.array_equal(result.observations[~active], states[~active])
            states = result.observations


def test_a_step_of_nobody_changes_nothing(seeds):
    with ThreadedMujocoEnv(TASKS["Ant-v4"], 3, seeds, 2) as env:
        states = env.reset()
        before = env.save_state()
        result = env.step(torch.ones(3, 8), torch.zeros(3, dtype=torch.bool))
        assert np.array_equal(result.observations, states)
        assert not result.rewards.any()
        assert not (result.terminated | result.truncated).any()
        assert np.array_equal(env.save_state()["elapsed_steps"], before["elapsed_steps"])


def test_results_are_the_callers_to_keep(seeds):
    """A caller that keeps or changes a result meets no aliasing."""
    with ThreadedMujocoEnv(TASKS["Hopper-v4"], 2, seeds, 1) as env:
        states = env.reset()
        kept = states.clone()
        first = env.step(torch.zeros(2, 3))
        assert np.array_equal(states, kept)
        kept = first.final_observations.clone()
        first.observations[:] = np.nan
        assert np.array_equal(first.final_observations, kept)
        assert env.step(torch.zeros(2, 3)).observations.isfinite().all()


def test_positions_and_velocities_replay_an_episode_in_gymnasium(seeds, reference_env):
    task = TASKS["Walker2d-v4"]
    act = random_actions(task)
    gym_env = reference_env(task)
    gym_env.reset(seed=0)
    with ThreadedMujocoEnv(task, 2, seeds, 1) as env:
        states = env.reset()
        qpos, qvel = env.positions_and_velocities()
        gym_env.unwrapped.set_state(qpos[1], qvel[1])
        for _ in range(10):
            actions = act(states)
            result = env.step(actions)
            state, reward, *_ = gym_env.step(actions[1].numpy())
            assert np.array_equal(state, result.final_observations[1])
            assert reward == result.rewards[1]
            states = result.observations
