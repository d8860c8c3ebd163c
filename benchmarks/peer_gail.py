"""The peer's side of peer.py: imitation's GAIL on sb3-contrib's TRPO. Runs in its own environment.

Imports nothing of spacil. Told on its standard input what to do, one word per line, and answers
with one line of JSON: `round` (train for one iteration), `evaluate`, `stop`.
"""

import argparse
import json
import sys
import time
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from imitation.algorithms.adversarial.gail import GAIL
from imitation.data.types import Trajectory
from imitation.rewards.reward_nets import BasicRewardNet
from imitation.util import logger
from imitation.util.networks import RunningNorm
from sb3_contrib import TRPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

VECTOR_ENVS = {"dummy": DummyVecEnv, "subproc": SubprocVecEnv}
CRITIC_MINIBATCH = 1_000


class StopTrainingError(Exception):
    """The other side has seen enough."""


def load_trajectories(path: str) -> list[Trajectory]:
    """Arrays observations_<i> [T + 1, S] and actions_<i> [T, A]."""
    with np.load(path) as arrays:
        count = sum(name.startswith("actions_") for name in arrays)
        return [
            Trajectory(arrays[f"observations_{i}"], arrays[f"actions_{i}"], None, terminal=False)
            for i in range(count)
        ]


def make_envs(kind: str, task: str, count: int) -> VecEnv:
    makers = [partial(gymnasium.make, task) for _ in range(count)]
    return VECTOR_ENVS[kind](makers)


def make_trainer(options: argparse.Namespace, venv: VecEnv) -> GAIL:
    """The same networks, batch, conjugate gradient and discriminator steps as ours."""
    policy = TRPO(
        "MlpPolicy",
        venv,
        n_steps=options.batch // options.envs,
        batch_size=CRITIC_MINIBATCH,
        n_critic_updates=5,
        cg_max_steps=10,
        cg_damping=0.01,
        target_kl=0.01,
        learning_rate=1e-3,
        gamma=0.995,
        gae_lambda=0.99,
        policy_kwargs={
            "net_arch": {"pi": [400, 300], "vf": [100, 100]},
            "activation_fn": torch.nn.Tanh,
        },
        seed=options.seed,
        device="cpu",
    )
    reward_net = BasicRewardNet(
        venv.observation_space,
        venv.action_space,
        hid_sizes=(100, 100),
        normalize_input_layer=RunningNorm,
    )
    return GAIL(
        demonstrations=load_trajectories(options.demos),
        demo_batch_size=options.batch,
        gen_train_timesteps=options.batch,
        gen_replay_buffer_capacity=options.batch,
        n_disc_updates_per_round=1,
        disc_opt_kwargs={"lr": 0.003},
        venv=venv,
        gen_algo=policy,
        reward_net=reward_net,
        allow_variable_horizon=True,
        custom_logger=logger.configure(options.logs, ["csv"]),
    )


def answer(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def obey(options: argparse.Namespace, policy: TRPO) -> None:
    """Answer until the next round is wanted."""
    for line in sys.stdin:
        command = line.strip()
        if command == "round":
            return
        if command == "stop":
            break
        env = make_envs("dummy", options.task, 1)
        mean, _ = evaluate_policy(policy, env, n_eval_episodes=options.episodes, warn=False)
        env.close()
        answer(average_return=float(mean))
    raise StopTrainingError


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="Hopper-v4")
    parser.add_argument("--demos", required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--kind", choices=sorted(VECTOR_ENVS), default="dummy")
    parser.add_argument("--batch", type=int, default=6_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    venv = make_envs(options.kind, options.task, options.envs)
    venv.seed(options.seed)
    trainer = make_trainer(options, venv)
    answer(ready=True)
    began = 0.0

    def after_round(_: int) -> None:
        nonlocal began
        answer(seconds=time.perf_counter() - began)
        obey(options, trainer.gen_algo)
        began = time.perf_counter()

    try:
        obey(options, trainer.gen_algo)
        began = time.perf_counter()
        trainer.train(options.rounds * options.batch, callback=after_round)
    except StopTrainingError:
        pass
    finally:
        venv.close()


if __name__ == "__main__":
    main()
