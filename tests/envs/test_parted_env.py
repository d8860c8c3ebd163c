"""Parts are a way to step, not another env: the same rows, the same saved state."""

import threading
import time

import numpy as np
import pytest

from spacil.envs.gymnasium_env import GymnasiumVectorEnv
from spacil.envs.parted_env import PartedEnv, part_sizes
from spacil.envs.registry import TASKS, make_training_env
from spacil.envs.threaded_mujoco import ThreadedMujocoEnv
from spacil.errors import ConfigError, DivergedError, EnvError

NUM_ENVS = 17


@pytest.fixture(params=[1, 2, 3])
def parted(request, seeds):
    env = make_training_env("Hopper-v4", NUM_ENVS, seeds, request.param)
    assert isinstance(env, PartedEnv)
    yield env
    env.close()


@pytest.fixture
def whole(seeds):
    with ThreadedMujocoEnv(TASKS["Hopper-v4"], NUM_ENVS, seeds, 1) as env:
        yield env


def random_actions(num_steps):
    shape = (num_steps, NUM_ENVS, 3)
    return np.random.default_rng(5).uniform(-1, 1, shape).astype("f4")


def test_parts_together_are_the_whole(parted, whole, assert_same_step):
    assert np.array_equal(parted.reset(first_episode=2), whole.reset(first_episode=2))
    is_active = np.random.default_rng(6).uniform(size=(60, NUM_ENVS)) < 0.8
    num_ended = 0
    for step, actions in enumerate(random_actions(60)):
        active = None if step % 2 else is_active[step]
        result = parted.step(actions, active)
        num_ended += int(result.terminated.sum())
        assert_same_step(result, whole.step(actions, active), f"at step {step}")
    assert num_ended > NUM_ENVS
    assert parted.spec.fingerprint == whole.spec.fingerprint
    assert parted.repeats_exactly()


def test_a_state_goes_from_the_whole_to_the_parts_and_back(parted, whole, assert_same_step):
    actions = random_actions(60)
    parted.reset()
    for step_actions in actions[:30]:
        last = parted.step(step_actions)
    saved = parted.save_state()
    assert np.array_equal(whole.load_state(saved), last.states)
    assert all(np.array_equal(saved[name], array) for name, array in whole.save_state().items())
    expected = [whole.step(step_actions) for step_actions in actions[30:]]
    parted.step(actions[-1])
    assert np.array_equal(parted.load_state(saved), last.states)
    for step, theirs in enumerate(expected, 30):
        assert_same_step(parted.step(actions[step]), theirs, f"at step {step}")


def test_a_state_of_another_size_is_refused_and_nothing_changes(parted):
    parted.reset()
    before = parted.save_state()
    cut = {name: array[: NUM_ENVS - 1] for name, array in before.items()}
    with pytest.raises(ConfigError, match=r"needs 17 rows: another --num-envs"):
        parted.load_state(cut)
    after = parted.save_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_messages_count_envs_through_all_parts(parted, seeds):
    parted.reset()
    actions = np.zeros((NUM_ENVS, 3), dtype="f4")
    first, second = parted.parts
    broken = actions[first.num_envs :].copy()
    broken[2, 1] = np.nan
    with pytest.raises(DivergedError, match=r"\(env 11, column 1\); nothing was stepped"):
        second.step(broken)
    second._simulations.batch.qvel[3, 0] = np.nan
    with pytest.raises(EnvError, match="env 12 left the valid range") as caught:
        parted.step(actions)
    assert f"seed={seeds(12, 0)}" in str(caught.value)


def test_an_error_in_one_part_waits_for_the_other(parted):
    parted.reset()
    first = parted.parts[0]
    finished = []

    def work(part, rows):
        if part is first:
            raise ZeroDivisionError
        time.sleep(0.05)
        finished.append(rows)

    with pytest.raises(ZeroDivisionError):
        parted.for_each_part(work)
    if parted._threads is not None:
        assert finished == [slice(first.num_envs, NUM_ENVS)]


def test_closing_twice_is_harmless_and_ends_the_threads(seeds):
    env = make_training_env("Hopper-v4", NUM_ENVS, seeds, 2)
    env.reset()
    assert any(thread.name.startswith("env-part") for thread in threading.enumerate())
    env.close()
    env.close()
    assert not any(thread.name.startswith("env-part") for thread in threading.enumerate())
    for use in (env.reset, env.save_state):
        with pytest.raises(EnvError, match="closed"):
            use()


@pytest.mark.parametrize(
    ("num_envs", "sizes"), [(1, [1]), (15, [15]), (16, [8, 8]), (17, [9, 8]), (50, [25, 25])]
)
def test_the_number_of_envs_alone_decides_on_the_parts(num_envs, sizes, seeds):
    assert part_sizes(num_envs) == sizes
    for num_threads in (1, 5):
        env = make_training_env("Reacher-v4", num_envs, seeds, num_threads)
        parts = env.parts if isinstance(env, PartedEnv) else [env]
        assert [part.num_envs for part in parts] == sizes
        env.close()


def test_an_env_of_others_stays_whole(seeds):
    env = make_training_env("Pendulum-v1", 16, seeds, 2)
    assert isinstance(env, GymnasiumVectorEnv)
    env.close()
