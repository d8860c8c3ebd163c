"""Envs that misbehave on purpose, as `--task odd_envs:<Name>-v0` finds them."""

import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

MADE = Path("an-env-was-made")
"""Made in the working folder by every new env: whether one was made can be seen from outside."""


class Odd(gymnasium.Env[NDArray[Any], NDArray[np.float32]]):
    """Noise for observations and a small reward, in episodes of 20 steps, but for its oddity."""

    observation_space = Box(-np.inf, np.inf, (4,), dtype=np.float64)
    action_space = Box(-1, 1, (2,))

    def __init__(self, oddity: str) -> None:
        self.oddity = oddity
        MADE.touch()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.elapsed = 0
        return self.observe(), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        self.elapsed += 1
        reward = 0.0 if self.oddity == "nothing" else -float(np.square(action).sum())
        if self.oddity == "nan reward" and self.elapsed == 5:
            reward = float("nan")
        if self.oddity == "raises" and self.elapsed == 5:
            raise ValueError("the motor is unplugged")
        if self.oddity == "hangs" and self.elapsed == 15:
            time.sleep(3600)
        if self.oddity == "aborts" and self.elapsed == 15:
            os.abort()  # as an assertion in native code does
        return self.observe(), reward, False, False, {}

    def observe(self) -> NDArray[Any]:
        observation = self.np_random.normal(size=4)
        match self.oddity:
            case "nothing":
                observation[:] = 0.0
            case "constant":
                observation[1:3] = 7.0
            case "noise":
                observation += np.random.default_rng().normal(size=4)
            case "huge":
                observation *= 1e30
            case "beyond float32":
                observation[1] = 1e39
            case "nan":
                if self.elapsed == 7:
                    observation[2] = np.nan
            case "wrong shape":
                if self.elapsed == 7:
                    return observation[:3]
        return observation


ODDITIES = {
    "Plain": "none",
    "Nothing": "nothing",
    "Constant": "constant",
    "Huge": "huge",
    "BeyondFloat32": "beyond float32",
    "Nan": "nan",
    "WrongShape": "wrong shape",
    "NanReward": "nan reward",
    "Raises": "raises",
    "Hangs": "hangs",
    "Aborts": "aborts",
    "Noise": "noise",
}
for name, oddity in ODDITIES.items():
    gymnasium.register(
        f"{name}-v0", Odd, max_episode_steps=20, kwargs={"oddity": oddity}, disable_env_checker=True
    )
