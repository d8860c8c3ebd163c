"""What holds a run to its demonstrations, made from its config: anchor and starts."""

import logging

import torch
from torch import Tensor

from spacil.config.train_config import TrainConfig
from spacil.demos.demonstrations import Demonstrations
from spacil.envs.vector_env import VectorEnv
from spacil.learning.metrics import OpenEpisodes
from spacil.nets.policy import GaussianPolicy
from spacil.smoothness.anchor import Anchor

ELAPSED = "elapsed_steps"

_logger = logging.getLogger(__name__)


def make_anchor(
    config: TrainConfig, demonstrations: Demonstrations | None, policy: GaussianPolicy
) -> Anchor | None:
    """None without weight: then nothing is drawn."""
    if config.fidelity.anchor_weight == 0 or demonstrations is None:
        return None
    expert = demonstrations.expert_batch("executed").to(policy.log_std.device)
    return Anchor(expert, policy, config.run.seed)


def stagger(env: VectorEnv, states: Tensor, open_episodes: OpenEpisodes) -> Tensor:
    """Let env i of N begin with i / N of the time limit gone; returns the states [N, S].

    All envs would otherwise pass the same window of an episode in the same iteration, wherever
    episodes do not end early. An env that keeps its own clock stays as it is, in `states`.
    """
    saved = env.save_state()
    if ELAPSED not in saved or not env.spec.horizon:
        _logger.debug("%s keeps its own clock: episodes start together", env.spec.task)
        return states
    steps = torch.arange(env.num_envs) * env.spec.horizon // env.num_envs
    open_episodes.lengths.copy_(steps)
    return env.load_state(saved | {ELAPSED: steps.to(saved[ELAPSED])})
