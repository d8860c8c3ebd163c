"""Continuing from a saved state is continuing, bit for bit."""

import numpy as np
import pytest
import torch

from spacil.envs.mujoco_tasks import MUJOCO_TASKS
from spacil.envs.registry import TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.errors import ConfigError


def random_actions(task, num_steps, num_envs):
    shape = (num_steps, num_envs, task.num_actions)
    return torch.from_numpy(np.random.default_rng(5).uniform(-1, 1, shape).astype("f4"))


@pytest.mark.parametrize("task", MUJOCO_TASKS, ids=lambda task: task.name)
def test_a_new_env_continues_a_saved_one_exactly(task, seeds, assert_same_step):
    actions = random_actions(task, 90, 4)
    first = ThreadedMujocoEnv(task, 4, seeds, 2)
    first.reset()
    for step in range(33):
        last = first.step(actions[step])
    saved = first.save_state()
    expected = [first.step(actions[step]) for step in range(33, 90)]
    first.close()

    second = ThreadedMujocoEnv(task, 4, seeds, 1)
    assert np.array_equal(second.load_state(saved), last.observations)
    for step, theirs in zip(range(33, 90), expected, strict=True):
        assert_same_step(second.step(actions[step]), theirs, f"at step {step}")


def test_loading_goes_back_in_the_same_env_too(seeds, assert_same_step):
    """Prepared starts of later episodes must not survive a jump back."""
    task = TASKS["Hopper-v4"]
    actions = random_actions(task, 120, 3)
    with ThreadedMujocoEnv(task, 3, seeds, 2) as env:
        env.reset()
        saved = env.save_state()
        once = [env.step(step_actions) for step_actions in actions]
        env.load_state(saved)
        assert sum(int(result.terminated.sum()) for result in once) > 3
        for step, result in enumerate(once):
            assert_same_step(env.step(actions[step]), result, f"at step {step}")


def test_a_saved_state_is_a_copy(seeds):
    with ThreadedMujocoEnv(TASKS["Ant-v4"], 2, seeds, 1) as env:
        env.reset()
        saved = env.save_state()
        kept = {name: array.clone() for name, array in saved.items()}
        env.step(torch.ones(2, 8))
        assert all(np.array_equal(saved[name], kept[name]) for name in kept)
        assert not np.array_equal(env.save_state()["physics"], kept["physics"])


@pytest.mark.parametrize(("name", "num_envs"), [("Hopper-v4", 3), ("Walker2d-v4", 2)])
def test_a_state_of_another_size_is_refused_and_nothing_changes(name, num_envs, seeds):
    with ThreadedMujocoEnv(TASKS[name], num_envs, seeds, 1) as other:
        other.reset()
        saved = other.save_state()
    with ThreadedMujocoEnv(TASKS["Hopper-v4"], 2, seeds, 1) as env:
        env.reset()
        before = env.save_state()
        with pytest.raises(ConfigError, match=r"saved state has .* this env needs"):
            env.load_state(saved)
        with pytest.raises(ConfigError, match="nothing for physics"):
            env.load_state({key: array for key, array in before.items() if key != "physics"})
        after = env.save_state()
        assert all(np.array_equal(before[key], after[key]) for key in before)
