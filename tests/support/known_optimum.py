"""Tasks of a few numbers whose best policy is known, and demonstrations of it."""

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray

from spacil.demos.demonstrations import Demonstrations
from spacil.nets.policy import GaussianPolicy

NUM_STEPS = 5
BEST_SLOPE = 0.6


def best_actions(states: NDArray[Any]) -> NDArray[Any]:
    """Half-way out, on the side that the first number is on: [B, 1] from [B, 2]."""
    return BEST_SLOPE * states[:, :1]


class Follow(gymnasium.Env[Any, Any]):
    """Shows two numbers drawn anew at every step; the best action is 0.6 times the first."""

    observation_space = Box(-1, 1, (2,), dtype=np.float64)
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.num_steps = 0
        return self._draw(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        error = float(action[0]) - float(best_actions(self.state[None])[0, 0])
        self.num_steps += 1
        return self._draw(), -(error**2), False, self.num_steps == NUM_STEPS, {}

    def _draw(self) -> NDArray[Any]:
        self.state: NDArray[Any] = self.np_random.uniform(-1, 1, size=2)
        return self.state


class PaidLater(gymnasium.Env[Any, Any]):
    """The first action is the pay, and it comes with the last step; later actions do nothing."""

    observation_space = Box(0, 1, (2,), dtype=np.float64)
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.num_steps, self.first = 0, 0.0
        return self._look(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.num_steps == 0:
            self.first = float(action[0])
        self.num_steps += 1
        is_last = self.num_steps == NUM_STEPS
        return self._look(), self.first if is_last else 0.0, is_last, False, {}

    def _look(self) -> NDArray[Any]:
        return np.array([float(self.num_steps == 0), self.num_steps / NUM_STEPS])


def demonstrations(num_episodes: int = 60) -> Demonstrations:
    """The best actions of `Follow` with a little noise, as any demonstrator has it."""
    draws = np.random.default_rng(0)
    states = draws.uniform(-1, 1, size=(num_episodes, NUM_STEPS + 1, 2))
    actions = [
        best_actions(episode[:-1]) + draws.normal(0, 0.05, size=(NUM_STEPS, 1))
        for episode in states
    ]
    return Demonstrations.from_arrays(list(states), actions, actions=actions)


def distance_from_best(policy: GaussianPolicy) -> float:
    """Mean |mean action - best action| on a grid of states; 0.3 for the policy that does 0."""
    side = np.linspace(-1, 1, 21)
    states = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    with torch.no_grad():
        found = policy.mean(torch.as_tensor(states, dtype=torch.float32))
    return float(np.abs(found.numpy() - best_actions(states)).mean())
