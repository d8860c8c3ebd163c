"""The picture of docs/concepts.md: one task, two policies, and what their J means.

Left: the mean action along the direction of the state in which it moves most, at a state whose
slope is the policy's J, with that slope as a line. Right: the same motor as it is driven while the
sensors are a little noisy. The policies are those that benchmarks/attach_ppo.py leaves behind.

    python benchmarks/j_picture.py --models attach_models --output docs/figures/what_j_is.png
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from torch import Tensor

from spacil.comparison.figures import plain_style, subplots
from spacil.demos.common_frame import CommonFrame
from spacil.demos.file import load_demos
from spacil.functional.sensitivity import batch_jacobian
from spacil.policies.open import open_policy

TASK, FRAME_OF = "Hopper-v5", "Hopper-v4"
COLOURS = {0.0: "#c8553d", 0.01: "#1f6f8b"}
LABELS = {0.0: "PPO", 0.01: "PPO with the penalty"}
NOISE = 0.1
"""Uniform, in standard deviations of each observation"""
MOTOR = 0
REACH, STEPS, FIRST_STEP = 1.0, 80, 100


@dataclass(frozen=True)
class Slice:
    """A motor's action along one line through the state space."""

    j: float
    distances: Tensor
    """[D] standard deviations"""
    changes: Tensor
    """[D] change of the motor's mean action"""
    slope: float


def load(models: Path, weight: float, seed: int) -> Any:
    name = f"ppo-{TASK}-weight{weight:g}-seed{seed}"
    statistics = str(models / f"{name}.vecnormalize.pkl")
    env = VecNormalize.load(statistics, make_vec_env(TASK))
    env.training = False
    return open_policy(PPO.load(models / f"{name}.zip", env=env, device="cpu"))


def played(policy: Any, std: Tensor, noise: float) -> tuple[Tensor, NDArray[np.float64]]:
    """States [T, S] and executed actions [T, A] of one episode with mean actions."""
    env = gymnasium.make(TASK)
    generator = np.random.default_rng(0)
    state, _ = env.reset(seed=0)
    states, actions = [], []
    for _ in range(FIRST_STEP + STEPS):
        seen = state + noise * generator.uniform(-1, 1, len(state)) * std.numpy()
        with torch.no_grad():
            action = policy.mean(torch.as_tensor(seen, dtype=torch.float32)[None])[0]
        actions.append(np.clip(action.numpy(), -1, 1))
        states.append(torch.as_tensor(state, dtype=torch.float32))
        state, _, terminated, _, _ = env.step(actions[-1])
        if terminated:
            break
    return torch.stack(states), np.stack(actions)


def typical_slice(policy: Any, std: Tensor) -> Slice:
    """Through the visited state whose constant is nearest to the mean over all of them."""
    states, _ = played(policy, std, 0.0)
    jacobians = batch_jacobian(policy.mean, states) * std.float()
    left, sigma, right = torch.linalg.svd(jacobians, full_matrices=False)
    j = float(sigma[:, 0].mean())
    typical = int((sigma[:, 0] - j).abs().argmin())
    motor = int(left[typical, :, 0].abs().argmax())
    direction = right[typical, 0] * left[typical, motor, 0].sign()
    distances = torch.linspace(-REACH, REACH, 201)
    points = states[typical] + distances[:, None] * direction * std.float()
    with torch.no_grad():
        actions = policy.mean(points)[:, motor]
    slope = float(jacobians[typical, motor] @ direction)
    return Slice(j, distances, actions - actions[100], slope)


@plain_style()
def draw(models: Path, seed: int, output: Path) -> None:
    std = CommonFrame.of(load_demos(FRAME_OF)).std
    figure, (along, over_time) = subplots(1, 2, figsize=(9.2, 3.4), width_ratios=[2, 3])
    for weight, colour in COLOURS.items():
        policy = load(models, weight, seed)
        found = typical_slice(policy, std)
        label = f"{LABELS[weight]}, J {found.j:.1f}"
        along.plot(found.distances, found.changes, color=colour, linewidth=2, label=label)
        near = found.distances[found.distances.abs() <= 0.3]
        along.plot(near, found.slope * near, color=colour, linestyle=":", linewidth=1.5)
        _, actions = played(policy, std, NOISE)
        over_time.plot(actions[FIRST_STEP:, MOTOR], color=colour, linewidth=1.5)
    along.set(
        title="The action when the state moves",
        xlabel="state, along its worst direction [std]",
        ylabel="change of the action",
        ylim=(-2.6, 2.6),
    )
    along.legend(frameon=False, fontsize=8, loc="lower right")
    over_time.set(
        title=f"One motor, sensors noisy by {NOISE} std", xlabel="step", ylabel="executed action"
    )
    figure.tight_layout()
    figure.savefig(output, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=Path("attach_models"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("docs/figures/what_j_is.png"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw(options.models, options.seed, options.output)


if __name__ == "__main__":
    main()
