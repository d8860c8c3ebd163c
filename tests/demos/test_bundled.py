"""What the package brings along: demonstrations that replay, and the experts who gave them."""

from pathlib import Path

import pytest
import torch
from demo_edits import with_value
from replay import EPISODE_TOLERANCE, PREDICTABLE_STEPS, assert_replays

import spacil
from spacil.demos.file import bundled_demos
from spacil.envs.registry import TASKS
from spacil.errors import DataError
from spacil.policies.file import bundled_experts

ROOT = Path(__file__).parents[2]
BUNDLED = sorted(bundled_demos())

pytestmark = pytest.mark.filterwarnings("ignore:.*out of date.*")


def test_every_bundled_task_has_demonstrations_and_their_expert() -> None:
    assert BUNDLED
    assert sorted(bundled_experts()) == BUNDLED


@pytest.mark.parametrize("task", BUNDLED)
def test_a_bundled_episode_replays_in_gymnasium(task: str) -> None:
    demos = spacil.load_demos(task)
    assert_replays(demos, task, [demos.num_episodes - 1])


def test_a_replay_shows_a_changed_action_reward_or_state() -> None:
    for task, name, row, change, message in (
        ("HalfCheetah-v4", "executed_actions", PREDICTABLE_STEPS - 2, 1e-3, "a reward is off"),
        ("HalfCheetah-v4", "rewards", PREDICTABLE_STEPS - 1, 1e-7, "a reward is off"),
        ("HalfCheetah-v4", "observations", PREDICTABLE_STEPS, 1e-4, "a state is off"),
        ("Hopper-v4", "rewards", 999, 10 * EPISODE_TOLERANCE, "a reward is off"),
        ("Hopper-v4", "observations", 1000, 10 * EPISODE_TOLERANCE, "a state is off"),
    ):
        demos = spacil.load_demos(task).first(1)
        demos = with_value(demos, name, row, demos.tensors()[name][row] + change)
        with pytest.raises(AssertionError, match=message):
            assert_replays(demos, task, [0])


@pytest.mark.slow
@pytest.mark.parametrize("task", BUNDLED)
def test_all_bundled_episodes_replay_in_gymnasium(task: str) -> None:
    demos = spacil.load_demos(task)
    assert_replays(demos, task, list(range(demos.num_episodes)))


@pytest.mark.parametrize("task", BUNDLED)
def test_the_bundled_expert_acts_as_it_did_in_the_demonstrations(task: str) -> None:
    expert, demos = spacil.load_expert(task), spacil.load_demos(task)
    assert expert.task == task
    assert expert.policy.num_states == TASKS[task].num_states
    assert demos.actions is not None
    with torch.no_grad():
        actions = expert.policy.mean(demos.states)
    # Float32 in other batches differs in the last bits, which a few layers amplify.
    assert torch.allclose(actions, demos.actions, rtol=1e-3, atol=1e-3)
    action = expert.policy.predict(demos.observations[0].numpy())
    assert action.shape == (TASKS[task].num_actions,)


def test_an_expert_that_is_not_bundled_is_refused() -> None:
    with pytest.raises(DataError, match="no expert is bundled for 'CartPole-v1'; bundled tasks: "):
        spacil.load_expert("CartPole-v1")
