"""A GPU robot simulator in small: an rsl_rl `VecEnv` of point masses that chase a commanded speed.

Like Isaac Lab's and mjlab's it resets worlds that are over by itself, tells time-outs apart from
falls, keeps its clock in `episode_length_buf`, has observation groups, and actions without bounds.
"""

from typing import Any

import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict
from torch import Tensor

HORIZON = 50
REACH = 3.0
"""Distance from the origin at which a robot falls"""


class ToyRobots(VecEnv):
    """Push masses to the origin; the actor reads place and velocity, the critic a clock as well."""

    step_dt = 0.1

    def __init__(
        self, num_envs: int, device: str = "cpu", shows_final: bool = False, horizon: int = HORIZON
    ) -> None:
        self.num_envs, self.num_actions = num_envs, 2
        self.max_episode_length, self.device = horizon, device
        self.cfg: dict[str, Any] = {}
        self.shows_final = shows_final
        self.generator = torch.Generator().manual_seed(0)
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long, device=device)
        self.states = self._starts()

    def seed(self, seed: int) -> int:
        self.generator.manual_seed(seed)
        return seed

    def reset(self) -> tuple[TensorDict, dict[str, Any]]:
        self.states = self._starts()
        self.episode_length_buf = torch.zeros_like(self.episode_length_buf)
        return self.get_observations(), {}

    def get_observations(self) -> TensorDict:
        return self._shown(self.states)

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        places, velocities = self.states.chunk(2, dim=1)
        velocities = velocities + self.step_dt * actions
        states = torch.cat((places + self.step_dt * velocities, velocities), dim=1)
        distances = states[:, :2].square().sum(1)
        rewards = torch.exp(-distances) - 0.01 * actions.square().sum(1)
        self.episode_length_buf += 1
        is_late = self.episode_length_buf >= self.max_episode_length
        is_over = is_late | (distances > REACH**2)
        self.states = torch.where(is_over[:, None], self._starts(), states)
        self.episode_length_buf *= ~is_over
        extras: dict[str, Any] = {
            "time_outs": is_late,
            "log": {"Episode_Reward/near": torch.exp(-distances).mean()},
        }
        if self.shows_final:
            extras["final_obs"] = self._shown(states)
        return self.get_observations(), rewards, is_over.long(), extras

    def _shown(self, states: Tensor) -> TensorDict:
        clock = self.episode_length_buf[:, None] / self.max_episode_length
        groups = {"actor": states.clone(), "critic": torch.cat((states, clock), dim=1)}
        return TensorDict(groups, batch_size=[self.num_envs])

    def _starts(self) -> Tensor:
        places = 2 * torch.rand(self.num_envs, 2, generator=self.generator).to(self.device) - 1
        return torch.cat((places, torch.zeros_like(places)), dim=1)


def controller(states: Tensor) -> Tensor:
    """Drive to the origin."""
    return -2.0 * states[:, :2] - 2.5 * states[:, 2:]


def settings(**actor: Any) -> dict[str, Any]:
    """The config of an rsl_rl runner on these robots, small."""
    net = {"class_name": "MLPModel", "hidden_dims": [32, 16], "activation": "elu"}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 0.5}
    return {
        "num_steps_per_env": 10,
        "save_interval": 100,
        "obs_groups": {"actor": ["actor"], "critic": ["critic"]},
        "actor": {**net, "obs_normalization": True, "distribution_cfg": gaussian, **actor},
        "critic": net,
        "algorithm": {"class_name": "PPO"},
    }
