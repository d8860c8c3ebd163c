"""Envs in blocks: one block changes nothing, and several play what their parts would play."""

import numpy as np
import pytest
import torch

from spacil.envs.blocks import LocalBlocks
from spacil.envs.registry import make_vector_env
from spacil.envs.rollout import collect
from spacil.envs.vector_env import ResetSeeds, VectorEnv
from spacil.nets.policy import GaussianPolicy
from spacil.types import RolloutBatch

NUM_ENVS = 6
# Hoppers fall within some 20 steps; Reacher's episodes are cut after 50, all at once.
TASKS = {"Hopper-v4": 240, "Reacher-v4": 360}


def envs(task: str, first: int, count: int) -> VectorEnv:
    return make_vector_env(task, count, ResetSeeds(3, "env", first_env=first))


def blocks(task: str, count: int) -> LocalBlocks:
    width = NUM_ENVS // count
    return LocalBlocks([envs(task, index * width, width) for index in range(count)])


def policy_for(env: VectorEnv) -> GaussianPolicy:
    spec, generator = env.spec, torch.Generator().manual_seed(0)
    return GaussianPolicy(
        spec.num_states, spec.action_low, spec.action_high, (8,), "fan-in", 0.5, generator
    )


def played(env: VectorEnv, num_steps: int, num_batches: int = 2) -> list[RolloutBatch]:
    generator, states, found = torch.Generator().manual_seed(1), env.reset(), []
    for _ in range(num_batches):
        batch, states = collect(env, policy_for(env), states, num_steps, generator)
        found.append(batch)
    env.close()
    return found


def is_equal(one: RolloutBatch, other: RolloutBatch) -> bool:
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    return all(torch.equal(ours, theirs) for ours, theirs in pairs)


@pytest.mark.parametrize("task", TASKS)
def test_one_block_is_what_a_run_without_blocks_plays(task: str) -> None:
    plain = played(envs(task, 0, NUM_ENVS), TASKS[task])
    in_one = played(blocks(task, 1), TASKS[task])
    assert all(is_equal(*pair) for pair in zip(plain, in_one, strict=True))


@pytest.mark.parametrize("task", TASKS)
def test_blocks_play_the_same_episodes_up_to_rounding(task: str) -> None:
    (plain,) = played(envs(task, 0, NUM_ENVS), 60, num_batches=1)
    (cut,) = played(blocks(task, 3), 60, num_batches=1)
    assert torch.equal(plain.states[0], cut.states[0])  # env i has its seed in any block
    assert torch.allclose(plain.states, cut.states, atol=1e-3)
    assert torch.allclose(plain.actions, cut.actions, atol=1e-3)


@pytest.mark.parametrize("task", TASKS)
def test_final_states_of_blocks_are_in_the_order_of_the_flags(task: str) -> None:
    for batch in played(blocks(task, 3), 600):
        ends = batch.truncated
        assert len(batch.final_states) == int(ends.sum())
        if task == "Hopper-v4":
            continue  # they fall before they are cut
        assert int(ends.sum()) >= NUM_ENVS
        # Reacher's last two arm angles move little in a step: a successor is near its state.
        angles = batch.states[ends][:, :4] - batch.final_states[:, :4]
        assert angles.abs().max() < 1.0
        others = batch.states[ends].roll(1, 0)[:, 4:6]  # the targets of other envs
        own = batch.final_states[:, 4:6]
        assert torch.equal(batch.states[ends][:, 4:6], own)
        assert not torch.equal(others, own)


def test_blocks_save_and_load_as_all_envs_together_do() -> None:
    whole, cut = envs("Hopper-v4", 0, NUM_ENVS), blocks("Hopper-v4", 3)
    assert np.array_equal(whole.reset(), cut.reset())
    actions = np.full((NUM_ENVS, whole.spec.num_actions), 0.3, dtype=np.float32)
    for _ in range(30):
        one, other = whole.step(actions), cut.step(actions)
        assert np.array_equal(one.states, other.states)
        assert np.array_equal(one.terminated, other.terminated)
    saved = cut.save_state()
    for name, array in whole.save_state().items():
        assert np.array_equal(array, saved[name])
    again = blocks("Hopper-v4", 3)
    assert np.array_equal(again.load_state(saved), one.states)
    for env in (whole, cut, again):
        env.close()
