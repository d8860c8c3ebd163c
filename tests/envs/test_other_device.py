"""Robots on another device than the CPU: nothing meets that is not in one place."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

pytest.importorskip("rsl_rl")
from other_device import other_device
from toy_robots import ToyRobots, controller

import spacil
from spacil.engine.device import Recorder
from spacil.functional.sensitivity import batch_jacobian
from spacil.learning import on_policy

DEVICE = "cuda:0"
FEW: dict[str, Any] = {"num_envs": 8, "policy_hidden": (8,), "evaluation_steps": 40}


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(on_policy, "Recorder", lambda device: Recorder(torch.device("cpu")))
    with other_device():
        yield


def robots() -> ToyRobots:
    return ToyRobots(8, device=DEVICE, horizon=10)


def teacher(states: Any) -> Any:
    return controller(torch.from_numpy(states)).numpy()


def test_two_devices_do_not_mix() -> None:
    there = torch.ones(3, device=DEVICE)
    assert there.device == torch.device(DEVICE) and (there + 1).cpu().tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="on cuda:0 and on the CPU"):
        there + torch.ones(3)


def test_an_accelerators_jacobian_is_that_of_the_cpu() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    points = torch.linspace(-1, 1, 20).view(5, 4)
    expected = batch_jacobian(net, points)
    found = batch_jacobian(net.to(DEVICE), points.to(DEVICE))
    assert found.shape == (5, 3, 4)
    assert torch.allclose(found.cpu(), expected, rtol=1e-5, atol=1e-7)


def test_a_policy_is_smoothed_on_the_envs_device_and_handed_out_on_the_cpu() -> None:
    result = spacil.smooth(
        teacher, robots(), steps_per_iteration=80, iterations=2, fit_steps=6, episodes=4, **FEW
    )
    assert result.policy.log_std.device == torch.device("cpu")
    assert result.comparison.smooth.smoothness_j is not None


def test_training_evaluating_and_diagnosing_find_the_env_where_it_is() -> None:
    agent = spacil.TRPO(robots(), steps_per_iteration=160, device=DEVICE, policy_step="ppo", **FEW)
    agent.learn(iterations=1)
    assert agent.evaluate(episodes=4).num_episodes == 4
    assert spacil.diagnose(teacher, robots(), episodes=2).findings
    agent.close()
