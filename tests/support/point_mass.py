"""A cart on a rail: two numbers of state, one of action, and a teacher that brings it to zero."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

HORIZON = 40


class PointMass(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """x' = v, v' = a; paid for being near zero."""

    def __init__(self, action_scale: float = 1.0) -> None:
        self.scale = action_scale
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(-action_scale, action_scale, (1,), np.float32)
        self.state = np.zeros(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1, 1, 2)
        return self.state.astype(np.float32), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        x, v = self.state
        v = v + 0.2 * float(action[0]) / self.scale
        self.state = np.array([x + 0.2 * v, v])
        return self.state.astype(np.float32), -float(self.state[0] ** 2), False, False, {}


def make_point_mass() -> gymnasium.Env[Any, Any]:
    return TimeLimit(PointMass(), HORIZON)


def make_strong_point_mass() -> gymnasium.Env[Any, Any]:
    return TimeLimit(PointMass(action_scale=4.0), HORIZON)


def jerky_teacher(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """A controller with far too much gain, and a ripple along the state."""
    aim = -1.0 * states[:, :1] - 1.5 * states[:, 1:]
    return aim + 0.15 * np.sin(40 * states[:, :1])
