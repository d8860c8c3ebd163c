"""A task of one number whose episodes have lengths, states and returns known in advance."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds, VectorEnv


class Countdown(gymnasium.Env[Any, Any]):
    """Shows how many steps are left, pays 1 for each; 0 left from the start: never ends."""

    observation_space = Box(-np.inf, np.inf, (1,), dtype=np.float64)
    action_space = Box(-1, 1, (1,))

    def __init__(self, longest: int) -> None:
        self.longest = longest

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(1, self.longest + 1)) if self.longest else 0
        return np.array([self.left], dtype=float), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        return np.array([self.left], dtype=float), 1.0, self.left == 0, False, {}


def countdown(num_envs: int, longest: int) -> VectorEnv:
    return make_vector_env(lambda: Countdown(longest), num_envs, ResetSeeds(0, "test"))
