"""An env of another device for those who act and measure on the CPU: filters, noise, teachers."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spacil.envs.vector_env import Step, VectorEnv


class OnHost:
    """The same env; what it takes and returns is on the CPU."""

    device = torch.device("cpu")

    def __init__(self, env: VectorEnv) -> None:
        self.env, self.spec, self.num_envs = env, env.spec, env.num_envs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, first_episode: int = 0) -> Tensor:
        return self.env.reset(first_episode).cpu()

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        device = self.env.device
        step = self.env.step(actions.to(device), None if active is None else active.to(device))
        return Step(*(tensor.cpu() for tensor in vars(step).values()))

    def save_state(self) -> dict[str, Tensor]:
        return self.env.save_state()

    def load_state(self, state: Mapping[str, Tensor]) -> Tensor:
        return self.env.load_state(state).cpu()

    def close(self) -> None:
        self.env.close()


def on_host(env: VectorEnv) -> VectorEnv:
    """The env as the CPU sees it: itself where it is there."""
    return env if env.device.type == "cpu" else OnHost(env)
