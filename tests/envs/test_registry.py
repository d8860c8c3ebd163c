"""Names, sizes and who gets which env."""

import subprocess
import sys
from dataclasses import replace

import gymnasium
import mujoco
import numpy as np
import pytest

from spacil.envs.gymnasium_env import GymnasiumVectorEnv
from spacil.envs.mujoco_model import model_path
from spacil.envs.mujoco_tasks import MUJOCO_TASKS
from spacil.envs.registry import TASKS, built_in_task, make_vector_env
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv


@pytest.mark.parametrize("task", MUJOCO_TASKS, ids=lambda task: task.name)
def test_sizes_bounds_and_limits_are_gymnasiums(task, seeds, reference_env):
    theirs = reference_env(task)
    with make_vector_env(task.name, 1, seeds) as env:
        spec = env.spec
    assert (spec.num_states,) == (task.num_states,) == theirs.observation_space.shape
    assert (spec.num_actions,) == (task.num_actions,) == theirs.action_space.shape
    assert np.array_equal(spec.action_low, theirs.action_space.low)
    assert np.array_equal(spec.action_high, theirs.action_space.high)
    assert spec.action_low.dtype == spec.action_high.dtype == np.float32
    assert spec.horizon == task.horizon == theirs.spec.max_episode_steps
    assert spec.dt == theirs.unwrapped.dt
    assert task.frame_skip == theirs.unwrapped.frame_skip
    assert theirs.unwrapped.fullpath.endswith("/" + task.model_file)


@pytest.mark.parametrize("task", MUJOCO_TASKS, ids=lambda task: task.name)
def test_the_velocity_columns_are_those_of_the_joints_that_the_motors_drive(task):
    model = mujoco.MjModel.from_xml_path(str(model_path(task)))
    driven = [int(model.jnt_dofadr[joint]) for joint in model.actuator_trnid[:, 0]]
    # The velocities of all joints follow the positions; Reacher shows only those of its arm,
    # before the offset to the target, and Ant its contact forces after them.
    is_reacher = task.name.startswith("Reacher")
    num_shown = 8 if is_reacher else 27 if task.name.startswith("Ant") else task.num_states
    first = num_shown - (2 if is_reacher else model.nv)
    assert task.joint_velocities == tuple(first + dof for dof in driven)


def test_a_wrapped_env_under_a_built_in_name_is_not_that_task(seeds):
    with make_vector_env("Hopper-v4", 1, seeds) as env:
        assert built_in_task(env.spec) is TASKS["Hopper-v4"]
        assert built_in_task(replace(env.spec, num_states=12)) is None
        assert built_in_task(replace(env.spec, task="Hopper-v44")) is None


def test_every_task_of_the_paper_is_listed_in_both_versions():
    names = {"Reacher", "Hopper", "Walker2d", "HalfCheetah", "Ant"}
    others = {"Ant-v4-no-contact", "Swimmer-v4"}
    assert set(TASKS) == {f"{n}-v{v}" for n in names for v in (4, 5)} | others


def test_fingerprints_tell_every_task_from_every_other(seeds):
    fingerprints = []
    for name in TASKS:
        with make_vector_env(name, 1, seeds) as env:
            fingerprints.append(env.spec.fingerprint)
    assert all(a != b for i, a in enumerate(fingerprints) for b in fingerprints[:i])
    ant = fingerprints[list(TASKS).index("Ant-v4")]
    assert ant["gymnasium_id"] == "Ant-v4"
    assert ant["version"] == 4
    assert ant["kwargs"] == {"use_contact_forces": True}
    assert len(ant["model_sha256"]) == 64


def test_a_built_in_name_gets_our_simulator(seeds):
    with make_vector_env("Reacher-v5", 2, seeds, num_threads=2) as env:
        assert isinstance(env, ThreadedMujocoEnv)
        assert env.spec.restores_exactly


@pytest.mark.parametrize(
    "source",
    ["Pendulum-v1", lambda: gymnasium.make("Pendulum-v1"), gymnasium.make("Pendulum-v1")],
    ids=["id", "function", "env"],
)
def test_anything_else_gets_the_adapter(source, seeds):
    with make_vector_env(source, 2, seeds) as env:
        assert isinstance(env, GymnasiumVectorEnv)
        assert env.reset().shape == (2, 3)


def test_importing_the_registry_imports_no_simulator():
    code = (
        "import sys, spacil.envs.registry\n"
        "print({'mujoco', 'gymnasium', 'torch'} & set(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout.strip() == "set()", finished.stderr
