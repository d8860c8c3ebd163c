"""A simulator in torch: any number of point masses on a plane, all on one device.

What an env for a GPU looks like: every method is a few tensor operations over all worlds, and
nothing waits for the device.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from spacil.envs.registry import EnvOptions
from spacil.envs.vector_env import EnvSpec, ResetSeeds, Step

HORIZON = 50
DT = 0.1
REACH = 3.0
"""Distance from the origin at which an episode ends"""


class TorchWorlds:
    """Push masses to the origin: states are places and velocities, actions accelerations."""

    def __init__(self, task: object, num_envs: int, seeds: ResetSeeds, options: EnvOptions) -> None:
        bounds = np.ones(2, dtype=np.float32)
        self.spec = EnvSpec(str(task), 4, 2, -bounds, bounds, HORIZON, DT)
        self.num_envs, self.device = num_envs, torch.device(options.device)
        self._phase = (seeds(0, 0) % 1_000_003) / 1_000_003
        self._ids = torch.arange(num_envs, device=self.device, dtype=torch.float64)
        self._states = torch.zeros(num_envs, 4, device=self.device)
        self._episodes = torch.zeros(num_envs, device=self.device, dtype=torch.int64)
        self._elapsed = torch.zeros_like(self._episodes)

    def reset(self, first_episode: int = 0) -> Tensor:
        self._episodes.fill_(first_episode)
        self._elapsed.zero_()
        self._states = self._starts()
        return self._states

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        places, velocities = self._states.chunk(2, dim=1)
        velocities = velocities + DT * actions
        final = torch.cat((places + DT * velocities, velocities), dim=1)
        distances = final[:, :2].square().sum(1)
        self._elapsed += 1
        terminated = distances > REACH**2
        truncated = self._elapsed >= HORIZON
        ended = terminated | truncated
        self._episodes += ended
        self._elapsed *= ~ended
        self._states = torch.where(ended[:, None], self._starts(), final)
        return Step(self._states, final, -distances.double(), terminated, truncated)

    def save_state(self) -> dict[str, Tensor]:
        state = {"states": self._states, "episodes": self._episodes, "elapsed_steps": self._elapsed}
        return {name: tensor.clone() for name, tensor in state.items()}

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        self._states = state["states"].to(self.device)
        self._episodes = state["episodes"].to(self.device)
        self._elapsed = state["elapsed_steps"].to(self.device)
        return self._states

    def close(self) -> None:
        pass

    def _starts(self) -> Tensor:
        """Places in [-1, 1], at rest, from a hash of world and episode: no generator, no state."""
        angles = self._ids * 12.9898 + self._episodes * 78.233 + self._phase
        columns = [(torch.sin(angles + 1.7 * k) * 43_758.5453).frac() for k in range(2)]
        places = torch.stack(columns, dim=1).float()
        return torch.cat((places, torch.zeros_like(places)), dim=1)
