"""What the package brings along: demonstrations that replay, and the experts who gave them."""

import shutil
import subprocess
import sys
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


@pytest.mark.slow
def test_an_installed_wheel_brings_everything_along(tmp_path: Path) -> None:
    """Built from a copy, installed into a folder of its own, and used from elsewhere."""
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, source)
    (wheel,) = tmp_path.glob("spacil-*.whl")
    assert wheel.stat().st_size < 20 * 2**20
    site = tmp_path / "site"
    _pip("install", "--no-deps", "--target", site, wheel)
    script = f"""
import sys
sys.path.insert(0, {str(site)!r})
import spacil
assert spacil.__file__.startswith({str(site)!r}), spacil.__file__
from spacil.demos.file import bundled_demos
for task in sorted(bundled_demos()):
    demos, expert = spacil.load_demos(task), spacil.load_expert(task)
    assert expert.policy.predict(demos.observations[0].numpy()).shape == (demos.num_actions,)
    print(task)
import numpy as np
np.savez("mine.npz", observations=np.ones((3, 2)), actions=np.ones((2, 1)))
assert spacil.load_demos("mine.npz").num_steps == 2  # the importer's child is installed too
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == BUNDLED


def _pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
