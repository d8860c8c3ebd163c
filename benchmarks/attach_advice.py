"""What to ask of `attach_to_sb3` first: PPO on Pendulum with targets and weights (docs/attach.md).

python benchmarks/attach_advice.py --seeds 0 1
"""

import argparse
import json
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import spacil

TASK, NUM_EPISODES = "Pendulum-v1", 40
NOTHING = {"weight": 1e-12}
"""A weight that is not felt: J is measured all the same"""


def trained(seed: int, num_steps: int, **asked: Any) -> dict[str, Any]:
    """Train with what is asked for; return, spread over episodes, and J at their end."""
    settings: dict[str, Any] = {"learning_rate": 1e-3, "batch_size": 128, "gamma": 0.9}
    env = make_vec_env(TASK, n_envs=4, seed=seed)
    model = PPO("MlpPolicy", env, seed=seed, device="cpu", n_steps=512, **settings)
    penalty = spacil.attach_to_sb3(model, num_states=64, **asked)
    model.learn(num_steps)
    fresh = make_vec_env(TASK, n_envs=4, seed=5_000)
    returns, _ = evaluate_policy(model, fresh, NUM_EPISODES, return_episode_rewards=True)
    spread = {"return": float(np.mean(returns)), "std": float(np.std(returns))}
    return {"seed": seed, "asked": asked, **spread, "j": penalty.j}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--steps", type=int, default=60_000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for seed in options.seeds:
        bare = trained(seed, options.steps, **NOTHING)
        asked = [{"target": share * bare["j"]} for share in (0.7, 0.5)]
        asked += [{"weight": weight} for weight in (1e-4, 1e-3)]
        for row in (bare, *(trained(seed, options.steps, **each) for each in asked)):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
