"""Stable-Baselines3 PPO with spacil's exact policy penalty added to its loss.

python examples/ppo_smoothness_penalty.py          a few minutes on two cores
python examples/ppo_smoothness_penalty.py --quick  some seconds: too short to learn the task

PPO.train stays as it is. Just before each step of the optimiser, the penalty's gradient joins the
gradient of PPO's own loss, which is what adding the penalty to the loss would do. PPO has clipped
its gradient by then; ours comes on top, unclipped.
"""

import argparse
from collections.abc import Callable

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from torch import Tensor

from spacil.smoothness.metric import local_lipschitz
from spacil.smoothness.policy_penalty import exact_policy_penalty

TASK = "Pendulum-v1"
NUM_PENALTY_STATES = 64
"""States of the rollout buffer, drawn anew for each optimiser step"""


class SmoothnessPenalty(BaseCallback):
    """PPO's loss + weight * E[sigma_max^2], sigma_max in action per unit of observation."""

    def __init__(self, weight: float, seed: int = 0) -> None:
        super().__init__()
        self.weight = weight
        self.generator = np.random.default_rng(seed)

    def _on_training_start(self) -> None:
        self.model.policy.optimizer.register_step_pre_hook(lambda *_: self.add_gradient())

    def _on_step(self) -> bool:
        return True

    def add_gradient(self) -> None:
        observations = self.model.rollout_buffer.observations
        observations = observations.reshape(-1, observations.shape[-1])
        rows = self.generator.integers(len(observations), size=NUM_PENALTY_STATES)
        states = torch.as_tensor(observations[rows], device=self.model.device)
        penalty = exact_policy_penalty(mean_action_of(self.model), states)
        (self.weight * penalty()).backward()


def mean_action_of(model: PPO) -> Callable[[Tensor], Tensor]:
    """The mean of PPO's Gaussian as a function of observations [B, S], with its graph."""

    def mean_action(observations: Tensor) -> Tensor:
        return model.policy.get_distribution(observations).distribution.mean

    return mean_action


def visited_states(model: PPO, num_steps: int) -> Tensor:
    """States the policy meets when it acts with its mean action."""
    env = make_vec_env(TASK, n_envs=4, seed=1_000)
    observations, visited = env.reset(), []
    for _ in range(num_steps):
        visited.append(observations)
        actions, _ = model.predict(observations, deterministic=True)
        observations, *_ = env.step(actions)
    env.close()
    return torch.as_tensor(np.concatenate(visited))


def train(weight: float, num_steps: int) -> tuple[float, float]:
    """(return, J) of one run; both runs share their seed."""
    env = make_vec_env(TASK, n_envs=4, seed=0)
    model = PPO(
        "MlpPolicy", env, 1e-3, n_steps=512, batch_size=128, gamma=0.9, seed=0, device="cpu"
    )
    model.learn(num_steps, callback=SmoothnessPenalty(weight) if weight > 0 else None)
    j = float(local_lipschitz(mean_action_of(model), visited_states(model, 200)).mean())
    average_return, _ = evaluate_policy(model, make_vec_env(TASK, n_envs=4, seed=2_000), 20)
    env.close()
    return float(average_return), j


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4,000 steps instead of 100,000")
    parser.add_argument("--weight", type=float, help="of the penalty")
    options = parser.parse_args()
    torch.set_num_threads(1)  # nets and batches this small do not pay for a second one
    num_steps, usual_weight = (4_000, 3e-3) if options.quick else (100_000, 1e-4)
    for weight in (0.0, usual_weight if options.weight is None else options.weight):
        average_return, j = train(weight, num_steps)
        print(f"weight {weight:<6g} return {average_return:8.1f}   J {j:.3f}", flush=True)


if __name__ == "__main__":
    main()
