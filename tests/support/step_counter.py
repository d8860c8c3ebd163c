"""An env whose state says all of its past: the steps so far, and the action executed last."""

import torch
from torch import Tensor

from spacil.envs.vector_env import EnvSpec, Step


class Counter:
    """Two envs whose state is (steps so far, last executed action); they end after 5 and 7."""

    def __init__(self) -> None:
        bounds = torch.ones(1).numpy()
        self.spec = EnvSpec("Counter", 2, 1, -bounds, bounds, 7, None)
        self.num_envs, self.device = 2, torch.device("cpu")
        self.state = torch.zeros(2, 2)
        self.limits = torch.tensor([5, 7])

    def reset(self, first_episode: int = 0) -> Tensor:
        self.state = torch.zeros(2, 2)
        return self.state.clone()

    def step(self, actions: Tensor, active: Tensor | None = None) -> Step:
        final = torch.stack([self.state[:, 0] + 1, actions[:, 0]], dim=1)
        is_over = final[:, 0] >= self.limits
        self.state = torch.where(is_over.unsqueeze(1), 0.0, final)
        return Step(self.state.clone(), final, actions[:, 0], is_over, torch.zeros_like(is_over))

    def save_state(self) -> dict[str, Tensor]:
        return {"state": self.state.clone()}

    def load_state(self, state: dict[str, Tensor]) -> Tensor:
        self.state = state["state"].clone()
        return self.state

    def close(self) -> None: ...
