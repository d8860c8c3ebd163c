"""Envs that live on the device: collecting and updating never leave it."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch_worlds import HORIZON, TorchWorlds

import spacil
from spacil.demos.recording import record_demonstrations
from spacil.envs.registry import BACKENDS, make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.learning import on_policy

TASK = "worlds/PointMass-v0"


@pytest.fixture(autouse=True)
def _worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "worlds", TorchWorlds)


def controller(states: torch.Tensor) -> torch.Tensor:
    return -1.0 * states[:, :2] - 1.5 * states[:, 2:]


def test_thousands_of_worlds_are_collected_and_learned_from_without_leaving_the_device(
    reads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make_vector_env(TASK, 4, ResetSeeds(0, "demos"))
    demos = record_demonstrations(env, controller, 4, {})
    agent = spacil.SPaCIL(
        TASK,
        demonstrations=demos,
        preset="plain",
        num_envs=4_096,
        steps_per_iteration=2 * 4_096,
        policy_hidden=(8,),
        value_epochs=1,
        discriminator_steps=1,
    )
    learner: Any = agent._learner
    assert isinstance(learner.env, TorchWorlds)
    in_collecting: list[int] = []

    def collect(*arguments: Any) -> Any:
        before = reads.total()
        found = on_policy_collect(*arguments)
        in_collecting.append(reads.total() - before)
        return found

    on_policy_collect = on_policy.collect
    monkeypatch.setattr(on_policy, "collect", collect)
    learner.iterate()
    reads.clear()
    metrics = learner.iterate()
    assert in_collecting == [0, 0]
    # The step's report and its line search, the reports of critic, discriminator and policy, and
    # the episodes that ended: as many whatever the number of worlds.
    assert reads.keys() <= {"read_together", "search", "move", "loss_here", "count"}
    assert reads.total() < 25
    assert metrics["env_steps"] == 2 * 2 * 4_096
    agent.close()


def test_it_learns_and_is_evaluated_saved_and_resumed(tmp_path: Any) -> None:
    settings: dict[str, Any] = {"num_envs": 64, "steps_per_iteration": 64 * HORIZON}
    agent = spacil.TRPO(TASK, evaluation_interval=5, **settings)
    before = agent.evaluate(episodes=20).average_return
    agent.learn(iterations=5, run_dir=tmp_path / "run")
    after = agent.evaluate(episodes=20)
    assert after.average_return > before + 1
    assert after.mean_length == HORIZON
    agent.close()
    resumed = spacil.TRPO(TASK, evaluation_interval=5, **settings)
    resumed.learn(iterations=6, run_dir=tmp_path / "run")
    assert resumed._learner.counters.iteration == 6
    resumed.close()


def test_an_episode_starts_alike_whenever_it_is_asked_for() -> None:
    env = make_vector_env(TASK, 8, ResetSeeds(3, "env"))
    first, second = env.reset(0).clone(), env.reset(1).clone()
    assert not torch.equal(first, second)
    assert torch.equal(env.reset(0), first)
    for _ in range(HORIZON):
        step = env.step(torch.zeros(8, 2))
    assert step.truncated.all() and torch.equal(step.observations, second)
    assert first.abs().max() < 1
