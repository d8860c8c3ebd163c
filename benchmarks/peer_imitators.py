"""The peer's side of peers_scarce.py: imitation's GAIL, AIRL and BC. Runs in its own environment.

Imports nothing of spacil. Settings are the tuned ones that imitation publishes for the seals twins
of the tasks: benchmarking/example_{gail,airl,bc}_seals_{hopper,half_cheetah}_best_hp_eval.json of
HumanCompatibleAI/imitation at 0ba4d66. What they leave open is as its training scripts have it:
eight envs, normalised rewards, Adam at its own rate for the discriminator. What had to change:

- gymnasium's Hopper ends when the hopper falls, the seals one does not: variable horizons allowed
  (and neither task shows the x position, which seals does);
- a batch of demonstrations may exceed the demonstrations: they are repeated until they fill it;
- the envs share one process, so that runs beside each other have a core each.
"""

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from imitation.algorithms.adversarial.airl import AIRL
from imitation.algorithms.adversarial.common import AdversarialTrainer
from imitation.algorithms.adversarial.gail import GAIL
from imitation.algorithms.bc import BC
from imitation.policies.base import FeedForward32Policy, NormalizeFeaturesExtractor
from imitation.rewards.reward_nets import BasicRewardNet, BasicShapedRewardNet, NormalizedRewardNet
from imitation.util import logger
from imitation.util.networks import RunningNorm
from imitation.util.util import make_vec_env
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv

NUM_ENVS, THINNED_BY = 8, 20
CURVE_POINTS_EVERY = 50_000
"""Env steps between points of the learning curve."""
PAIR_NAMES = {"obs": "states", "acts": "actions", "next_obs": "next_states", "dones": "terminated"}
"""The library's, and those of the file"""
Pairs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Adversarial:
    """Published settings of GAIL or AIRL on one task."""

    batch: int
    """Env steps per round"""
    demo_batch: int
    generator_buffer: int
    discriminator_steps: int
    ppo: dict[str, Any]


@dataclass(frozen=True)
class Cloning:
    """Published settings of BC on one task."""

    rate: float
    l2_weight: float
    batch: int = 64
    epochs: int = 20


HOPPER_PPO = {
    "batch_size": 512,
    "clip_range": 0.1,
    "gae_lambda": 0.98,
    "gamma": 0.995,
    "max_grad_norm": 0.9,
    "n_epochs": 20,
    "vf_coef": 0.20315938606555833,
}
CHEETAH_PPO = {
    "batch_size": 64,
    "clip_range": 0.1,
    "gae_lambda": 0.95,
    "gamma": 0.95,
    "max_grad_norm": 0.8,
    "n_epochs": 5,
    "vf_coef": 0.11483689492120866,
}
ADVERSARIAL = {
    ("gail", "Hopper-v4"): Adversarial(
        batch=4096,
        demo_batch=128,
        generator_buffer=4096,
        discriminator_steps=8,
        ppo=HOPPER_PPO | {"ent_coef": 0.001255299425412744, "learning_rate": 4.3984856156897565e-5},
    ),
    ("gail", "HalfCheetah-v4"): Adversarial(
        batch=4096,
        demo_batch=8192,
        generator_buffer=512,
        discriminator_steps=8,
        ppo=CHEETAH_PPO
        | {"ent_coef": 3.992371122209408e-6, "learning_rate": 0.00026250519057717037},
    ),
    ("airl", "Hopper-v4"): Adversarial(
        batch=8192,
        demo_batch=2048,
        generator_buffer=8192,
        discriminator_steps=16,
        ppo=HOPPER_PPO | {"ent_coef": 0.009709494745755033, "learning_rate": 0.0005807211840258373},
    ),
    ("airl", "HalfCheetah-v4"): Adversarial(
        batch=8192,
        demo_batch=2048,
        generator_buffer=512,
        discriminator_steps=16,
        ppo=CHEETAH_PPO
        | {"ent_coef": 0.0005544771755195421, "learning_rate": 0.00047248619386801587},
    ),
}
CLONING = {
    "Hopper-v4": Cloning(rate=0.0007172435323620212, l2_weight=1.3610189916104634e-6),
    "HalfCheetah-v4": Cloning(rate=0.008056922426724927, l2_weight=0.005728455628518169),
}
ALGORITHMS = ("gail", "airl", "bc", "bc-longer")
NORMALIZED = {
    "features_extractor_class": NormalizeFeaturesExtractor,
    "features_extractor_kwargs": {"normalize_class": RunningNorm},
}
HOPPER_POLICY = {
    **NORMALIZED,
    "activation_fn": torch.nn.ReLU,
    "net_arch": {"pi": [64, 64], "vf": [64, 64]},
}


class OutOfTimeError(Exception):
    """The run has had its seconds."""


def load_pairs(path: Path) -> Pairs:
    """Arrays states [M, S], actions [M, A], next_states [M, S] and terminated [M]."""
    with np.load(path) as arrays:
        return {theirs: arrays[ours] for theirs, ours in PAIR_NAMES.items()}


class Batches:
    """Batches in a new order each time round; too few pairs for one are repeated to fill it.

    As the library's own loader gives them, which collates them pair by pair in Python: at batches
    of 8192 that took longer than the discriminator's steps.
    """

    def __init__(self, pairs: Pairs, size: int, seed: int) -> None:
        self._pairs, self._size = pairs, size
        self._rng = np.random.default_rng(seed)

    def __iter__(self) -> Iterator[Pairs]:
        num_pairs = len(self._pairs["obs"])
        times = -(-self._size // num_pairs)
        order = self._rng.permutation(np.tile(np.arange(num_pairs), times))
        for start in range(0, len(order) - self._size + 1, self._size):
            rows = order[start : start + self._size]
            yield {name: array[rows] for name, array in self._pairs.items()}


def make_adversarial(algorithm: str, task: str, venv: VecEnv, demos: Path, seed: int) -> Any:
    settings = ADVERSARIAL[algorithm, task]
    is_hopper = task == "Hopper-v4"
    ppo = PPO(
        "MlpPolicy" if is_hopper else FeedForward32Policy,
        venv,
        n_steps=settings.batch // NUM_ENVS,
        policy_kwargs=HOPPER_POLICY if is_hopper else NORMALIZED,
        seed=seed,
        device="cpu",
        **settings.ppo,
    )
    learner, reward_class = {"gail": (GAIL, BasicRewardNet), "airl": (AIRL, BasicShapedRewardNet)}[
        algorithm
    ]
    reward_net = reward_class(
        venv.observation_space, venv.action_space, normalize_input_layer=RunningNorm
    )
    return learner(
        demonstrations=Batches(load_pairs(demos), settings.demo_batch, seed),
        demo_batch_size=settings.demo_batch,
        gen_replay_buffer_capacity=settings.generator_buffer,
        n_disc_updates_per_round=settings.discriminator_steps,
        venv=venv,
        gen_algo=ppo,
        reward_net=NormalizedRewardNet(reward_net, RunningNorm),
        allow_variable_horizon=True,
        custom_logger=logger.configure(str(demos.parent), format_strs=()),
    )


def train_adversarial(trainer: AdversarialTrainer, steps: int, seconds: float) -> dict[str, Any]:
    """Until so many env steps or seconds are done, whichever comes first, by whole rounds."""
    ppo = trainer.gen_algo
    began, curve = time.perf_counter(), []

    def after_round(_: int) -> None:
        if ppo.num_timesteps >= CURVE_POINTS_EVERY * (len(curve) + 1):
            # The env's own returns of the last hundred episodes, with sampled actions.
            returns = [episode["r"] for episode in ppo.ep_info_buffer]
            curve.append([ppo.num_timesteps, round(float(np.mean(returns)), 1)])
        if time.perf_counter() - began > seconds:
            raise OutOfTimeError

    with suppress(OutOfTimeError):
        trainer.train(steps, callback=after_round)
    return {"env_steps": ppo.num_timesteps, "curve": curve}


def make_cloner(task: str, venv: VecEnv, demos: Path, seed: int) -> BC:
    settings = CLONING[task]
    policy = FeedForward32Policy(
        venv.observation_space, venv.action_space, lambda _: 1.0, **NORMALIZED
    )
    return BC(
        observation_space=venv.observation_space,
        action_space=venv.action_space,
        rng=np.random.default_rng(seed),
        policy=policy,
        demonstrations=Batches(load_pairs(demos), settings.batch, seed),
        batch_size=settings.batch,
        l2_weight=settings.l2_weight,
        optimizer_kwargs={"lr": settings.rate},
        device="cpu",
        custom_logger=logger.configure(str(demos.parent), format_strs=()),
    )


def plain_arrays(policy: ActorCriticPolicy) -> dict[str, Any]:
    """The mean action as numbers: normaliser, layers of the mean network, its activation, spread.

    action = W_n act(... act(W_0 (s - shift) * scale + b_0)) + b_n; the env clips it.
    """
    norm = policy.features_extractor.normalize
    net = policy.mlp_extractor.policy_net
    layers = [module for module in net if isinstance(module, torch.nn.Linear)]
    layers.append(policy.action_net)
    arrays: dict[str, Any] = {
        "shift": norm.running_mean,
        "scale": (norm.running_var + norm.eps).rsqrt(),
        "log_std": policy.log_std,
    }
    for i, layer in enumerate(layers):
        arrays |= {f"weight_{i}": layer.weight, f"bias_{i}": layer.bias}
    arrays = {name: tensor.detach().numpy() for name, tensor in arrays.items()}
    is_relu = any(isinstance(module, torch.nn.ReLU) for module in net)
    return arrays | {
        "activation": np.array("relu" if is_relu else "tanh"),
        "action_low": policy.action_space.low,
        "action_high": policy.action_space.high,
    }


def probe(policy: ActorCriticPolicy, states: Any) -> dict[str, Any]:
    """What the library itself does in some states, for the other side to check its copy by."""
    actions, _ = policy.predict(states, deterministic=True)
    return {"probe_states": states, "probe_actions": actions}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--algorithm", choices=ALGORITHMS, required=True)
    parser.add_argument("--task", choices=sorted(CLONING), required=True)
    parser.add_argument("--demos", type=Path, required=True)
    parser.add_argument("--policy", type=Path, required=True, help="npz to write")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)  # checks that cost time
    torch.manual_seed(options.seed)
    np.random.seed(options.seed)  # imitation's replay buffer draws from it
    began = time.perf_counter()
    venv = make_vec_env(
        options.task,
        rng=np.random.default_rng(options.seed),
        n_envs=NUM_ENVS,
        env_make_kwargs={"disable_env_checker": True},  # it needs a numpy before 2
    )
    if options.algorithm in ("gail", "airl"):
        trainer = make_adversarial(
            options.algorithm, options.task, venv, options.demos, options.seed
        )
        report = train_adversarial(trainer, options.steps, options.seconds)
    else:
        trainer = make_cloner(options.task, venv, options.demos, options.seed)
        times = THINNED_BY if options.algorithm == "bc-longer" else 1
        trainer.train(n_epochs=times * CLONING[options.task].epochs, progress_bar=False)
        report = {"env_steps": 0}
    states = load_pairs(options.demos)["obs"]
    np.savez(options.policy, **plain_arrays(trainer.policy), **probe(trainer.policy, states))
    print(json.dumps(report | {"train_seconds": round(time.perf_counter() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
