"""An env that keeps a core busy for 5 ms a step: what a slow simulator of one's own costs."""

import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

SECONDS_PER_STEP = 0.005


class BusyEnv(gymnasium.Env[Any, Any]):
    """Counts processor time, not the clock's: two of them on one core take twice as long."""

    observation_space = Box(-np.inf, np.inf, (11,), dtype=np.float64)
    action_space = Box(-1.0, 1.0, (3,), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._state = self.np_random.normal(size=11)
        return self._state.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        until = time.thread_time() + SECONDS_PER_STEP
        while time.thread_time() < until:
            pass
        self._state = 0.9 * self._state + 0.1 * np.resize(action, 11)
        return self._state.copy(), 0.0, False, False, {}
