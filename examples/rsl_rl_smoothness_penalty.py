"""rsl_rl's PPO with spacil's exact policy penalty, on a cart that has to come to rest.

python examples/rsl_rl_smoothness_penalty.py          half a minute on one core
python examples/rsl_rl_smoothness_penalty.py --quick  some seconds

The runner, its settings and its loop are rsl_rl's own; `spacil.attach_to_rsl_rl` is the one line
that is added. In Isaac Lab the runner is the one that its train script makes.
"""

import argparse
import contextlib
import io
from typing import Any

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
from torch import Tensor

import spacil
from spacil.smoothness.metric import local_lipschitz

EPISODE_STEPS = 40


class Carts(VecEnv):
    """Carts on a rail, all stepped at once: place and velocity in, a push out, paid for rest."""

    def __init__(self, num_envs: int, seed: int = 0) -> None:
        self.num_envs, self.num_actions = num_envs, 1
        self.max_episode_length, self.device = EPISODE_STEPS, "cpu"
        self.cfg: dict[str, Any] = {}
        self.generator = torch.Generator().manual_seed(seed)
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self.states = self._starts()

    def get_observations(self) -> TensorDict:
        return TensorDict({"policy": self.states.clone()}, batch_size=[self.num_envs])

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict[str, Any]]:
        place, velocity = self.states.T
        velocity = velocity + 0.2 * actions[:, 0].clamp(-1, 1)
        self.states = torch.stack([place + 0.2 * velocity, velocity], dim=1)
        rewards = -self.states.square().sum(1)
        self.episode_length_buf += 1
        is_over = self.episode_length_buf >= self.max_episode_length
        self.states = torch.where(is_over[:, None], self._starts(), self.states)
        self.episode_length_buf[is_over] = 0
        return self.get_observations(), rewards, is_over, {"time_outs": is_over}

    def _starts(self) -> Tensor:
        return 2 * torch.rand(self.num_envs, 2, generator=self.generator) - 1


def settings() -> dict[str, Any]:
    """A train_cfg as rsl_rl's README has it, made small."""
    net = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "tanh"}
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0}
    return {
        "num_steps_per_env": EPISODE_STEPS,
        "save_interval": 1_000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**net, "obs_normalization": True, "distribution_cfg": gaussian},
        "critic": {**net, "obs_normalization": True},
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 5, "num_mini_batches": 4},
    }


def train(weight: float, num_iterations: int) -> tuple[float, float]:
    """(reward per step, J) of one run, both with mean actions; the runs share their seed."""
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints a table per iteration
        runner = OnPolicyRunner(Carts(64), settings(), device="cpu")
        if weight > 0:
            spacil.attach_to_rsl_rl(runner, weight=weight)
        runner.learn(num_iterations)
    actor = runner.get_inference_policy()

    def mean_action(states: Tensor) -> Tensor:
        return actor(TensorDict({"policy": states}, batch_size=[len(states)]))

    env, visited, rewards = Carts(64, seed=1), [], []
    with torch.no_grad():
        for _ in range(EPISODE_STEPS):
            visited.append(env.states)
            rewards.append(env.step(mean_action(env.states))[1])
    slopes = local_lipschitz(mean_action, torch.cat(visited))
    return float(torch.cat(rewards).mean()), float(slopes.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="8 iterations instead of 100")
    parser.add_argument("--weight", type=float, default=0.03, help="of the penalty")
    options = parser.parse_args()
    torch.set_num_threads(1)  # nets and batches this small do not pay for a second one
    for weight in (0.0, options.weight):
        reward, j = train(weight, 8 if options.quick else 100)
        print(f"weight {weight:<6g} reward per step {reward:8.3f}   J {j:.3f}", flush=True)


if __name__ == "__main__":
    main()
