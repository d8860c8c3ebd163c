"""A reference that owes nothing to our simulator: plain Gymnasium envs, one at a time."""

import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import Tensor

from spacil.envs.mujoco_tasks import MujocoTask
from spacil.envs.native_batch import route_warnings_to_log
from spacil.envs.vector_env import ResetSeeds, Step

SEEDS = ResetSeeds(root_seed=7, stream="test")
READS = ("item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__", "__index__")
"""Methods of a tensor that bring numbers to the host"""


@pytest.fixture(scope="session", autouse=True)
def _no_mujoco_log_file() -> None:
    route_warnings_to_log()


def make_reference_env(task: MujocoTask) -> gymnasium.Env:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # v4 is "out of date"
        return gymnasium.make(task.gymnasium_id, disable_env_checker=True, **task.kwargs)


class GymnasiumReference:
    """Reset and step as our envs promise to, by the shortest code that can."""

    def __init__(self, task: MujocoTask, num_envs: int, seeds: ResetSeeds) -> None:
        self.envs = [make_reference_env(task) for _ in range(num_envs)]
        self.seeds = seeds
        self.episodes = [0] * num_envs
        self.states = np.zeros((num_envs, task.num_states))

    def reset(self) -> Tensor:
        for i, env in enumerate(self.envs):
            self.states[i], _ = env.reset(seed=self.seeds(i, self.episodes[i]))
        return torch.from_numpy(self.states.copy())

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        final_states = self.states.copy()
        rewards = np.zeros(len(self.envs))
        terminated = np.zeros(len(self.envs), dtype=bool)
        truncated = np.zeros(len(self.envs), dtype=bool)
        for i, env in enumerate(self.envs):
            if active is None or active[i]:
                final_states[i], rewards[i], terminated[i], truncated[i], _ = env.step(
                    actions[i].numpy()
                )
                self.states[i] = final_states[i]
            if terminated[i] or truncated[i]:
                self.episodes[i] += 1
                self.states[i], _ = env.reset(seed=self.seeds(i, self.episodes[i]))
        arrays = (self.states.copy(), final_states, rewards, terminated, truncated)
        return Step(*map(torch.from_numpy, arrays))


@pytest.fixture
def seeds() -> ResetSeeds:
    return SEEDS


@pytest.fixture
def reference() -> Callable[[MujocoTask, int], GymnasiumReference]:
    return lambda task, num_envs: GymnasiumReference(task, num_envs, SEEDS)


@pytest.fixture
def reference_env() -> Callable[[MujocoTask], gymnasium.Env]:
    return make_reference_env


@pytest.fixture
def assert_same_step() -> Callable[[Step, Step, str], None]:
    """Difference exactly 0 in everything a step returns."""

    def check(ours: Step, theirs: Step, where: str) -> None:
        for name, left in vars(ours).items():
            right = getattr(theirs, name)
            assert left.dtype == right.dtype, f"{name} {where}"
            assert torch.equal(left, right), f"{name} {where}: {(left * 1.0 - right).abs().max()}"

    return check


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Reads by the host so far, by the function that asked."""
    found: Counter[str] = Counter()

    def counted(name: str) -> Any:
        original = getattr(torch.Tensor, name)

        def read(tensor: torch.Tensor, *args: Any, **how: Any) -> Any:
            frames = traceback.extract_stack()
            found[next(f.name for f in frames[-2::-1] if "spacil" in f.filename)] += 1
            return original(tensor, *args, **how)

        return read

    for name in READS:
        monkeypatch.setattr(torch.Tensor, name, counted(name))
    return found
