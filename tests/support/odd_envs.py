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
        if oddity == "exits in init":
            sys.exit(0)
        if oddity == "hangs in init":
            time.sleep(3600)
        if oddity == "changes folder":
            Path("elsewhere").mkdir(exist_ok=True)
            os.chdir("elsewhere")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.elapsed = 0
        if self.oddity == "exits in reset":
            sys.exit(0)
        if self.oddity == "forks" and not CHILD.exists():
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
        reward = 0.0 if self.oddity == "nothing" else -float(np.square(action).sum())
        if self.oddity == "nan reward" and self.elapsed == 5:
            reward = float("nan")
        if self.oddity == "raises" and self.elapsed == 5:
            raise ValueError("the motor is unplugged")
        if self.oddity == "exits in step" and self.elapsed == 5:
            sys.exit(0)
        if self.oddity == "a reward of text":
            return self.observe(), "1.5", False, False, {}  # type: ignore[return-value]
        if self.oddity == "a complex reward":
            return self.observe(), 1 + 2j, False, False, {}  # type: ignore[return-value]
        if self.oddity == "a reward of 400 digits":
            return self.observe(), 10**400, False, False, {}
        # Sampled actions are large; the mean ones of an evaluation before training are not.
        is_training = float(np.abs(action).max()) > 0.1
        if self.oddity == "hangs" and self.elapsed == 15 and is_training:
            time.sleep(3600)
        if self.oddity == "aborts" and self.elapsed == 15 and is_training:
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
            case "text":
                return np.array(["1.0", "2.0", "3.0", "4.0"])
            case "complex":
                return observation + 1j
            case "400 digits":
                return [0, 10**400, 0, 0]  # type: ignore[return-value]
            case "wrong shape":
                if self.elapsed == 7:
                    return observation[:3]
        return observation

    def close(self) -> None:
        if self.oddity == "hangs in close":
            time.sleep(3600)
        if self.oddity == "raises in close":
            raise RuntimeError("the port is gone")
        if self.oddity == "exits in close":
            sys.exit(3)


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
    "ExitsInit": "exits in init",
    "ExitsReset": "exits in reset",
    "ExitsStep": "exits in step",
    "HangsInit": "hangs in init",
    "HangsClose": "hangs in close",
    "RaisesClose": "raises in close",
    "ExitsClose": "exits in close",
    "Forks": "forks",
    "ChangesFolder": "changes folder",
    "Text": "text",
    "Complex": "complex",
    "Digits": "400 digits",
    "TextReward": "a reward of text",
    "ComplexReward": "a complex reward",
    "DigitsReward": "a reward of 400 digits",
}
for name, oddity in ODDITIES.items():
    gymnasium.register(
        f"{name}-v0", Odd, max_episode_steps=20, kwargs={"oddity": oddity}, disable_env_checker=True
    )
