"""What is collected is what happened: replayed step by step in an env of its own."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from spacil.engine.device import one_torch_thread, torch_threads
from spacil.envs.episodes import collect
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.nets.policy import GaussianPolicy

NUM_ENVS = 4
# Hoppers fall within some 20 steps, which ends an episode; Reacher's episodes are cut after 50.
TASKS = {"Hopper-v4": 120, "Reacher-v4": 240}


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_env(task: str) -> VectorEnv:
    return make_vector_env(task, NUM_ENVS, ResetSeeds(3, "rollout"))


@pytest.fixture
def env(task: str) -> Iterator[VectorEnv]:
    env = make_env(task)
    yield env
    env.close()


@pytest.fixture
def policy(env: VectorEnv) -> GaussianPolicy:
    spec = env.spec
    generator = torch.Generator().manual_seed(0)
    return GaussianPolicy(
        spec.num_states, spec.action_low, spec.action_high, (8,), "fan-in", 0.5, generator
    )


def test_a_batch_is_what_the_env_did(task: str, env: VectorEnv, policy: GaussianPolicy) -> None:
    generator = torch.Generator().manual_seed(1)
    replayed = make_env(task)
    expected_states = replayed.reset()
    states = env.reset()
    final_states = []
    num_ended = 0
    for _ in range(2):  # the second batch goes on where the first one ended
        batch, states = collect(env, policy, states, TASKS[task], generator)
        assert batch.states.shape[:2] == (TASKS[task] // NUM_ENVS, NUM_ENVS)
        assert batch.num_steps == TASKS[task]
        final_states.clear()
        for t in range(len(batch.states)):
            assert np.array_equal(batch.states[t], expected_states.float())
            result = replayed.step(policy.clip(batch.actions[t]))
            assert np.array_equal(batch.env_rewards[t], result.rewards)
            assert np.array_equal(batch.terminated[t], result.terminated)
            assert np.array_equal(batch.truncated[t], result.truncated)
            final_states += result.final_observations[result.truncated].float().tolist()
            num_ended += int((result.terminated | result.truncated).sum())
            expected_states = result.observations
        assert np.array_equal(batch.last_states, expected_states.float())
        assert np.array_equal(states, expected_states)
        assert len(final_states) == int(batch.truncated.sum()) == len(batch.final_states)
        assert batch.final_states.tolist() == final_states
    assert num_ended >= NUM_ENVS
    replayed.close()


def test_actions_are_the_raw_gaussian_ones(env: VectorEnv, policy: GaussianPolicy) -> None:
    generator = torch.Generator().manual_seed(1)
    batch, _ = collect(env, policy, env.reset(), 400, generator)
    with torch.no_grad():
        noise = (batch.flat_actions - policy.mean(batch.flat_states)) / policy.log_std.exp()
    assert abs(float(noise.mean())) < 0.1
    assert abs(float(noise.std()) - 1) < 0.1
    assert (batch.flat_actions > policy.action_high).any()
    assert not batch.actions.requires_grad


def test_the_action_stream_alone_decides(task: str, env: VectorEnv, policy: GaussianPolicy) -> None:
    global_states = (torch.get_rng_state(), np.random.get_state()[1].copy())
    stream = torch.Generator().manual_seed(1)
    before = stream.get_state()
    first, _ = collect(env, policy, env.reset(), 80, stream)
    assert not torch.equal(stream.get_state(), before)
    assert torch.equal(torch.get_rng_state(), global_states[0])
    assert np.array_equal(np.random.get_state()[1], global_states[1])
    stream.set_state(before)
    torch.manual_seed(99)
    again, _ = collect(env, policy, env.reset(), 80, stream)
    assert torch.equal(first.actions, again.actions)
    assert torch.equal(first.states, again.states)
    other, _ = collect(env, policy, env.reset(), 80, stream)
    assert not torch.equal(first.actions, other.actions)


def test_threads_are_given_back_also_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError, match="division by zero"), torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        with one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == before + 1
        _ = 1 / 0
    assert torch.get_num_threads() == before
