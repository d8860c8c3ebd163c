"""Envs that misbehave on purpose, as `--task odd_envs:<Name>-v0` finds them."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

MADE = Path("an-env-was-made")
"""Made in the working folder by every new env: whether one was made can be seen from outside."""
CHILD = Path("the-child-of-an-env")
"""Holds the number of the process that an env forked."""


class Odd(gymnasium.Env[NDArray[Any], NDArray[np.float32]]):
    """Noise for observations and a small reward, in episodes of 20 steps, but for its oddity."""

    observation_space = Box(-np.inf, np.inf, (4,), dtype=np.float64)
    action_space = Box(-1, 1, (2,))

    def __init__(self, oddity: str) -> None:
        self.oddity = oddity
        MADE.touch()
        if oddity == "ExitsInit":
            sys.exit(0)
        if oddity == "HangsInit":
            time.sleep(3600)
        if oddity == "ChangesFolder":
            Path("elsewhere").mkdir(exist_ok=True)
            os.chdir("elsewhere")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.elapsed = 0
        if self.oddity == "ExitsReset":
            sys.exit(0)
        if self.oddity == "Forks" and not CHILD.exists():
            child = os.fork()
            if child == 0:
                time.sleep(20)
                os._exit(0)
            CHILD.write_text(str(child))
        return self.observe(), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        self.elapsed += 1
        reward = -float(np.square(action).sum())
        if self.oddity == "Raises" and self.elapsed == 5:
            raise ValueError("the motor is unplugged")
        if self.oddity == "ExitsStep" and self.elapsed == 5:
            sys.exit(0)
        # Sampled actions are large; the mean ones of an evaluation before training are not.
        is_training = float(np.abs(action).max()) > 0.1
        if self.oddity == "Hangs" and self.elapsed == 15 and is_training:
            time.sleep(3600)
        if self.oddity == "Aborts" and self.elapsed == 15 and is_training:
            os.abort()  # as an assertion in native code does
        return self.observe(), reward, False, False, {}

    def observe(self) -> NDArray[Any]:
        observation = self.np_random.normal(size=4)
        match self.oddity:
            case "Constant":
                observation[1:3] = 7.0
            case "Noise":
                observation += np.random.default_rng().normal(size=4)
            case "Huge":
                observation *= 1e30
        return observation

    def close(self) -> None:
        if self.oddity == "HangsClose":
            time.sleep(3600)
        if self.oddity == "RaisesClose":
            raise RuntimeError("the port is gone")
        if self.oddity == "ExitsClose":
            sys.exit(3)


ODDITIES = (
    *("Plain", "Constant", "Huge", "Raises", "Hangs", "Aborts", "Noise", "Forks", "ChangesFolder"),
    *("ExitsInit", "ExitsReset", "ExitsStep", "ExitsClose", "HangsInit", "HangsClose"),
    "RaisesClose",
)
for name in ODDITIES:
    gymnasium.register(
        f"{name}-v0", Odd, max_episode_steps=20, kwargs={"oddity": name}, disable_env_checker=True
    )
