"""Demonstrations as people bring them: noisy, with a failure among them, in bounds only, few.

Makes the four records of docs/results/recipe.md's test on HalfCheetah and says, for each, what
spacil finds when a run with its defaults takes them in.

    python benchmarks/imperfect_demos.py --seeds 0 1 2
    demos = imperfect_demos.MAKERS["noisy"](seed)      # in a script of this folder
"""

import argparse
import logging
from collections.abc import Callable
from dataclasses import replace

import torch

import spacil
from spacil.config.defaults import default_config
from spacil.demos.demonstrations import Demonstrations
from spacil.demos.recording import record_demonstrations
from spacil.envs.episodes import Actor
from spacil.envs.registry import make_vector_env
from spacil.envs.vector_env import ResetSeeds
from spacil.learning.intake import demonstrations_for
from spacil.measuring.played import reference_actors
from spacil.seeding import stream

TASK = "HalfCheetah-v4"
NUM_EPISODES = 6
NOISE = 0.1
"""Standard deviation on the mean action, whose bounds are -1 and 1."""


def noisy(seed: int) -> Demonstrations:
    """The expert with a shaking hand: as `spacil demos collect HalfCheetah-v4 --noise 0.1`."""
    expert, generator = spacil.load_expert(TASK).policy, stream(seed, "demos-noise")

    def act(states: torch.Tensor) -> torch.Tensor:
        actions = expert.mean(states)
        return actions + NOISE * torch.randn(actions.shape, generator=generator)

    return _record(act, NUM_EPISODES, seed, f"the expert with noise {NOISE}")


def one_fails(seed: int) -> Demonstrations:
    """Five good episodes, and one of somebody who acts at random."""
    env = make_vector_env(TASK, 1, ResetSeeds(seed, "demos"), 1)
    at_random = reference_actors(env.spec, stream(seed, "random-policy"))["random"]
    env.close()
    failure = _record(at_random, 1, seed, "random actions")
    return Demonstrations.concatenate([spacil.load_demos(TASK).first(NUM_EPISODES - 1), failure])


def in_bounds(seed: int) -> Demonstrations:  # nothing is drawn
    """What the env executed; what the expert asked for beyond the bounds is lost."""
    demos = spacil.load_demos(TASK)
    episodes = tuple(episode.with_tensors(actions=None) for episode in demos.episodes)
    return replace(demos, episodes=episodes)


def hundred_pairs(seed: int) -> Demonstrations:
    """Every 20th step of two episodes."""
    start = 2 * seed % NUM_EPISODES
    return spacil.load_demos(TASK).first(2, start).subsample(20, seed % 20)


MAKERS: dict[str, Callable[[int], Demonstrations]] = {
    "noisy": noisy,
    "one_fails": one_fails,
    "in_bounds": in_bounds,
    "hundred_pairs": hundred_pairs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    logging.basicConfig(format="  warning: %(message)s", level=logging.WARNING)
    for seed in parser.parse_args().seeds:
        for name, make in MAKERS.items():
            demos = make(seed)
            print(f"{name}, seed {seed}: {demos}", flush=True)
            demonstrations_for(default_config("spacil", TASK), TASK, demos)


def _record(act: Actor, num_episodes: int, seed: int, who: str) -> Demonstrations:
    env = make_vector_env(TASK, num_episodes, ResetSeeds(seed, "demos"), 1)
    try:
        return record_demonstrations(env, act, num_episodes, {"policy": who, "seed": seed})
    finally:
        env.close()


if __name__ == "__main__":
    main()
