"""An env of a user's own as a file in the working folder, and demonstrations of it."""

import sys
from pathlib import Path

import gymnasium
import numpy as np

SOURCE = '''
import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Cart(gymnasium.Env):
    """Push a mass to the origin."""

    observation_space = Box(-np.inf, np.inf, (2,), dtype=np.float64)
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1, 1, size=2)
        self.elapsed = 0
        return self.state.copy(), {}

    def step(self, action):
        position, speed = self.state
        self.state = np.array([position + 0.1 * speed, speed + 0.1 * float(action[0])])
        self.elapsed += 1
        return self.state.copy(), -float(self.state @ self.state), False, self.elapsed >= 20, {}


def make_cart():
    return Cart()


gymnasium.register("Cart-v0", Cart)
'''


def forget_own_env() -> None:
    """As in a new process."""
    sys.modules.pop("my_cart", None)
    gymnasium.registry.pop("Cart-v0", None)


def write_own_env(folder: Path, module: str = "my_cart") -> str:
    """Writes module.py, which registers Cart-v0; returns the name of its task."""
    (folder / f"{module}.py").write_text(SOURCE)
    return f"{module}:Cart-v0"


def write_own_demos(path: Path, num_episodes: int = 4) -> Path:
    """A damped push towards the origin, as npz."""
    generator = np.random.default_rng(0)
    states, actions, rewards = [], [], []
    for _ in range(num_episodes):
        state = generator.uniform(-1, 1, size=2)
        for _ in range(20):
            action = np.clip(-state @ [2.0, 2.0], -1, 1)
            states.append(state)
            actions.append([action])
            state = np.array([state[0] + 0.1 * state[1], state[1] + 0.1 * action])
            rewards.append(-float(state @ state))
    np.savez(
        path,
        states=np.array(states),
        actions=np.array(actions),
        rewards=np.array(rewards),
        episode_lengths=np.full(num_episodes, 20),
    )
    return path
