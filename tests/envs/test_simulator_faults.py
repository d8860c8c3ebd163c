"""What must not pass: bad actions before a step, broken physics after it, a pool that lingers."""

import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest
import torch

from spacil.envs.native_batch import SimulationError
from spacil.envs.registry import PAPER_TASKS, TASKS
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.errors import ConfigError, DivergedError, EnvError


@pytest.fixture
def hopper(seeds):
    with ThreadedMujocoEnv(TASKS["Hopper-v4"], 4, seeds, 2) as env:
        env.reset()
        yield env


def zeros(*shape):
    return torch.zeros(shape)


BAD_ACTIONS = {
    "width 1": zeros(4, 1),
    "width n-1": zeros(4, 2),
    "width n+1": zeros(4, 4),
    "batch 1": zeros(1, 3),
    "batch n-1": zeros(3, 3),
    "batch n+1": zeros(5, 3),
    "one row": zeros(3),
    "float64": torch.zeros(4, 3, dtype=torch.float64),
    "nan": torch.full((4, 3), np.nan),
    "one inf": torch.tensor([[0, 0, 0], [0, 0, np.inf], [0, 0, 0], [0, 0, 0]]),
}


@pytest.mark.parametrize("kind", BAD_ACTIONS)
def test_bad_actions_are_refused_with_nothing_stepped(hopper, kind):
    before = hopper.save_state()
    with pytest.raises(DivergedError, match="nothing was stepped"):
        hopper.step(BAD_ACTIONS[kind])
    after = hopper.save_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    hopper.step(zeros(4, 3))


@pytest.mark.parametrize("name", PAPER_TASKS)
@pytest.mark.parametrize("field", ["qpos", "qvel"])
@pytest.mark.parametrize("value", [np.nan, 1e11])
def test_broken_physics_is_an_error_that_tells_how_to_replay_it(name, field, value, seeds):
    task = TASKS[name]
    env = ThreadedMujocoEnv(task, 3, seeds, 2)
    env.reset(first_episode=6)
    for _ in range(4):
        env.step(zeros(3, task.num_actions))
    getattr(env._batch, field)[1, -1] = value
    with pytest.raises(EnvError, match="env 1 left the valid range") as caught:
        env.step(zeros(3, task.num_actions))
    message = str(caught.value)
    assert "step 5 of episode 6" in message
    assert f"seed={seeds(1, 6)}" in message
    with pytest.raises(EnvError, match="closed"):
        env.step(zeros(3, task.num_actions))


def test_the_replay_line_of_an_error_works(seeds, reference_env):
    task = TASKS["Ant-v4"]
    env = ThreadedMujocoEnv(task, 2, seeds, 1)
    states = env.reset()
    env._batch.qvel[0, 0] = np.nan
    with pytest.raises(EnvError, match="left the valid range") as caught:
        env.step(zeros(2, 8))
    assert "gymnasium.make('Ant-v4', use_contact_forces=True).reset(seed=" in str(caught.value)
    seed = int(re.search(r"seed=(\d+)", str(caught.value))[1])
    state, _ = reference_env(task).reset(seed=seed)
    assert np.array_equal(state, states[0])


@pytest.mark.parametrize("name", ["step", "forward"])
def test_an_error_inside_a_worker_thread_reaches_the_caller_and_closes(hopper, monkeypatch, name):
    def fail(*_):
        raise SimulationError(2, "stack overflow")

    monkeypatch.setattr(hopper._batch if name == "step" else hopper._starts, name, fail)
    place = "at step 1" if name == "step" else "at step 0 of episode 9"
    with pytest.raises(EnvError, match=f"env 2 failed in MuJoCo: stack overflow {place}"):
        hopper.step(zeros(4, 3)) if name == "step" else hopper.reset(first_episode=9)
    with pytest.raises(EnvError, match="closed"):
        hopper.reset()


def test_mujoco_writes_no_log_file(tmp_path, monkeypatch, seeds):
    monkeypatch.chdir(tmp_path)
    installed = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(None)
    try:
        # Its model file makes MuJoCo warn on loading, the NaN makes it warn on stepping.
        env = ThreadedMujocoEnv(TASKS["HalfCheetah-v4"], 2, seeds, 2)
        env.reset()
        env._batch.qpos[:] = np.nan
        with pytest.raises(EnvError, match="left the valid range"):
            env.step(zeros(2, 6))
    finally:
        mujoco.set_mju_user_warning(installed)
    assert list(tmp_path.iterdir()) == []


def test_a_users_own_warning_callback_stays(seeds):
    installed = mujoco.get_mju_user_warning()
    messages = []
    mujoco.set_mju_user_warning(messages.append)
    try:
        ThreadedMujocoEnv(TASKS["HalfCheetah-v4"], 1, seeds, 1).close()
    finally:
        mujoco.set_mju_user_warning(installed)
    assert any("settotalmass" in message for message in messages)


@pytest.mark.parametrize(("num_envs", "num_threads"), [(0, 1), (2, 0), (-1, 1)])
def test_counts_below_one_are_refused(num_envs, num_threads, seeds):
    with pytest.raises(ConfigError, match="expected 1 or more"):
        ThreadedMujocoEnv(TASKS["Hopper-v4"], num_envs, seeds, num_threads)


def test_closing_twice_is_harmless_and_the_env_says_it_is_closed(seeds):
    env = ThreadedMujocoEnv(TASKS["Hopper-v4"], 2, seeds, 8)
    env.reset()
    env.close()
    env.close()
    for use in (env.reset, env.save_state, lambda: env.step(zeros(2, 3))):
        with pytest.raises(EnvError, match="closed"):
            use()


EXIT_WITH_LIVE_ENVS = """
import gc, os
import torch
from spacil.envs.registry import TASKS, make_vector_env
from spacil.envs.vector_env import ResetSeeds

env = make_vector_env("Ant-v4", 8, ResetSeeds(0, "test"), num_threads=4)
env.reset()
env.step(torch.zeros(8, 8))
child = os.fork()
if child == 0:
    del env          # must not wait for threads that only the parent has
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
env.step(torch.zeros(8, 8))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
def test_a_process_ends_cleanly_with_live_envs_and_forked_children():
    # From Python 3.12 on, a fork beside threads warns of what this test is about.
    command = [sys.executable, "-W", "ignore:This process", "-c", EXIT_WITH_LIVE_ENVS]
    finished = subprocess.run(command, timeout=120, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")
