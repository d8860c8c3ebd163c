"""The penalty in a Stable-Baselines3 model: PPO and A2C, or SAC, TD3 and DDPG.

attached = spacil.attach_to_sb3(PPO("MlpPolicy", env), weight=0.01)
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from spacil.attach.penalty import (
    DEFAULT_STATES,
    AttachedPenalty,
    attach_penalty,
    check_num_states,
    drawn_rows,
)
from spacil.errors import ConfigError


def attach_to_sb3(
    model: Any,
    *,
    weight: float | None = None,
    target: float | None = None,
    num_states: int = DEFAULT_STATES,
    seed: int = 0,
) -> AttachedPenalty:
    """`attach_penalty` for a Stable-Baselines3 model: PPO and A2C, or SAC, TD3 and DDPG.

    Call it before `learn`. The states are a random choice from the model's own buffer, normalised
    where it normalises; the actions are in the units of the network, -1 to 1 if it squashes.
    """
    check_num_states(num_states)
    shape = getattr(getattr(model, "observation_space", None), "shape", None)
    if not shape or len(shape) != 1:
        raise ConfigError(f"{type(model).__name__}: only observations of shape (n,) are supported")
    wish = {"weight": weight, "target": target}
    generator = np.random.default_rng(seed)
    if getattr(model, "rollout_buffer", None) is not None:
        return _attach_on_policy(model, wish, num_states, generator)
    if getattr(model, "replay_buffer", None) is not None and hasattr(model, "actor"):
        return _attach_off_policy(model, wish, num_states, generator)
    raise ConfigError(
        f"{type(model).__name__}: expected a Stable-Baselines3 model with a rollout buffer (PPO, "
        "A2C) or a replay buffer and an actor (SAC, TD3, DDPG); use spacil.attach_penalty"
    )


def _attach_on_policy(
    model: Any, wish: dict[str, float | None], num_states: int, generator: np.random.Generator
) -> AttachedPenalty:
    policy = model.policy

    def mean_action(states: Tensor) -> Tensor:
        mean: Tensor = policy.get_distribution(states).mode()
        return mean

    def states() -> Tensor | None:
        # The rows are normalised already: VecNormalize stands between the env and the buffer.
        rows = model.rollout_buffer.observations.reshape(-1, *model.observation_space.shape)
        return _chosen(rows, len(rows), num_states, generator, model.device)

    return attach_penalty(policy.optimizer, mean_action, states, **wish)


def _attach_off_policy(
    model: Any, wish: dict[str, float | None], num_states: int, generator: np.random.Generator
) -> AttachedPenalty:
    actor = model.actor
    options = {"deterministic": True} if hasattr(actor, "action_dist") else {}

    def mean_action(states: Tensor) -> Tensor:
        mean: Tensor = actor(states, **options)
        return mean

    def states() -> Tensor | None:
        buffer, normalizer = model.replay_buffer, model.get_vec_normalize_env()
        rows = buffer.observations.reshape(-1, *model.observation_space.shape)
        size = (buffer.buffer_size if buffer.full else buffer.pos) * buffer.n_envs
        if size == 0:
            return None
        found = _chosen(rows, size, num_states, generator, model.device)
        if normalizer is None:
            return found
        normalized = normalizer.normalize_obs(found.cpu().numpy())
        return torch.as_tensor(normalized, dtype=torch.float32, device=model.device)

    return attach_penalty(actor.optimizer, mean_action, states, **wish)


def _chosen(
    rows: Any, size: int, wanted: int, generator: np.random.Generator, device: Any
) -> Tensor:
    """Some of the first `size` rows."""
    chosen = drawn_rows(size, wanted, generator)
    return torch.as_tensor(rows[chosen], dtype=torch.float32, device=device)
