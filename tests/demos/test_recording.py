"""Recording: whole episodes in a fixed order, both forms of actions, and exact replay."""

import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from replay import assert_replays
from torch import Tensor

from spacil.demos.demonstrations import Demonstrations
from spacil.demos.metadata import DemoMetadata
from spacil.demos.recording import record_demonstrations
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.errors import ConfigError

MakeEnv = Callable[[int], Any]


def _expert(states: Tensor) -> Tensor:
    """Raw actions well beyond the toy's bounds of 1, different for every state."""
    env, episode, step = states.T
    return torch.stack([env - 1.5 * step, 3.0 - episode], dim=1)


def test_episodes_are_whole_and_numbered_by_wave_and_env(toy_env: MakeEnv) -> None:
    env = toy_env(3)
    calls: list[tuple[int, int]] = []
    provenance = {"policy": "toy", "seed": 7}
    demos = record_demonstrations(env, _expert, 5, provenance, lambda *counts: calls.append(counts))
    assert calls == [(3, 5), (5, 5)]
    first_states = [episode.observations[0].tolist() for episode in demos.episodes]
    assert first_states == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert demos.episode_lengths.tolist() == [2, 3, 4, 3, 4]
    episode = demos.episodes[3]  # env 0, its second episode, 3 steps
    assert episode.observations.tolist() == [[0, 1, 0], [0, 1, 1], [0, 1, 2], [0, 1, 3]]
    assert episode.actions.tolist() == [[0.0, 2.0], [-1.5, 2.0], [-3.0, 2.0]]
    assert episode.executed_actions.tolist() == [[0.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]]
    assert episode.is_terminated and not episode.is_truncated
    assert episode.initial_qpos.tolist() == [0.0]
    assert demos.episodes[0].is_truncated
    assert demos.metadata == DemoMetadata("Toy-v0", env.spec.fingerprint, provenance)


def test_an_env_without_start_states_is_recorded_without_them(toy_env: MakeEnv) -> None:
    class Bare:
        def __init__(self) -> None:
            env = toy_env(2)
            self.spec, self.num_envs, self.device = env.spec, env.num_envs, env.device
            self.reset, self.step = env.reset, env.step
            self.save_state, self.load_state, self.close = env.save_state, env.load_state, env.close

    demos = record_demonstrations(Bare(), _expert, 2, {})
    assert "initial_qpos" not in demos.tensors()
    assert demos.num_episodes == 2


def test_endless_episodes_are_refused(toy_env: MakeEnv) -> None:
    env = toy_env(2)
    object.__setattr__(env.spec, "horizon", None)
    with pytest.raises(ConfigError, match="no time limit, so an episode may never end"):
        record_demonstrations(env, _expert, 1, {})


def _record(task: str, num_episodes: int, num_threads: int = 1) -> Demonstrations:
    """A linear policy that leaves the action bounds often; bits do not depend on the batch."""
    env = make_vector_env(task, 3, ResetSeeds(0, "demos"), num_threads)
    draws = np.random.default_rng(0).normal(size=(env.spec.num_states, env.spec.num_actions))
    weights = torch.from_numpy(draws)

    def act(states: Tensor) -> Tensor:
        return (states.double().unsqueeze(-1) * weights).sum(1)

    try:
        return record_demonstrations(env, act, num_episodes, {"policy": "linear", "seed": 0})
    finally:
        env.close()


@pytest.fixture
def _gymnasium_without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gymnasium imports imageio beside its physics; a replay draws nothing."""
    if importlib.util.find_spec("imageio") is None:
        monkeypatch.setitem(sys.modules, "imageio", types.ModuleType("imageio"))


@pytest.mark.filterwarnings("ignore:.*out of date.*")
@pytest.mark.usefixtures("_gymnasium_without_pictures")
@pytest.mark.parametrize("task", ["Hopper-v4", "Reacher-v4", "Ant-v4"])
def test_replay_in_gymnasium_gives_the_stored_rewards_exactly(task: str) -> None:
    assert_replays(_record(task, num_episodes=4), task, [0, 1, 2, 3], is_exact=True)


def test_a_seed_repeats_bit_for_bit_on_any_number_of_threads() -> None:
    once, again = _record("Hopper-v4", 4), _record("Hopper-v4", 4, num_threads=2)
    assert once.content_hash == again.content_hash
    assert torch.equal(_record("Hopper-v4", 2).observations, once.first(2).observations)
